// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "plait/particles/store/particles.hpp"

namespace plait::particles {

/// Changes the velocity of one particle by its forces over a duration.
struct Kick {
  Particles::Index place = 0;
  double duration = 0;
};

/// The two halves of a kick-drift-kick step. A system calls them for all particles, or for those whose steps end
/// (`System::integrate`). Any worker calls them, concurrently for different particles.
struct Integrator {
  Field<Vector> velocity;  ///< By which positions drift.
  /// Moves the particles [first, last) over a duration of drifts, and predicts for the new time what others read.
  std::function<void(Particles& store, std::size_t first, std::size_t last, double duration)> drift;
  std::function<void(Particles& store, std::span<const Kick> kicks)> kick;
  /// Replaces predictions by the results of the kicks that ended the steps of these particles. May be empty.
  std::function<void(Particles& store, std::span<const Kick> kicked)> settle = {};
  /// Predicts after `drift` what changes by kicks, such as velocities, over a duration of kicks. May be empty.
  std::function<void(Particles& store, std::size_t first, std::size_t last, double duration)> predict = {};
  std::vector<AnyField> predicted = {};  ///< The fields besides positions that `drift` and `predict` change.
  std::vector<AnyField> forces = {};     ///< The results of interactions that `kick` and `predict` read.
  /// The durations of drifts and of kicks between two times of the steps, such as the integrals of dt / a^2 and dt / a
  /// in comoving coordinates. Any worker calls them. Individual steps keep the last duration of each length. A result
  /// that is not finite, or of another sign than the difference of the times, ends the run with `bad_argument`. Empty:
  /// the difference of the times.
  std::function<double(double from, double to)> drift_duration = {};
  std::function<double(double from, double to)> kick_duration = {};
};

struct LeapfrogFields {
  Field<Vector> velocity;
  Field<Vector> acceleration;  ///< To which interactions and the functions of `System::when_summed` add.
  /// The velocity at the time of positions, for forces that depend on it. Initially equal to `velocity`.
  std::optional<Field<Vector>> velocity_now = std::nullopt;
};

/// The leapfrog: velocities change by accelerations, positions by velocities.
[[nodiscard]] Integrator leapfrog(const LeapfrogFields& fields);

}  // namespace plait::particles
