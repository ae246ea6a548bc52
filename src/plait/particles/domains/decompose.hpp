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

/// The place of a particle, and the weight of the particles that it represents in a decomposition.
struct Sample {
  Vector place;
  double weight = 0;
};

/// Samples about `count` particles, each with an equal share of the total cost. Particles without a measured cost have
/// the mean cost of the others, or 1 if all have none. Deterministic. Throws: as `check_position`. Cost: O(particles).
[[nodiscard]] std::vector<Sample> choose_samples(const Particles& particles, const Space& space, std::uint32_t count);

struct DecompositionOptions {
  std::uint32_t samples = 200;  ///< Of each rank.
  double share_of_old = 0.5;    ///< The weight of old boundaries in new ones, below 1: smooths changes.
  double tolerance = 0.02;      ///< Of the weight of a part, relative to the mean.
};

/// The cost of decompositions on one rank, since the start.
struct DecompositionCounts {
  std::uint64_t decompositions = 0;
  std::uint64_t reductions = 0;  ///< Among all ranks, the ranks of a slab, or the ranks of a column.
  std::uint64_t messages = 0;    ///< With samples.
  std::uint64_t bytes = 0;       ///< This rank's contributions to both.
};

/// Decomposes the domain by multisection into parts of equal weight: the space into slabs, each slab into columns, each
/// column into domains.
///
/// Ranks reduce the weights below several candidates for each boundary, and narrow these brackets until they are within
/// the tolerance. Then samples move along the axis to a rank of their slab, and slabs continue independently. Messages,
/// reduced numbers and stored boundaries of a rank are proportional to the sides of the grid, except for the
/// logarithmic cost of reductions. Boundaries are bitwise equal on all ranks. Threads: one at a time; `cut` continues
/// in any thread that makes progress.
class Decomposition {
 public:
  /// Borrows `messages`. Throws: `Error` with `bad_argument` if the grid does not fit the ranks, the space is invalid,
  /// or an option is out of range.
  Decomposition(comm::Endpoint& messages,
                const Space& space,
                const DomainGrid& grid,
                const DecompositionOptions& options = {});
  Decomposition(const Decomposition&) = delete;
  Decomposition& operator=(const Decomposition&) = delete;
  ~Decomposition() = default;

  /// Samples this rank's particles for the next `cut`. Throws: as `choose_samples`.
  void choose(const Particles& particles);
  /// Finds new boundaries, starting from those of `domain`, and stores them there. `domain` must not be accessed until
  /// the request is complete. If no rank has particles, nothing changes. Non-blocking and collective.
  [[nodiscard]] comm::Request cut(Domain& domain);

  [[nodiscard]] comm::Endpoint& endpoint() const noexcept { return endpoint_; }
  [[nodiscard]] const DecompositionCounts& counts() const noexcept { return counts_; }

 private:
  /// Reduced over all ranks before the search.
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

  comm::Endpoint& endpoint_;
  const Space space_;
  const DomainGrid grid_;
  const DecompositionOptions options_;
  /// The ranks that search boundaries along each axis: all, those of the slab, those of the column.
  std::array<std::optional<comm::Group>, 3> sharing_;
  /// The ranks among which samples move along the first and along the second axis.
  std::array<std::optional<comm::Group>, 2> rows_;
  std::vector<Sample> samples_;
  Survey survey_;
  std::span<const double> old_;  ///< Boundaries along the current axis.
  DecompositionCounts counts_;
};

}  // namespace plait::particles
