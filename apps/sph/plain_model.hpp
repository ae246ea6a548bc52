// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sph/particle_work.hpp"
#include "sph/problem.hpp"

namespace sph {

/// The plainest way to run a problem: one thread, a grid to find neighbours, gravity by direct summation, equal steps
/// of all particles. What the parallel program is compared with.
class PlainModel {
 public:
  /// The store must stay; its order does not change.
  PlainModel(Particles& store, const GasFields& fields, const Problem& problem);

  /// Takes one step, which does not go beyond `until`; returns its length.
  /// Throws: what the numerics throw, naming a particle.
  double step(double until);
  void run(double until) {
    while (time_ < until) {
      (void)step(until);
    }
  }
  [[nodiscard]] double time() const noexcept { return time_; }
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }

 private:
  struct Cell {
    std::vector<std::uint32_t> members;
    plait::particles::Box box;
    float reach = 0;  ///< Of its members, at most.
  };
  /// Sources around a cell, one array for each property.
  struct Gathered {
    std::array<std::vector<float>, 13> columns;
    std::size_t count = 0;
  };

  void find_forces();
  void sort_into_cells();
  void find_density(Cell& cell);
  void find_flow_forces(const Cell& cell);
  void find_gravity();
  /// Whole: with the properties that forces need.
  enum class Properties : std::uint8_t { flow, whole };
  void gather(const Cell& cell, double reach, Properties properties);
  [[nodiscard]] ForceSources sources() const;

  Particles& store_;
  Gas gas_;
  Scheme scheme_;
  Space space_;
  std::vector<Cell> cells_;
  Gathered gathered_;
  double time_ = 0;
  double step_wanted_ = 0;  ///< That the present state allows.
  std::uint64_t steps_ = 0;
};

}  // namespace sph
