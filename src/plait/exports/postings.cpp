// SPDX-License-Identifier: Apache-2.0
#include "plait/exports/postings.hpp"

#include <algorithm>

namespace plait::exports {

using trace::CallClass;

Postings::Postings(const RankOfRun& rank, std::span<const Track> tracks) {
  for (std::uint32_t row = 0; row < rank.trace.calls.size(); ++row) {
    const trace::CallEvent& call = rank.trace.calls[row].event;
    if (call.number > 0 && (call.what == CallClass::begins_message || call.what == CallClass::message)) {
      posts_.emplace_back(call.number, row);
    }
  }
  std::ranges::sort(posts_);
  for (const Track& track : tracks) {
    if (track.what == Track::What::calls) {
      calls_.push_back(&track);
    }
  }
}

std::uint32_t Postings::posted_by(const MessageSide& side) const {
  if (side.number() == 0) {
    return none;
  }
  const auto after = std::ranges::upper_bound(posts_, side.number(), {}, [](const auto& post) { return post.first; });
  return after == posts_.begin() ? none : std::prev(after)->second;
}

std::uint32_t Postings::ended_by(const MessageSide& side) const {
  const std::uint32_t worker = side.worker ? side.worker.value() : 65535U;
  const auto track = std::ranges::find_if(calls_, [&](const Track* one) { return one->number == worker; });
  if (track == calls_.end()) {
    return none;
  }
  const std::vector<Bar>& bars = (*track)->bars;
  const auto after = std::ranges::upper_bound(bars, side.completed, {}, &Bar::start);
  if (after == bars.begin() || std::prev(after)->end < side.completed) {
    return none;
  }
  return std::prev(after)->row;
}

}  // namespace plait::exports
