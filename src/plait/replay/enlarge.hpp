// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plait/base/error.hpp"
#include "plait/replay/grid.hpp"
#include "plait/replay/schedule.hpp"

namespace plait::replay {

/// How an exchange grows.
struct Growth {
  /// Copies along each dimension of the grid; of all-to-all one number. Empty: none but the recorded.
  std::vector<std::uint32_t> replicas;
  double volume = 1;            ///< Of the problem of a rank, over what it was.
  std::uint32_t dimension = 0;  ///< d below; 0: as many as the grid cuts, at least 1.
};

/// Divides `copies` among the dimensions of a grid that have more than one rank, so that the larger grid is as cubic as
/// possible. Error: `bad_argument` if there are none.
[[nodiscard]] Result<std::vector<std::uint32_t>> copies_along(const RankGrid& grid, std::uint32_t copies);

/// Returns the exchange of more ranks, or of another problem, as if the program ran so.
///
/// Copies of the ranks are joined at their edges (`detail::ReplicaLayout`):
/// - A message to a neighbour crosses the edge of its copy. At an inner edge of an open dimension of three or more
///   ranks, ranks do what their inner neighbours do. Of messages that are sent more often than received there, or the
///   reverse, those too many are left out.
/// - A message that is to no neighbour stays within its copy.
/// - All-to-all: each rank sends to all others; a message is as many times smaller as there are copies.
/// - A collective spans all copies if its communicator is a line, a plane or all of the grid; else it stays within its
///   copy. The data of a rank remain, so those of each pair of an all-to-all shrink; what gathers or scatters grows
///   with the members.
///
/// With a volume v, computing takes v times as long, messages to neighbours have v^((d-1)/d) times the bytes (surface
/// over volume), and those of all-to-alls v times. Other messages and collectives keep their sizes.
///
/// Notices report the grid, the factors and what is left out. Tags are new. Error: `bad_argument` for numbers of
/// copies that do not fit the grid, or for more than 2^22 ranks. Cost: a copy of the exchange for each replica.
[[nodiscard]] Result<Schedule> enlarge(const Schedule& schedule, const RankGrid& grid, const Growth& growth);

/// The grid of what `enlarge` returns.
[[nodiscard]] RankGrid enlarged(const RankGrid& grid, const std::vector<std::uint32_t>& replicas);

}  // namespace plait::replay
