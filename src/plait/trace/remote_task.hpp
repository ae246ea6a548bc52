// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "plait/base/id.hpp"

namespace plait::trace {

/// A task in the list of what another one came after (kind 30): of the same rank, or of another.
struct ListedTask {
  std::optional<Rank> elsewhere;  ///< Its rank, if that is another one.
  std::uint64_t id = 0;           ///< In the trace of its rank.
};

/// Ids of tasks of the same rank are below.
inline constexpr unsigned remote_task_shift = 40;

/// How a task of another rank is listed.
[[nodiscard]] constexpr std::uint64_t remote_task(Rank rank, std::uint64_t id) noexcept {
  return (std::uint64_t{rank.value()} + 1) << remote_task_shift | id;
}

/// The task of an entry in such a list.
[[nodiscard]] constexpr ListedTask listed_task(std::uint64_t entry) noexcept {
  const std::uint64_t rank = entry >> remote_task_shift;
  if (rank == 0) {
    return {.id = entry};
  }
  return {.elsewhere = Rank{static_cast<std::uint32_t>(rank - 1)},
          .id = entry & ((std::uint64_t{1} << remote_task_shift) - 1)};
}

}  // namespace plait::trace
