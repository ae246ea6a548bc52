// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "plait/particle_mesh.hpp"
#include "plait/particles.hpp"
#include "plait/plait.hpp"

namespace cosmology {

using plait::particles::Expansion;
using plait::particles::Field;
using plait::particles::Particles;
using plait::particles::Vector;

// Units: lengths in comoving Mpc, masses in 1e10 solar masses, velocities in km/s; none is over h.

/// The unit of length in centimetres, that of mass in grams, and that of time in seconds.
constexpr double centimetres = 3.0856775814913673e24;
constexpr double grams = 1.98841e43;
constexpr double seconds = centimetres / 1e5;
/// The gravitational constant (CODATA 2018) in these units.
constexpr double gravity = 6.6743e-8 * grams / centimetres / 1e10;

/// A flat universe. Values are those of Planck 2018 (arXiv:1807.06209, table 2, last column).
struct Universe {
  double hubble = 0.6766;   ///< The rate of expansion today, in 100 km/s/Mpc.
  double matter = 0.3111;   ///< The share of matter today.
  double baryons = 0.0490;  ///< That of baryons, part of it.

  [[nodiscard]] Expansion expansion() const { return {100 * hubble, matter}; }
};

/// The parameters of a run, which snapshots store.
struct Parameters {
  double box = 200;        ///< The edge of the box.
  double step_max = 0.01;  ///< The longest step in the logarithm of the scale factor.
  double theta = 0.5;      ///< Opening angle; 0 sums directly.
  double softening = 0;    ///< Plummer length; 0: a 25th of the mean distance of particles.
  std::uint32_t mesh = 0;  ///< Points along an axis; 0: twice as many as particles, and at least 16.
  /// Of individual steps: a body of comoving acceleration g takes steps of at most sqrt(2 accuracy a^3 softening / g).
  double accuracy = 0.025;
};

/// The lengths of steps.
enum class StepKind : std::uint8_t {
  equal,       ///< Those of the grid for all bodies.
  individual,  ///< Those of the grid for the mesh; each body divides them by a power of two of its own.
};

/// Steps of equal length in the logarithm of the scale factor. A run that goes on keeps them.
struct StepGrid {
  double scale_factor = 1;  ///< At the begin of step `first`.
  std::uint64_t first = 0;
  double length = 0;  ///< 0: there are none.

  /// The scale factor at the begin of a step from `first` on.
  [[nodiscard]] double begin_of(std::uint64_t step) const {
    return scale_factor * std::exp(length * static_cast<double>(step - first));
  }
};

/// The state of a run besides its bodies.
struct RunState {
  double scale_factor = 1;
  std::uint64_t step = 0;
  StepGrid steps;
  plait::particles::DomainGrid grid{0, 0, 0};
  std::vector<double> cuts;  ///< Of the domains of all ranks.
  /// Each rank has the bodies of that rank of the run that wrote the file, with their forces and the state of their
  /// steps. Not in files.
  bool is_in_place = false;
  StepKind kind = StepKind::equal;
  Universe universe;
  Parameters parameters;
};

/// The fields of individual steps. At the ends of steps of the grid, where the program reads bodies, all are at one
/// time.
struct OwnStepFields {
  Particles& store;

  /// At the time of positions; that of `Bodies` has the kick by half of the next step.
  Field<Vector> momentum_now = store.add_field<Vector>("momentum now");
  Field<Vector> near_acceleration = store.add_field<Vector>("near acceleration");  ///< Of the short range.
  Field<double> near_potential = store.add_field<double>("near potential");
  Field<Vector> mesh_acceleration = store.add_field<Vector>("mesh acceleration");
  Field<double> mesh_potential = store.add_field<double>("mesh potential");
  plait::particles::StepFields steps{store};
};

/// The particles of one rank, in comoving coordinates.
struct Bodies {
  Particles store;
  Field<double> mass = store.add_field<double>("mass");
  Field<Vector> momentum = store.add_field<Vector>("momentum");           ///< Per mass: a^2 dx/dt.
  Field<Vector> acceleration = store.add_field<Vector>("acceleration");   ///< Comoving: that of comoving distances.
  Field<double> potential = store.add_field<double>("potential");         ///< Comoving, with mean 0.
  Field<Vector> peculiar = store.add_field<Vector>("peculiar velocity");  ///< For files: a dx/dt.
  Field<std::uint64_t> group = store.add_field<std::uint64_t>("group");   ///< For files: `FriendGroups::of_particle`.
  std::optional<OwnStepFields> own{};                                     ///< Of individual steps only.

  Bodies() = default;
  explicit Bodies(StepKind kind) {
    if (kind == StepKind::individual) {
      own.emplace(store);
    }
  }
  /// The momentum at the time of positions.
  [[nodiscard]] Field<Vector> momentum_now() const { return own ? own->momentum_now : momentum; }
};

}  // namespace cosmology
