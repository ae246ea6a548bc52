// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/comm/collectives/all_gather.hpp"
#include "plait/comm/collectives/all_to_all.hpp"
#include "plait/comm/collectives/barrier.hpp"
#include "plait/comm/collectives/broadcast.hpp"
#include "plait/comm/collectives/group.hpp"
#include "plait/comm/collectives/reduce.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/replay/backend/backend.hpp"
#include "plait/replay/backend/mpi/make_backend.hpp"
#include "plait/replay/check.hpp"
#include "plait/replay/part.hpp"
#include "plait/runtime/gather.hpp"
#include "plait/runtime/network.hpp"
#include "plait/runtime/strategy.hpp"

namespace plait::replay {
namespace {

using Requests = std::vector<comm::Request>;

/// Collectives that consist of messages have communicators of their own, above those of a log.
constexpr std::uint32_t own_bit = 0x2000'0000;
constexpr Tag own_tag{0};

struct BitwiseOr {
  [[nodiscard]] unsigned char operator()(unsigned char left, unsigned char right) const { return left | right; }
};

/// The sizes of the blocks of all members.
std::vector<std::size_t> sizes_of(std::span<const std::uint64_t> shares, std::size_t bytes, std::size_t members) {
  std::vector<std::size_t> sizes(members, bytes / members);
  if (!shares.empty()) {
    sizes.assign(shares.begin(), shares.end());
  }
  return sizes;
}

std::size_t member_of(const comm::Group& group, std::uint32_t rank) {
  for (std::size_t member = 0; member < group.size(); ++member) {
    if (group.rank(member) == Rank{rank}) {
      return member;
    }
  }
  return 0;
}

/// Replays with plait's endpoint, its matching, protocols and collectives.
///
/// Gather and scatter consist of messages, reduce-scatter is an all-reduce, and scan is a chain that waits in the call.
/// Reductions are bitwise. Threads: any; one at a time for the collectives of a communicator.
class PlaitBackend final : public Backend {
 public:
  /// Borrows the endpoint for its life, `part` for the call.
  PlaitBackend(comm::Endpoint& endpoint, const RankPart& part)
      : endpoint_{endpoint}, requests_(part.operation_count()) {
    groups_.emplace(0, comm::Group{endpoint, comm::world});
    for (const auto& [communicator, members] : part.communicators) {
      if (communicator != 0) {
        std::vector<Rank> ranks;
        std::ranges::transform(members, std::back_inserter(ranks), [](std::uint32_t member) { return Rank{member}; });
        groups_.emplace(communicator, comm::Group{endpoint, std::move(ranks), comm::CommId{communicator}});
      }
    }
  }

  [[nodiscard]] std::string name() const override { return fmt::format("plait ({})", endpoint_.driver_name()); }

  [[nodiscard]] CallNames call_names() const override {
    return {"Endpoint::send", "Endpoint::receive", "Request::wait", "Request::test", "Endpoint::progress"};
  }

  [[nodiscard]] std::string call_name(Collective what, Calling calling) const override {
    return fmt::format("{}{}", to_string(what), calling == Calling::waits ? ", and its end" : "");
  }

  void send(OperationId operation, const Envelope& to, std::span<const std::byte> data) override {
    requests_[operation.value()] = endpoint_.send({to.peer, Tag{to.tag}, comm::CommId{to.communicator}}, data);
  }

  void receive(OperationId operation, const Envelope& from, std::span<std::byte> buffer) override {
    requests_[operation.value()] =
        endpoint_.receive({from.peer, Tag{from.tag}, comm::CommId{from.communicator}}, buffer);
  }

  void collective(OperationId operation, const CollectiveCall& call) override {
    Requests requests = begin(call);
    const std::lock_guard lock{collectives_mutex_};
    collectives_[operation] = std::move(requests);
  }

  [[nodiscard]] bool test(OperationId operation) override {
    {
      const std::lock_guard lock{collectives_mutex_};
      if (const auto found = collectives_.find(operation); found != collectives_.end()) {
        const bool is_complete = test_all(found->second);
        if (is_complete) {
          collectives_.erase(found);
        }
        return is_complete;
      }
    }
    return test_all({&requests_[operation.value()], 1});
  }

