// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sph/particle_work.hpp"
#include "sph/problem.hpp"

namespace sph {

/// The reference for the parallel program: one thread, a grid to find neighbours, gravity by direct summation, equal
/// steps of all particles.
class PlainModel {
 public:
  /// Borrows the store, whose size and order do not change.
  PlainModel(Particles& store, const GasFields& fields, const Problem& problem);

  /// Takes one step, at most to `until`; returns its length. Throws: as the functions of `particle_work.hpp`.
  double step(double until);
  void run(double until) {
    while (time_ < until) {
      (void)step(until);
    }
  }
  [[nodiscard]] double time() const noexcept { return time_; }

 private:
  struct Cell {
    std::vector<std::uint32_t> members;
    plait::particles::Box box;
    float reach = 0;  ///< The largest of its members.
  };
  enum class Properties : std::uint8_t { density, forces };

  void find_forces();
  [[nodiscard]] double shortest_step(double allowed) const;
  void sort_into_cells();
  void find_density(Cell& cell);
  void find_flow_forces(const Cell& cell);
  void find_gravity();
  void gather(const Cell& cell, double reach, Properties properties);
  [[nodiscard]] ForceSources sources() const;

  Gas gas_;
  Scheme scheme_;
  Space space_;
  std::vector<Cell> cells_;
  std::array<std::vector<float>, 19> gathered_;  ///< Sources around a cell, one array for each property.
  double time_ = 0;
  double step_wanted_ = 0;  ///< The longest that the present state allows.
};

}  // namespace sph
