// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "pic/maxwell.hpp"
#include "pic/poisson.hpp"

namespace pic {

/// How exactly Poisson's equation is solved, and by what.
struct PoissonOptions {
  PoissonMethod method = PoissonMethod::conjugate_gradients;
  double tolerance = 1e-8;  ///< Residual over density in each electrostatic step; the first solve is exact to 1e-13.
};

/// One rank's block of the field solver: a plain code on a fixed decomposition, part p of `blocks` being rank p's.
///
/// Charges and currents are added to `current()` and `charge()` by the way of running; `step` makes the fields from
/// them; `fields()` go back. Calls are collective where noted.
template <int D>
class Solver {
 public:
  Solver(const Physics<D>& physics, const Division<D>& blocks, Ranks& ranks, PoissonOptions options = {});

  /// The nodes that are this rank's.
  [[nodiscard]] const Box<D>& nodes() const noexcept { return own_; }
  /// What the particles of all ranks deposited on them, in quanta. Adding is the caller's, making zero is `clear`'s.
  [[nodiscard]] Tile<D, NodeCurrent>& current() noexcept { return current_; }
  [[nodiscard]] Tile<D, Quanta>& charge() noexcept { return charge_; }
  void clear();

  /// The fields that satisfy Gauss's law with `charge()`. Collective. Throws as `step`.
  void start();
  /// The fields one step later: electromagnetic from `current()`, electrostatic from `charge()`. Collective.
  /// Throws: `plait::Error` that names step and cell when a field is not a number any more.
  void step(std::uint64_t step);

  /// Both fields on the rank's own nodes, as particles feel them.
  [[nodiscard]] const Tile<D, NodeField>& fields() const noexcept { return fields_; }
  /// On the staggered grid, with one node around the own ones; see `maxwell.hpp`. For tests and initial fields: call
  /// `publish` after a change.
  [[nodiscard]] Tile<D, Vector3>& electric() noexcept { return electric_; }
  [[nodiscard]] Tile<D, Vector3>& magnetic() noexcept { return magnetic_; }
  void publish(std::uint64_t step);
  [[nodiscard]] Tile<D, double>& potential() noexcept { return potential_; }
  /// The fields and the potential of step `step` have been set on the rank's own nodes. Collective. Throws as `step`.
  void go_on(std::uint64_t step);

  /// Energy of both fields in the whole box. Collective.
  struct Energies {
    double electric = 0;
    double magnetic = 0;
  };
  [[nodiscard]] Energies energies();
  /// The largest difference, in the whole box, of the electric field's divergence from `charge()`, over the largest
  /// charge density. Collective.
  [[nodiscard]] double gauss_error();
  /// Differs between any two states of this rank's fields; those of all ranks are to be added modulo 2^64.
  [[nodiscard]] std::uint64_t checksum() const;

 private:
  void solve_poisson(double tolerance);
  void make_density();
  [[nodiscard]] double mean_density();

  Physics<D> physics_;
  Ranks& ranks_;
  PoissonOptions options_;
  Box<D> own_;
  GuardExchange<D> fill_guards_;
  Poisson<D> poisson_;
  Tile<D, Vector3> electric_;
  Tile<D, Vector3> magnetic_;
  Tile<D, double> potential_;
  Tile<D, double> density_;
  Tile<D, NodeCurrent> current_;
  Tile<D, Quanta> charge_;
  Tile<D, NodeField> fields_;
};

}  // namespace pic
