// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "plait/exports/tracks.hpp"

namespace plait::exports {

/// Which calls of a recorded program messages belong to. Rows are places among the calls of a rank.
class Postings {
 public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  /// `tracks`: what `thread_tracks` returned, which must outlive it. Cost: sorts the calls that post messages.
  Postings(const RankOfRun& rank, std::span<const Track> tracks);

  /// The call that posted a message; a call that posts several messages has the number of the first. Cost: a search.
  [[nodiscard]] std::uint32_t posted_by(const MessageSide& side) const;
  /// The call in which the notified thread was at the end of a message. Cost: a search.
  [[nodiscard]] std::uint32_t ended_by(const MessageSide& side) const;

 private:
  std::vector<std::pair<std::uint32_t, std::uint32_t>> posts_;  ///< Number and row, by number.
  std::vector<const Track*> calls_;
};

}  // namespace plait::exports
