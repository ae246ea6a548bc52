// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "plait/comm/endpoint.hpp"
#include "plait/particles/groups/moments.hpp"
#include "plait/particles/store/particles.hpp"
#include "plait/particles/store/space.hpp"

namespace plait::particles::detail {

/// The sums over some particles, relative to the place and the velocity of one of them, so that little cancels.
struct MomentSums {
  std::uint64_t id = 0;  ///< Of the selection.
  std::uint64_t members = 0;
  double mass = 0;
  Vector place;             ///< The reference.
  Vector velocity;          ///< The reference.
  Vector first;             ///< Of mass times distance.
  Vector momentum;          ///< Of mass times velocity.
  SymmetricTensor second;   ///< Of mass times distance times distance.
  SymmetricTensor kinetic;  ///< Of mass times velocity times velocity.
  Vector angular;           ///< Of mass times distance cross velocity.

  /// Adds those of other particles of the selection, which are near.
  void add(const Space& space, const MomentSums& other);
  [[nodiscard]] SelectionMoments moments(const Space& space) const;
};
static_assert(std::is_trivially_copyable_v<MomentSums>, "travels in messages");

/// Of one particle.
[[nodiscard]] inline MomentSums sums_of(std::uint64_t id, double mass, const Vector& place, const Vector& velocity) {
  MomentSums sums{.id = id, .members = 1, .mass = mass};
  sums.place = place;
  sums.velocity = velocity;
  return sums;
}

using SumsByLabel = std::unordered_map<std::uint64_t, MomentSums>;

/// The rank that sums the particles of a label.
[[nodiscard]] std::size_t collector_of(std::uint64_t id, std::size_t ranks);
/// Ends the run of all ranks unless there is one label for each particle. Throws: `Error` with `bad_argument`.
void check_labels(comm::Endpoint& messages, const Particles& particles, std::span<const std::uint64_t> labels);
/// The rows for the ranks that collect each label, by rank and in the order of labels.
[[nodiscard]] std::vector<std::vector<MomentSums>> rows_for_collectors(const SumsByLabel& sums, std::size_t ranks);
/// Adds up what the ranks sent, in the order of ranks.
[[nodiscard]] SumsByLabel collected(const std::vector<std::vector<MomentSums>>& rows, const Space& space);
/// Their moments, where a label has as many members; the heaviest first, equal ones by id.
[[nodiscard]] std::vector<LabelledMoments> moments_of(const SumsByLabel& sums,
                                                      const Space& space,
                                                      std::uint64_t members_min);

}  // namespace plait::particles::detail
