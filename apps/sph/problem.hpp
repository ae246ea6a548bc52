// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "plait/particles.hpp"
#include "plait/plait.hpp"

#include "sph/exact/riemann.hpp"
#include "sph/gas.hpp"
#include "sph/scheme.hpp"

namespace sph {

using plait::particles::Space;

/// An initial particle.
struct Sample {
  Vector position;
  Vector velocity;
  double mass = 0;
  double energy = 0;     ///< Specific.
  double smoothing = 0;  ///< A guess of h.
  std::uint8_t kind = gas_kind;
};

/// A flow or a set of stars, ready to run.
struct Problem {
  std::string name;
  /// The root contains the initial particles. `make_problem` puts its lower corner at 0, as readers of files expect.
  Space space;
  Vector origin{};  ///< The centre: of shells, orbits, the tube's diaphragm.
  double time_end = 0;
  Scheme scheme;
  /// Calls its argument for each particle, always in the same order; positions are relative to `origin`.
  std::function<void(const std::function<void(const Sample&)>&)> visit;
};

struct ProblemOptions {
  /// Particles along the problem's box, in dozens, or thousands of stars; 0: the kind's default.
  std::uint32_t resolution = 0;
  std::uint64_t seed = 1;  ///< Of random positions.
};

struct ProblemKind {
  const char* name;
  const char* help;
  std::uint32_t resolution;  ///< Default, for a run of some minutes.
  Problem (*make)(const ProblemOptions& options);
};
[[nodiscard]] std::span<const ProblemKind> problem_kinds();
/// Throws: `Error` with `bad_argument` that lists the names, if `name` is unknown.
[[nodiscard]] Problem make_problem(const std::string& name, const ProblemOptions& options);

/// Appends the part of `rank` of `ranks`; ids begin at 1. Cost: visits all particles.
void add_particles(
    const Problem& problem, Particles& store, const GasFields& fields, std::uint32_t rank, std::uint32_t ranks);

/// Settings for flows slower than sound, which the noise of few neighbours would slow down.
void set_subsonic(Scheme& scheme);

// The kinds.
[[nodiscard]] Problem make_sod(const ProblemOptions& options);
[[nodiscard]] Problem make_sedov(const ProblemOptions& options);
[[nodiscard]] Problem make_gresho(const ProblemOptions& options);
[[nodiscard]] Problem make_noh(const ProblemOptions& options);
[[nodiscard]] Problem make_kelvin_helmholtz(const ProblemOptions& options);
[[nodiscard]] Problem make_square(const ProblemOptions& options);
[[nodiscard]] Problem make_blob(const ProblemOptions& options);
[[nodiscard]] Problem make_evrard(const ProblemOptions& options);
[[nodiscard]] Problem make_plummer(const ProblemOptions& options);
[[nodiscard]] Problem make_kepler_ring(const ProblemOptions& options);
[[nodiscard]] Problem make_two_bodies(const ProblemOptions& options);

/// Gresho's vortex, which is stationary, at radius `r` from the axis.
struct Vortex {
  double speed;
  double pressure;
};
[[nodiscard]] Vortex gresho_at(double r);

/// A square of dense gas in pressure equilibrium, which is stationary, at a place relative to its middle.
[[nodiscard]] exact::State square_at(const Vector& from_middle);

/// A cold cloud in a hot wind (Agertz et al., 2007, section 3). Units: the cloud's radius, the wind's density, and the
/// sound in it.
struct Blob {
  double density_ratio = 10;
  double mach = 2.7;

  /// The time in which the longest waves on the cloud grow: 1.6 crossing times of its shock.
  [[nodiscard]] double growth_time() const { return 1.6 * 2 * std::sqrt(density_ratio) / mach; }
  /// Gas that still belongs to the cloud is denser than this, and colder than 0.9 of the wind.
  [[nodiscard]] double density_min() const { return 0.64 * density_ratio; }
  [[nodiscard]] double mass() const { return density_ratio * 4 * M_PI / 3; }
};
inline constexpr Blob blob;

}  // namespace sph
