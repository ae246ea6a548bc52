// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sph::exact {

/// Gas at a point of a flow along x.
struct State {
  double density = 0;
  double speed = 0;
  double pressure = 0;
};

/// The flow of two states that meet at x = 0 at time 0 (Toro, "Riemann Solvers and Numerical Methods for Fluid
/// Dynamics", chapter 4). Expects: both pressures are positive, and no vacuum forms between them.
class Riemann {
 public:
  Riemann(const State& left, const State& right, double gamma);

  /// The gas on the line x / t.
  [[nodiscard]] State at(double x_over_t) const;
  /// The state between the waves.
  [[nodiscard]] double pressure() const noexcept { return pressure_; }
  [[nodiscard]] double speed() const noexcept { return speed_; }

 private:
  [[nodiscard]] State beside(const State& side, double sign, double x_over_t) const;

  State left_, right_;
  double gamma_;
  double pressure_ = 0;
  double speed_ = 0;
};

}  // namespace sph::exact
