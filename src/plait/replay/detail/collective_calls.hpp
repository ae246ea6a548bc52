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

/// The collective that a function of MPI is: "MPI_Iallgatherv" is an all-gather. Functions that create communicators or
/// windows, and fences, are barriers. `none` if the function is not collective.
[[nodiscard]] Collective collective_of(std::string_view function);

struct CollectiveCalls {
  /// What to replay, by rank and index in `RankTrace::calls`; `none` for calls that are left out, too.
  std::vector<std::vector<Collective>> kinds;
  std::vector<std::string> notices;
};

/// The members of the communicators of a run, without 0.
[[nodiscard]] std::map<std::uint32_t, std::vector<std::uint32_t>> communicators_of(const trace::RunTrace& run);

/// Matches the collective calls of each communicator by their order. From the first call on that a member lacks or that
/// differs, those of the communicator are left out. `is_wanted(rank, index)` decides for the first member; others
/// follow.
[[nodiscard]] CollectiveCalls match_collectives(
    const trace::RunTrace& run,
    const std::map<std::uint32_t, std::vector<std::uint32_t>>& communicators,
    const std::function<bool(std::uint32_t, std::size_t)>& is_wanted);

}  // namespace plait::replay::detail
