// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "pic/patch.hpp"
#include "pic/poisson.hpp"

namespace pic {

/// The method and the accuracy for Poisson's equation.
struct PoissonOptions {
  PoissonMethod method = PoissonMethod::conjugate_gradients;
  double tolerance = 1e-8;  ///< Residual over density in each electrostatic step; the first solve is exact to 1e-13.
};

/// One rank's block of the field solver, on a fixed decomposition: part p of `blocks` is rank p's.
///
/// The way of running adds currents and charges to `current()` and `charge()`; `step` computes the fields from them.
/// Calls are collective where noted.
template <int D>
class Solver {
 public:
  Solver(const Physics<D>& physics, const Division<D>& blocks, Ranks& ranks, PoissonOptions options = {});

  /// The nodes of this rank.
  [[nodiscard]] const Box<D>& nodes() const noexcept { return own_; }
  /// The deposits of all ranks' particles on them, in quanta. The caller adds to them; `clear` sets them to zero.
  [[nodiscard]] Tile<D, NodeCurrent>& current() noexcept { return current_; }
  [[nodiscard]] Tile<D, Quanta>& charge() noexcept { return charge_; }
  void clear();

  /// Computes the first fields, which satisfy Gauss's law with `charge()`. Collective. Throws: as `step`.
  void start();
  /// Advances the fields by a step: electromagnetic from `current()`, electrostatic from `charge()`. Collective.
  /// Throws: `plait::Error` that names step and cell when a field is not finite.
  void step(std::uint64_t step);

  /// Both fields on the rank's own nodes, as particles feel them.
  [[nodiscard]] const Tile<D, NodeField>& fields() const noexcept { return fields_; }
  /// The fields on the staggered grid, with one guard node; see `maxwell.hpp`. Call `publish` after a change.
  [[nodiscard]] Tile<D, Vector3>& electric() noexcept { return electric_; }
  [[nodiscard]] Tile<D, Vector3>& magnetic() noexcept { return magnetic_; }
  void publish(std::uint64_t step);
  [[nodiscard]] Tile<D, double>& potential() noexcept { return potential_; }
  /// Continues from step `step`, whose fields and potential have been set on the rank's own nodes. Collective. Throws:
  /// as `step`.
  void go_on(std::uint64_t step);

  /// Energy of both fields in the whole box. Collective.
  struct Energies {
    double electric = 0;
    double magnetic = 0;
  };
  [[nodiscard]] Energies energies();
  /// The largest difference in the whole box between the electric field's divergence and `charge()`, relative to the
  /// largest charge density. Collective.
  [[nodiscard]] double gauss_error();
  /// Differs between any two states of this rank's fields. Add those of all ranks modulo 2^64.
  [[nodiscard]] std::uint64_t checksum() const;

 private:
  void solve_poisson(double tolerance);
  void make_density();

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
