// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "plait/base/id.hpp"
#include "plait/replay/schedule.hpp"

namespace plait::replay {

/// The bytes that a rank gives to each member of a collective, and gets from each; empty if all are equal.
struct CollectiveShares {
  std::vector<std::uint64_t> given;
  std::vector<std::uint64_t> got;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(given, got);
  }
};

/// One rank's part of a schedule, with all that the rank needs to play it.
struct RankPart {
  /// A stream and an operation of it.
  using Where = std::pair<std::uint32_t, std::uint32_t>;

  Rank self;
  std::uint32_t rank_count = 0;
  RankSchedule schedule;                                              ///< Without `Stream::shares`: see `shares`.
  std::map<std::uint32_t, std::vector<std::uint32_t>> communicators;  ///< Of this rank; without 0.
  std::map<Where, CollectiveShares> shares;                           ///< Of collectives in which they differ.
  /// Collectives that may be blocking calls: every member calls them on its only stream and waits at once. All others
  /// must be non-blocking calls on every member, as MPI does not match the two kinds.
  std::set<Where> waited_by_all;
  nanoseconds length{};       ///< Of the whole schedule, in the log.
  nanoseconds quiet_max{};    ///< The longest time in the log for which a stream began nothing.
  std::uint64_t tag_max = 0;  ///< Of all ranks.

  /// The number of operations in all streams.
  [[nodiscard]] std::size_t operation_count() const noexcept {
    std::size_t count = 0;
    for (const Stream& stream : schedule.streams) {
      count += stream.operations.size();
    }
    return count;
  }

  template <class Archive>
  void serialize(Archive& archive) {
    archive(self, rank_count, schedule.streams, communicators, shares, waited_by_all, length, quiet_max, tag_max);
  }
};

/// Divides a schedule into one part for each rank. Expects: `find_trouble` returns nothing. Cost: a copy of the
/// schedule.
[[nodiscard]] std::vector<RankPart> divide(const Schedule& schedule);

}  // namespace plait::replay
