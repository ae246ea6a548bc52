// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/backend/mpi/plait_backend.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "plait/comm/collectives/all_gather.hpp"
#include "plait/comm/collectives/all_to_all.hpp"
#include "plait/comm/collectives/barrier.hpp"
#include "plait/comm/collectives/broadcast.hpp"
#include "plait/comm/collectives/reduce.hpp"
#include "plait/replay/check.hpp"

namespace plait::replay {
namespace {

using Requests = std::vector<comm::Request>;

/// Collectives that are made of messages have communicators of their own, above those of a log.
constexpr std::uint32_t own_bit = 0x4000'0000;
constexpr Tag own_tag{0};

struct BitwiseOr {
  [[nodiscard]] unsigned char operator()(unsigned char left, unsigned char right) const { return left | right; }
};

/// The blocks of all members, one after the other.
std::vector<std::size_t> sizes_of(std::span<const std::uint64_t> shares, std::size_t bytes, std::size_t members) {
  std::vector<std::size_t> sizes(members, bytes / members);
  if (!shares.empty()) {
    sizes.assign(shares.begin(), shares.end());
  }
  return sizes;
}

std::vector<std::size_t> places_of(const std::vector<std::size_t>& sizes) {
  std::vector<std::size_t> places(sizes.size());
  std::exclusive_scan(sizes.begin(), sizes.end(), places.begin(), std::size_t{0});
  return places;
}

std::size_t member_of(const comm::Group& group, std::uint32_t rank) {
  for (std::size_t member = 0; member < group.size(); ++member) {
    if (group.rank(member) == Rank{rank}) {
      return member;
    }
  }
  return 0;
}

}  // namespace

PlaitBackend::PlaitBackend(comm::Endpoint& endpoint, const Part& part) : endpoint_{endpoint} {
  groups_.emplace(0, comm::Group{endpoint, comm::CommId{0}});
  for (const auto& [communicator, members] : part.communicators) {
    if (communicator != 0) {
      std::vector<Rank> ranks;
      std::ranges::transform(members, std::back_inserter(ranks), [](std::uint32_t member) { return Rank{member}; });
      groups_.emplace(communicator, comm::Group{endpoint, std::move(ranks), comm::CommId{communicator}});
    }
  }
}

std::string PlaitBackend::name() const {
  return fmt::format("plait ({})", endpoint_.driver_name());
}

CallNames PlaitBackend::call_names() const {
  return {"Endpoint::send", "Endpoint::receive", "Request::wait", "Request::test", "Endpoint::progress"};
}

std::string PlaitBackend::call_name(Collective what, Calling calling) const {
  return fmt::format("{}{}", to_string(what), calling == Calling::waits ? ", and its end" : "");
}

void PlaitBackend::prepare(std::size_t count) {
  requests_.resize(count);
}

void PlaitBackend::send(OperationId operation, const Envelope& to, std::span<const std::byte> data) {
  requests_[operation.value()] = endpoint_.send({to.peer, Tag{to.tag}, comm::CommId{to.communicator}}, data);
}

void PlaitBackend::receive(OperationId operation, const Envelope& from, std::span<std::byte> buffer) {
  requests_[operation.value()] = endpoint_.receive({from.peer, Tag{from.tag}, comm::CommId{from.communicator}}, buffer);
}

const comm::Group& PlaitBackend::group(std::uint32_t communicator) const {
  const auto found = groups_.find(communicator);
  return found != groups_.end() ? found->second : groups_.at(0);
}

void PlaitBackend::collective(OperationId operation, const CollectiveCall& call) {
  Requests requests = begin(call);
  const std::lock_guard lock{collectives_mutex_};
  collectives_[operation] = std::move(requests);
}

Requests PlaitBackend::begin(const CollectiveCall& call) {
  const comm::Group& here = group(call.communicator);
  const comm::ReduceOptions combined{.reduction = comm::elementwise<unsigned char>(BitwiseOr{})};
  const std::size_t root = call.root == trace::nothing ? 0 : member_of(here, call.root);
  switch (call.what) {
    case Collective::none:
      return {};
    case Collective::barrier:
      return {comm::barrier(here)};
    case Collective::broadcast: {
      const bool is_root = here.self() == root;
      auto* const given = const_cast<std::byte*>(call.given.data());  // the root's is read only
      return {comm::broadcast(here, root, is_root ? std::span{given, call.given.size()} : call.got)};
    }
    case Collective::reduce:
      return {comm::reduce(here, root, call.given, call.got, combined)};
    case Collective::all_reduce:
      std::ranges::copy(call.given, call.got.begin());
      return {comm::all_reduce(here, call.got, combined)};
    case Collective::gather:
      return gather(call);
    case Collective::scatter:
      return scatter(call);
    case Collective::scan:
      return scan(call);
    case Collective::all_gather:
      return {comm::all_gather(
          here, call.given, comm::blocks_of(call.got, sizes_of(call.got_shares, call.got.size(), here.size())))};
    case Collective::all_to_all:
      return {comm::all_to_all(here,
                               comm::blocks_of(call.given, sizes_of(call.shares, call.given.size(), here.size())),
                               comm::blocks_of(call.got, sizes_of(call.got_shares, call.got.size(), here.size())))};
    case Collective::reduce_scatter:
      return {comm::all_reduce(here, {const_cast<std::byte*>(call.given.data()), call.given.size()}, combined)};
  }
  return {};
}

Requests PlaitBackend::gather(const CollectiveCall& call) {
  const comm::Group& here = group(call.communicator);
  const comm::CommId comm{call.communicator | own_bit};
  Requests requests;
  if (!call.got.empty()) {
    const std::vector<std::size_t> sizes = sizes_of(call.got_shares, call.got.size(), here.size());
    const std::vector<std::size_t> places = places_of(sizes);
    for (std::size_t member = 0; member < here.size(); ++member) {
      requests.push_back(
          endpoint_.receive({here.rank(member), own_tag, comm}, call.got.subspan(places[member], sizes[member])));
    }
  }
  requests.push_back(endpoint_.send({Rank{call.root}, own_tag, comm}, call.given));
  return requests;
}

Requests PlaitBackend::scatter(const CollectiveCall& call) {
  const comm::Group& here = group(call.communicator);
  const comm::CommId comm{call.communicator | own_bit};
  Requests requests{endpoint_.receive({Rank{call.root}, own_tag, comm}, call.got)};
  if (endpoint_.self() == Rank{call.root}) {
    const std::vector<std::size_t> sizes = sizes_of(call.shares, call.given.size(), here.size());
    const std::vector<std::size_t> places = places_of(sizes);
    for (std::size_t member = 0; member < here.size(); ++member) {
      requests.push_back(
          endpoint_.send({here.rank(member), own_tag, comm}, call.given.subspan(places[member], sizes[member])));
    }
  }
  return requests;
}

Requests PlaitBackend::scan(const CollectiveCall& call) {
  const comm::Group& here = group(call.communicator);
  const comm::CommId comm{call.communicator | own_bit};
  const std::size_t self = here.self();
  Requests requests;
  if (self > 0) {
    // Everyone passes on what came from before: a scan is as long as its ranks are many.
    requests.push_back(endpoint_.receive({here.rank(self - 1), own_tag, comm}, call.got));
    requests.back().wait();
  }
  if (self + 1 < here.size()) {
    requests.push_back(endpoint_.send({here.rank(self + 1), own_tag, comm}, call.given));
  }
  return requests;
}

bool PlaitBackend::test(OperationId operation) {
  {
    const std::lock_guard lock{collectives_mutex_};
    const auto found = collectives_.find(operation);
    if (found != collectives_.end()) {
      if (!std::ranges::all_of(found->second, [](comm::Request& request) { return request.test(); })) {
        return false;
      }
      std::ranges::for_each(found->second, [](comm::Request& request) { request.wait(); });
      collectives_.erase(found);
      return true;
    }
  }
  comm::Request& request = requests_[operation.value()];
  if (!request.test()) {
    return false;
  }
  request.wait();  // complete: throws what went wrong
  return true;
}

void PlaitBackend::wait(std::span<const OperationId> operations) {
  for (const OperationId operation : operations) {
    Requests requests;
    {
      const std::lock_guard lock{collectives_mutex_};
      const auto found = collectives_.extract(operation);
      requests = found.empty() ? Requests{requests_[operation.value()]} : std::move(found.mapped());
    }
    std::ranges::for_each(requests, [](comm::Request& request) { request.wait(); });
  }
}

void PlaitBackend::progress() {
  endpoint_.progress();
}

}  // namespace plait::replay
