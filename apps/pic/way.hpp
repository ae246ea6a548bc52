// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

namespace pic {

/// What is conserved, or tells two runs apart: of the whole box, the same on every rank and for every way of running.
struct Totals {
  std::uint64_t particles = 0;
  std::uint64_t absorbed = 0;   ///< By walls, since the beginning.
  std::uint64_t checksum = 0;   ///< Of all particles and fields, bit for bit.
  std::uint64_t misplaced = 0;  ///< Of the analytic problem: particles that are not where they belong.
  double kinetic = 0;           ///< Energies, in m c^2 n c^3 / plasma frequency^3 (per length in two dimensions).
  double electric = 0;
  double magnetic = 0;
  double momentum_x = 0;

  [[nodiscard]] double energy() const { return kinetic + electric + magnetic; }
};

/// Where the time of this rank went, since the beginning.
struct Profile {
  using Seconds = std::chrono::duration<double>;
  Seconds particles{};  ///< Moving and depositing: the work that may be unbalanced.
  Seconds migration{};  ///< Handing leavers over, with waiting for those who have more to do.
  Seconds hand_over{};  ///< Fields to patches, charges and currents to the solver.
  Seconds solve{};
};

/// A way of running a problem on several ranks. All give the same `Totals::checksum`. All calls are collective but
/// those that only look.
class Way {
 public:
  Way() = default;
  Way(const Way&) = delete;
  Way& operator=(const Way&) = delete;
  virtual ~Way() = default;

  /// One time step.
  virtual void step() = 0;
  [[nodiscard]] virtual std::uint64_t steps_done() const = 0;
  [[nodiscard]] virtual Totals totals() = 0;
  /// How far the electric field is from Gauss's law; see `Solver::gauss_error`. Spoils the charges of the last step.
  [[nodiscard]] virtual double gauss_error() = 0;
  [[nodiscard]] virtual const Profile& profile() const = 0;
  /// Particles of this rank now.
  [[nodiscard]] virtual std::uint64_t local_particles() const = 0;
};

}  // namespace pic
