// SPDX-License-Identifier: Apache-2.0
#include "plait/data/lending/detail/routes.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/comm/collectives/reduce.hpp"

namespace plait::data::detail {
namespace {

constexpr Tag places_tag{0};

std::vector<Routes::Peer> by_rank(std::vector<ElementPlace> places) {
  std::ranges::sort(places, {}, [](const ElementPlace& place) { return std::pair{place.rank, place.id}; });
  std::vector<Routes::Peer> peers;
  for (const ElementPlace& place : places) {
    if (peers.empty() || peers.back().rank != place.rank) {
      peers.emplace_back().rank = place.rank;
    }
    peers.back().ids.push_back(place.id);
  }
  return peers;
}

Error unmatched(const ElementPlace& element, Rank parent) {
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

Routes::Routes(comm::Endpoint& endpoint, std::vector<ElementId> owned)
    : endpoint_{endpoint}, all_{endpoint}, comms_{endpoint.claim_comms(3)}, owned_{std::move(owned)} {
  std::ranges::sort(owned_);
  if (const auto twice = std::ranges::adjacent_find(owned_); twice != owned_.end()) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("a lender was given two pieces for element {}; an element has one piece", twice->value())};
  }
}

void Routes::settle(std::vector<ElementPlace> here) {
  // With as many elements as pieces, each parent can wait for as many as it has.
  std::array<std::uint64_t, 2> counts{owned_.size(), here.size()};
  comm::all_reduce(all_, std::span{counts}).wait();
  if (counts[0] != counts[1]) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("{} elements have a parent, but all ranks together gave their lender {} pieces; give it "
                            "one piece for each element that parent_of maps to the rank",
                            counts[1],
                            counts[0])};
  }
  std::ranges::sort(here, {}, &ElementPlace::id);
  std::vector<ElementPlace> away;
  at_home_.clear();
  for (const ElementPlace& element : here) {
    if (element.rank != endpoint_.self()) {
      away.push_back(element);
    } else if (std::ranges::binary_search(owned_, element.id)) {
      at_home_.push_back(element.id);
    } else {
      throw unmatched(element, endpoint_.self());
    }
  }
  parents_ = by_rank(std::move(away));
  std::vector<comm::Request> sent;
  for (const Peer& parent : parents_) {
    sent.push_back(endpoint_.send({parent.rank, places_tag, comms_[0]}, std::as_bytes(std::span{parent.ids})));
  }
  borrowers_ = by_rank(receive_places());
  for (comm::Request& one : sent) {
    one.wait();
  }
}

/// The places of the elements whose pieces are on this rank, but which are not.
std::vector<ElementPlace> Routes::receive_places() {
  std::vector<ElementId> missing;
  std::ranges::set_difference(owned_, at_home_, std::back_inserter(missing));
  std::vector<std::uint8_t> is_found(missing.size());
  std::vector<ElementPlace> moved;
  Bytes message;
  while (moved.size() < missing.size()) {
    const comm::Status status = endpoint_.receive({any_source, places_tag, comms_[0]}, message).wait_released();
    for (std::size_t at = 0; at < message.size(); at += sizeof(ElementId)) {
      ElementPlace& place = moved.emplace_back();
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

}  // namespace plait::data::detail
