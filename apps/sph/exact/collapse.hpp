// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "sph/exact/riemann.hpp"

namespace sph::exact {

/// Evrard's collapse (1988, MNRAS 235, 911) along the radius alone: cold gas with a density of 1 / (2 pi r) that falls
/// by its own gravity. Mass, radius and the constant of gravity are 1, the specific energy at the beginning is 0.05.
///
/// Shells of gas that move with the flow, with the viscosity of von Neumann and Richtmyer (1950) in shocks.
class Collapse {
 public:
  /// Computes the flow until `time`. Cost: some thousand steps of all shells.
  explicit Collapse(double time, std::size_t shells = 600);

  /// The gas at `radius`; its speed is outwards. Zero density outside.
  [[nodiscard]] State at(double radius) const;
  [[nodiscard]] double kinetic() const;
  [[nodiscard]] double thermal() const;
  [[nodiscard]] double potential() const;

 private:
  struct Shell {
    double mass = 0, volume = 0, energy = 0;
    double drag = 0;  ///< Viscous pressure.

    [[nodiscard]] double density() const { return mass / volume; }
    [[nodiscard]] double pressure() const;
  };

  [[nodiscard]] double longest_step() const;
  void advance(double dt);

  std::vector<double> radius_;  ///< Of the surfaces; the first is the centre.
  std::vector<double> speed_;
  std::vector<double> within_;  ///< Mass within a surface.
  std::vector<Shell> shells_;   ///< Each between two surfaces.
};

}  // namespace sph::exact
