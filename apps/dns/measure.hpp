// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <complex>
#include <span>
#include <vector>

#include "plait/plait.hpp"

#include "dns/diagnostics.hpp"
#include "dns/modes.hpp"
#include "dns/physics.hpp"
#include "dns/solver.hpp"

namespace dns {

/// Fills in what needs the modes only. Collective: one reduction of some numbers a shell.
void measure_modes(
    const Modes& modes, const Fields& fields, const Physics& physics, plait::Group& group, Diagnostics& out);

/// Adds `factor` Re(conj u . n) of this rank to each shell of `transfer`.
void add_transfer(const Modes& modes,
                  const Fields& fields,
                  const std::array<std::vector<std::complex<double>>, 3>& right_side,
                  double factor,
                  std::span<double> transfer);

/// This rank's part of the energy of all modes of `fields`.
[[nodiscard]] double energy_here(const Modes& modes, const Fields& fields);

}  // namespace dns
