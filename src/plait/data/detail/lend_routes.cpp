// SPDX-License-Identifier: Apache-2.0
#include "plait/data/detail/lend_routes.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/comm/collectives/reduce.hpp"
#include "plait/data/accessor.hpp"

namespace plait::data::detail {
namespace {

/// Where elements are, the pieces, and the sums over all ranks.
constexpr comm::CommId places_comm{comm::internal.value() + 12};
constexpr comm::CommId pieces_comm{comm::internal.value() + 13};
constexpr comm::CommId sums_comm{comm::internal.value() + 14};

using Place = LendRoutes::Place;
using Peer = LendRoutes::Peer;

LendRoutes::Side other_than(LendRoutes::Side side) {
  return side == LendRoutes::Side::parents ? LendRoutes::Side::borrowers : LendRoutes::Side::parents;
}

/// Ids ascending for each.
std::vector<Peer> by_rank(std::vector<Place> places) {
  std::ranges::sort(places, {}, [](const Place& place) { return std::pair{place.rank, place.id}; });
  std::vector<Peer> peers;
  for (const Place& place : places) {
    if (peers.empty() || peers.back().rank != place.rank) {
      peers.emplace_back().rank = place.rank;
    }
    peers.back().ids.push_back(place.id);
  }
  return peers;
}

Error unmatched(const Place& element, Rank parent) {
  return Error{ErrorCode::bad_argument,
               fmt::format("element {} is on rank {} and has its parent on rank {}, which has no piece for it, or has "
                           "given it to another element; give a lender one piece for each element that parent_of maps "
                           "to the rank",
                           element.id.value(),
                           element.rank.value(),
                           parent.value()),
               parent};
}

}  // namespace

LendRoutes::LendRoutes(comm::Endpoint& endpoint, std::function<std::vector<Place>()> here)
    : endpoint_{endpoint},
      all_{endpoint, sums_comm},
      tag_{endpoint.claim_handler().value()},
      find_here_{std::move(here)},
      state_{std::make_shared<State>()} {}

LendRoutes::~LendRoutes() {
  const auto is_open = [](const Peer& peer) { return !peer.sent.is_complete() || !peer.received.is_released(); };
  if (std::ranges::any_of(state_->peers, [&](const auto& peers) { return std::ranges::any_of(peers, is_open); })) {
    endpoint_.keep(state_);
  }
}

void LendRoutes::set_owned(std::vector<ElementId> ids) {
  owned_ = std::move(ids);
  std::ranges::sort(owned_);
  if (const auto twice = std::ranges::adjacent_find(owned_); twice != owned_.end()) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("a lender was given two pieces for element {}; an element has one piece", twice->value())};
  }
}

bool LendRoutes::begin_to_lend() {
  if (phase_ != Phase::at_home) {
    throw Error{ErrorCode::bad_argument, "what is lent already cannot be lent again: give it back first"};
  }
  std::vector<Place> here = find_here_();
  std::ranges::sort(here, {}, &Place::id);
  const bool is_first = totals_.settled == 0;
  // With as many elements as pieces, each parent can wait for as many as it has.
  std::array<std::uint64_t, 3> sums{is_first || here != here_ ? 1U : 0U, owned_.size(), here.size()};
  comm::all_reduce(all_, std::span{sums}).wait();
  if (sums[1] != sums[2]) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("{} elements have a parent, but all ranks together gave their lender {} pieces; give it "
                            "one piece for each element that parent_of maps to the rank",
                            sums[2],
                            sums[1])};
  }
  if (sums[0] != 0) {
    here_ = std::move(here);
    or_stop_all([&] { settle(); });
  }
  phase_ = Phase::lending;
  return sums[0] != 0;
}

void LendRoutes::begin_to_give_back() {
  or_stop_all([&] {
    if (phase_ != Phase::lent) {
      throw Error{ErrorCode::bad_argument, "nothing is lent that could be given back: call lend first"};
    }
    std::vector<Place> here = find_here_();
    std::ranges::sort(here, {}, &Place::id);
    if (here != here_) {
      throw Error{
          ErrorCode::bad_argument,
          fmt::format("elements came to rank {} or left it between lend and give_back, without what was lent to "
                      "them: move elements after give_back",
                      endpoint_.self().value())};
    }
  });
  phase_ = Phase::returning;
}

void LendRoutes::settle() {
  ++totals_.settled;
  std::vector<Place> away;
  at_home_.clear();
  for (const Place& element : here_) {
    if (element.rank != endpoint_.self()) {
      away.push_back(element);
    } else if (std::ranges::binary_search(owned_, element.id)) {
      at_home_.push_back(element.id);
    } else {
      throw unmatched(element, endpoint_.self());
    }
  }
  std::vector<Peer>& parents = peers(Side::parents);
  parents = by_rank(std::move(away));
  for (Peer& parent : parents) {
    parent.sent = endpoint_.send({parent.rank, tag_, places_comm}, std::as_bytes(std::span{parent.ids}));
  }
  peers(Side::borrowers) = by_rank(hear_of_moved());
  for (Peer& parent : parents) {
    parent.sent.wait();
  }
}

