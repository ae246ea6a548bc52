// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "plait/replay/schedule.hpp"
#include "plait/trace/reader.hpp"

namespace plait::replay::detail {

/// What a function of MPI does among the members of its communicator: "MPI_Iallgatherv" gathers to all. Functions that
/// make communicators or windows, and fences, hold all up: a barrier. `none` for what is not collective.
[[nodiscard]] Collective collective_of(std::string_view function);

struct CollectiveCalls {
  /// By rank and index in `RankTrace::calls`: what to replay there; `none` also for what is left out.
  std::vector<std::vector<Collective>> kinds;
  std::vector<std::string> notices;
};

/// The members of the communicators of a run, as its ranks recorded them; 0 is not there.
[[nodiscard]] std::map<std::uint32_t, std::vector<std::uint32_t>> communicators_of(const trace::RunTrace& run);

/// The collective calls of a run that all members of their communicator entered, in the order of their numbers. From
/// the first on that not all did, or that is another on some, those of that communicator are left out. `is_wanted(rank,
/// index)` is asked of the first member's call; the others follow.
[[nodiscard]] CollectiveCalls match_collectives(
    const trace::RunTrace& run,
    const std::map<std::uint32_t, std::vector<std::uint32_t>>& communicators,
    const std::function<bool(std::uint32_t, std::size_t)>& is_wanted);

}  // namespace plait::replay::detail
