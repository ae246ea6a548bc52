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

/// What each member gives, or is given, in a collective; empty where it is the same for all.
struct CollectiveShares {
  std::vector<std::uint64_t> given;
  std::vector<std::uint64_t> got;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(given, got);
  }
};

/// What one rank plays of a schedule, and all that it must know for it.
struct RankPart {
  /// A stream and an operation of it.
  using Where = std::pair<std::uint32_t, std::uint32_t>;

  Rank self;
  std::uint32_t rank_count = 0;
  RankSchedule schedule;                                              ///< Shares have moved to `shares`.
  std::map<std::uint32_t, std::vector<std::uint32_t>> communicators;  ///< Those that this rank is in; without 0.
  std::map<Where, CollectiveShares> shares;                           ///< Of the collectives that have any.
  /// Collectives that each member waits for at once and calls on its only stream: all may call them so that they wait.
  /// Any other all must begin and then wait for: MPI does not match a call that waits with one that goes on.
  std::set<Where> waited_by_all;
  nanoseconds length{};       ///< Of the whole schedule, as logged.
  nanoseconds quiet_max{};    ///< The longest, as logged, that any stream began nothing.
  std::uint64_t tag_max = 0;  ///< Of all ranks.

  /// Of all streams.
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

/// One part for each rank. The k-th collective of a communicator is the same on all its members: from what each gives
/// follows what each gets. Expects: `find_trouble` found none. Cost: as much memory again.
[[nodiscard]] std::vector<RankPart> divide(const Schedule& schedule);

}  // namespace plait::replay
