// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "plait/comm/collectives/group.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/comm/request.hpp"
#include "plait/particles/domain.hpp"
#include "plait/particles/particles.hpp"
#include "plait/particles/space.hpp"

namespace plait::particles {

/// A particle that stands for some: where it is and what these weigh in the decomposition.
struct Sample {
  Vector place;
  double weight = 0;
};

/// About `count` of the particles, each for an equal share of what all cost; of those that have not been measured, each
/// counts as their mean, and as 1 where none has been. The same particles in the same order give the same samples.
/// Throws: as `check_position`. Cost: O(particles).
[[nodiscard]] std::vector<Sample> choose_samples(const Particles& particles, const Space& space, std::uint32_t count);

/// Throws: `Error` with `bad_input` that names the particle, when its position is no finite number.
void check_position(const Vector& position, std::uint64_t id);

struct DecompositionOptions {
  std::uint32_t samples = 200;  ///< Of each rank.
  double share_of_old = 0.5;  ///< How much of the former cuts stays in the new ones, below 1: smooth from step to step.
  /// How exactly a part gets the share that it should have, of the weight of one part.
  double tolerance = 0.02;
  /// The first of `comm_count` that the decomposition talks below.
  comm::CommId first_comm{0x5000'0000};
  static constexpr std::uint32_t comm_count = 5;
};

/// What cutting took on one rank, since the beginning.
struct DecompositionCounts {
  std::uint64_t decompositions = 0;
  std::uint64_t reductions = 0;  ///< Collective: of all ranks, of those of a slab, of those of a column.
  std::uint64_t messages = 0;    ///< Of samples.
  std::uint64_t bytes = 0;       ///< Of both, as this rank handed them over.
};

/// Cuts the space so that the samples of all domains weigh the same: all of it into slabs, each slab into columns, each
/// column into domains (multisection).
///
/// Cuts are found by counting: the ranks concerned add up what weighs how much below a few places around each cut, and
/// look closer until they know enough. Then samples travel along the axis to a rank of their slab, and the ranks of a
/// slab go on by themselves. No rank has a special part, none learns more than it needs: a rank sends as many messages,
/// adds up as many numbers and keeps as many cuts as the grid is long, the cube root of the ranks for a cubic one,
/// beside constants and the logarithms that reductions take. The same samples give the same cuts, which all ranks that
/// know of a cut agree on to the last bit. Threads: one at a time; `cut` goes on in whichever makes progress.
class Decomposition {
 public:
  /// `messages` must stay. Throws: `Error` with `bad_argument` when the grid does not fit the ranks, the space makes no
  /// sense, or an option is out of its range.
  Decomposition(comm::Endpoint& messages,
                const Space& space,
                const DomainGrid& grid,
                const DecompositionOptions& options = {});
  Decomposition(const Decomposition&) = delete;
  Decomposition& operator=(const Decomposition&) = delete;
  Decomposition(Decomposition&&) = delete;
  Decomposition& operator=(Decomposition&&) = delete;
  ~Decomposition();

  /// What of this rank's particles the next `cut` goes by. Throws: as `choose_samples`.
  void choose(const Particles& particles);
  /// Finds new cuts near those of `domain`, if it has any, and puts them there before it is complete; nobody else may
  /// look at `domain` until then. Without any particles on any rank, nothing changes. Non-blocking and collective: all
  /// ranks call it as often; what is to be overlapped with it goes on meanwhile.
  [[nodiscard]] comm::Request cut(Domain& domain);

  [[nodiscard]] const DecompositionCounts& counts() const noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plait::particles
