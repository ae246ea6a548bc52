// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plait/comm/collectives/group.hpp"
#include "plait/comm/coroutine.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/comm/request.hpp"
#include "plait/particles/domains/domain.hpp"
#include "plait/particles/store/particles.hpp"
#include "plait/particles/store/space.hpp"

namespace plait::particles {

/// A particle that represents several: its place and their weight in the decomposition.
struct Sample {
  Vector place;
  double weight = 0;
};

/// About `count` of the particles, each for an equal share of the total cost. A particle that has not been measured
/// counts as the mean of the others, or as 1 if none has. The same particles in the same order give the same samples.
/// Throws: as `check_position`. Cost: O(particles).
[[nodiscard]] std::vector<Sample> choose_samples(const Particles& particles, const Space& space, std::uint32_t count);

struct DecompositionOptions {
  std::uint32_t samples = 200;  ///< Of each rank.
  double share_of_old = 0.5;    ///< The weight of the old boundaries in the new ones, below 1: smooth changes.
  /// The largest deviation from equal weights, relative to the weight of one part.
  double tolerance = 0.02;
};

/// What decompositions took on one rank, since the beginning.
struct DecompositionCounts {
  std::uint64_t decompositions = 0;
  std::uint64_t reductions = 0;  ///< Collective: of all ranks, of those of a slab, of those of a column.
  std::uint64_t messages = 0;    ///< Of samples.
  std::uint64_t bytes = 0;       ///< Of both, as this rank handed them over.
};

/// Decomposes the domain by multisection, so that the samples of all ranks have equal weight: the space into slabs,
/// each slab into columns, each column into domains.
///
/// The ranks concerned sum the weights below a few places around each boundary, and narrow these brackets until they
/// are within the tolerance. Then samples go along the axis to a rank of their slab, and each slab continues alone. A
/// rank sends messages, sums numbers and stores boundaries in proportion to the length of the grid, the cube root of
/// the ranks for a cubic one, beside the logarithms of reductions. The same samples give the same boundaries, bit for
/// bit on all ranks. Threads: one at a time; `cut` continues in any thread that makes progress.
class Decomposition {
 public:
  /// Borrows `messages`. Throws: `Error` with `bad_argument` when the grid does not fit the ranks, the space is
  /// invalid, or an option is out of its range.
  Decomposition(comm::Endpoint& messages,
                const Space& space,
                const DomainGrid& grid,
                const DecompositionOptions& options = {});
  Decomposition(const Decomposition&) = delete;
  Decomposition& operator=(const Decomposition&) = delete;
  ~Decomposition() = default;

  /// Chooses this rank's samples for the next `cut`. Throws: as `choose_samples`.
  void choose(const Particles& particles);
  /// Searches new boundaries near those of `domain`, if it has any, and stores them there. `domain` must not be
  /// accessed until the request is complete. Without particles on any rank, nothing changes. Non-blocking and
  /// collective.
  [[nodiscard]] comm::Request cut(Domain& domain);

  [[nodiscard]] comm::Endpoint& endpoint() const noexcept { return endpoint_; }
  [[nodiscard]] const DecompositionCounts& counts() const noexcept { return counts_; }

 private:
  /// What is summed over all ranks before boundaries are searched.
  struct Survey {
    Box box;  ///< Of places.
    double measured_cost = 0;
    double measured_count = 0;

    friend Survey operator+(const Survey& a, const Survey& b) {
      Survey both{a.box, a.measured_cost + b.measured_cost, a.measured_count + b.measured_count};
      both.box.include(b.box);
      return both;
    }
  };

  comm::AsyncOperation run(Domain& domain);
  comm::AsyncOperation find_cuts(std::size_t axis, std::vector<double>& cuts);
  comm::AsyncOperation travel(std::size_t axis, const std::vector<double>& cuts);
  template <class T>
  comm::Request add_up(std::size_t axis, std::span<T> numbers);
  void scale_unmeasured(double own_measured);
  void blend(std::vector<double>& cuts, std::span<const double> old) const;

  comm::Endpoint& endpoint_;
  const Space space_;
  const DomainGrid grid_;
  const DecompositionOptions options_;
  /// The ranks that search boundaries along an axis: all, a slab, a column.
  std::array<std::optional<comm::Group>, 3> sharing_;
  /// Along which samples travel to their slab, and to their column.
  std::array<std::optional<comm::Group>, 2> rows_;
  std::vector<Sample> samples_;
  Survey survey_;
  std::span<const double> old_;  ///< Cuts along the axis that is being cut.
  DecompositionCounts counts_;
};

}  // namespace plait::particles