/// Where the elements of the pieces of this rank are that are not here.
std::vector<Place> LendRoutes::hear_of_moved() {
  std::vector<ElementId> missing;
  std::ranges::set_difference(owned_, at_home_, std::back_inserter(missing));
  std::vector<std::uint8_t> is_found(missing.size());
  std::vector<Place> moved;
  Bytes message;
  while (moved.size() < missing.size()) {
    const comm::Status status = endpoint_.receive({any_source, tag_, places_comm}, message).wait_released();
    for (std::size_t at = 0; at < message.size(); at += sizeof(ElementId)) {
      Place& place = moved.emplace_back();
      place.rank = status.source;
      std::memcpy(static_cast<void*>(&place.id), &message[at], sizeof place.id);
      const auto found = std::ranges::lower_bound(missing, place.id);
      if (found == missing.end() || *found != place.id || is_found[found - missing.begin()] != 0) {
        throw unmatched(place, endpoint_.self());
      }
      is_found[found - missing.begin()] = 1;
    }
  }
  return moved;
}

void LendRoutes::start(Side to, const PiecePart& part) {
  or_stop_all([&] {
    for (Peer& peer : peers(other_than(to))) {
      peer.has_arrived = false;
      peer.received = endpoint_.receive({peer.rank, tag_, pieces_comm}, peer.incoming);
    }
    for (Peer& peer : peers(to)) {
      pack(peer, part);
      peer.sent = endpoint_.send({peer.rank, tag_, pieces_comm}, peer.outgoing);
    }
  });
}

void LendRoutes::finish(Side to, const PiecePart& part) {
  or_stop_all([&] {
    std::vector<Peer>& from = peers(other_than(to));
    std::size_t open = from.size();
    endpoint_.progress_until([&] {
      take_arrived(from, part, open);
      return open == 0;
    });
    for (Peer& peer : peers(to)) {
      peer.sent.wait();
    }
    endpoint_.flush();
  });
  const bool was_lending = phase_ == Phase::lending;
  totals_.wrapped += was_lending ? at_home_.size() : 0;
  phase_ = was_lending ? Phase::lent : Phase::at_home;
}

void LendRoutes::take_arrived(std::vector<Peer>& from, const PiecePart& part, std::size_t& open) {
  for (Peer& peer : from) {
    if (!peer.has_arrived && peer.received.is_released()) {
      static_cast<void>(peer.received.status());  // throws what went wrong
      peer.has_arrived = true;
      --open;
      unpack(peer, part);
    }
  }
}

/// The parts of all pieces one after the other, each behind its length.
void LendRoutes::pack(Peer& peer, const PiecePart& part) {
  std::vector<std::uint64_t> sizes;
  std::size_t total = 0;
  for (const void* piece : peer.pieces) {
    sizes.push_back(part.size(piece));
    total += sizeof(std::uint64_t) + sizes.back();
  }
  peer.outgoing.resize(total);
  std::span<std::byte> left{peer.outgoing};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::memcpy(left.data(), &sizes[i], sizeof(std::uint64_t));
    left = left.subspan(sizeof(std::uint64_t));
    const std::size_t written = part.pack(peer.pieces[i], left.first(sizes[i]));
    if (written != sizes[i]) {
      size_was_wrong(part.accessor, part.type, sizes[i], written);
    }
    left = left.subspan(sizes[i]);
  }
  totals_.sent += sizes.size();
  totals_.bytes += total - sizes.size() * sizeof(std::uint64_t);
}

void LendRoutes::unpack(const Peer& peer, const PiecePart& part) {
  std::span<const std::byte> left{peer.incoming};
  for (void* const piece : peer.pieces) {
    std::uint64_t size = 0;
    std::memcpy(&size, left.data(), sizeof size);
    left = left.subspan(sizeof size);
    part.unpack(left.first(size), piece);
    left = left.subspan(size);
  }
}

void LendRoutes::throw_not_here(ElementId id) {
  throw Error{ErrorCode::bad_argument,
              fmt::format("element {} has no piece here: it has no parent, or was not on this rank when its parent's "
                          "data was lent",
                          id.value())};
}

/// What one rank throws, all others learn, which may wait for its messages.
template <class Act>
void LendRoutes::or_stop_all(Act act) {
  try {
    act();
  } catch (const Error& error) {
    if (!endpoint_.failure()) {
      endpoint_.stop_all(error);
    }
    throw;
  }
}

}  // namespace plait::data::detail
