// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "sph/exact/riemann.hpp"

namespace sph::exact {

/// A strong explosion at a point of cold gas at rest (Sedov, "Similarity and Dimensional Methods in Mechanics", 1959).
/// Integrates the equations of the self-similar flow from the shock inwards.
class Sedov {
 public:
  /// Cost: some thousand integration steps.
  Sedov(double energy, double density, double gamma);

  [[nodiscard]] double shock_radius(double time) const;
  /// The mean radius of the kinetic energy, weighted by it, in shock radii.
  [[nodiscard]] double kinetic_radius() const;
  /// The gas at `radius`; its speed is outwards.
  [[nodiscard]] State at(double radius, double time) const;

 private:
  double density_;
  double scale_ = 0;            ///< shock_radius = scale time^(2/5).
  std::vector<State> profile_;  ///< In units of the shock, at even steps of radius / shock radius.
};

}  // namespace sph::exact
