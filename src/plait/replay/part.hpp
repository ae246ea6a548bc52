// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/base/error.hpp"
#include "plait/base/id.hpp"
#include "plait/replay/schedule.hpp"

namespace plait::replay {

/// What each member gives, or is given, in a collective; empty where it is the same for all.
struct CollectiveShares {
  std::vector<std::uint64_t> given;
  std::vector<std::uint64_t> got;
};

/// What one rank plays of a schedule, and all that it must know for it.
struct Part {
  /// A lane and an operation of it.
  using Where = std::pair<std::uint32_t, std::uint32_t>;

  Rank self;
  std::uint32_t rank_count = 0;
  RankSchedule schedule;                                              ///< Shares have moved to `shares`.
  std::map<std::uint32_t, std::vector<std::uint32_t>> communicators;  ///< Those that this rank is in; without 0.
  std::map<Where, CollectiveShares> shares;                           ///< Of the collectives that have any.
  /// Collectives that each member waits for at once and calls on its only lane: all may call them so that they wait.
  /// Any other all must begin and then wait for: MPI does not match a call that waits with one that goes on.
  std::set<Where> waited_by_all;
  nanoseconds length{};       ///< Of the whole schedule, as logged.
  nanoseconds quiet_max{};    ///< The longest, as logged, that any lane began nothing.
  std::uint64_t tag_max = 0;  ///< Of all ranks.
};

/// One part for each rank. The k-th collective of a communicator is the same on all its members: from what each gives
/// follows what each gets. Expects: `find_trouble` found none. Cost: as much memory again.
[[nodiscard]] std::vector<Part> divide(const Schedule& schedule);

/// For sending a part to its rank, with the same program on both sides.
[[nodiscard]] Bytes pack(const Part& part);
/// Throws: `Error` with `bad_input` for what `pack` did not make.
[[nodiscard]] Part unpack(std::span<const std::byte> bytes);

}  // namespace plait::replay