  void wait(std::span<const OperationId> operations) override {
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

  void progress() override { endpoint_.progress(); }

 private:
  /// Whether the requests are complete. Throws their errors.
  [[nodiscard]] static bool test_all(std::span<comm::Request> requests) {
    const bool are_complete = std::ranges::all_of(requests, &comm::Request::test);
    if (are_complete) {
      std::ranges::for_each(requests, &comm::Request::wait);
    }
    return are_complete;
  }

  [[nodiscard]] const comm::Group& group(std::uint32_t communicator) const {
    const auto found = groups_.find(communicator);
    return found != groups_.end() ? found->second : groups_.at(0);
  }

  [[nodiscard]] Requests begin(const CollectiveCall& call) {
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

  [[nodiscard]] Requests gather(const CollectiveCall& call) {
    const comm::Group& here = group(call.communicator);
    const comm::CommId comm{call.communicator | own_bit};
    Requests requests;
    if (!call.got.empty()) {
      const auto blocks = comm::blocks_of(call.got, sizes_of(call.got_shares, call.got.size(), here.size()));
      for (std::size_t member = 0; member < here.size(); ++member) {
        requests.push_back(endpoint_.receive({here.rank(member), own_tag, comm}, blocks[member]));
      }
    }
    requests.push_back(endpoint_.send({Rank{call.root}, own_tag, comm}, call.given));
    return requests;
  }

  [[nodiscard]] Requests scatter(const CollectiveCall& call) {
    const comm::Group& here = group(call.communicator);
    const comm::CommId comm{call.communicator | own_bit};
    Requests requests{endpoint_.receive({Rank{call.root}, own_tag, comm}, call.got)};
    if (endpoint_.self() == Rank{call.root}) {
      const auto blocks = comm::blocks_of(call.given, sizes_of(call.shares, call.given.size(), here.size()));
      for (std::size_t member = 0; member < here.size(); ++member) {
        requests.push_back(endpoint_.send({here.rank(member), own_tag, comm}, blocks[member]));
      }
    }
    return requests;
  }

  [[nodiscard]] Requests scan(const CollectiveCall& call) {
    const comm::Group& here = group(call.communicator);
    const comm::CommId comm{call.communicator | own_bit};
    const std::size_t self = here.self();
    Requests requests;
    if (self > 0) {
      // A chain: its time is proportional to the number of ranks.
      requests.push_back(endpoint_.receive({here.rank(self - 1), own_tag, comm}, call.got));
      requests.back().wait();
    }
    if (self + 1 < here.size()) {
      requests.push_back(endpoint_.send({here.rank(self + 1), own_tag, comm}, call.given));
    }
    return requests;
  }

  comm::Endpoint& endpoint_;
  std::map<std::uint32_t, comm::Group> groups_;
  std::vector<comm::Request> requests_;  ///< Of each message.
  std::mutex collectives_mutex_;
  std::map<OperationId, std::vector<comm::Request>> collectives_;  ///< In flight.
};

/// plait's endpoint with the options of the environment and the machine's strategy, and the backend on it.
struct OnEndpoint {
  OnEndpoint(MPI_Comm world, const RankPart& part)
      : options{with_strategy(world, Options::from_environment())},
        driver{make_network(world, options.network)},
        recorder{driver->clock()},
        endpoint{*driver, recorder, options.messages},
        backend{endpoint, part} {}
  OnEndpoint(const OnEndpoint&) = delete;
  OnEndpoint& operator=(const OnEndpoint&) = delete;
  ~OnEndpoint() {
    try {
      barrier(endpoint);  // other ranks may still need this rank's progress
      endpoint.drain();
    } catch (const Error&) {  // thrown to the caller that waited
    }
  }

  Options options;
  std::unique_ptr<net::Driver> driver;
  trace::Recorder recorder;
  comm::Endpoint endpoint;
  PlaitBackend backend;
};

}  // namespace

std::shared_ptr<Backend> make_plait_backend(MPI_Comm world, const RankPart& part) {
  const auto owner = std::make_shared<OnEndpoint>(world, part);
  return {owner, &owner->backend};
}

}  // namespace plait::replay
