// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "plait/fft.hpp"
#include "plait/plait.hpp"

#include "dns/modes.hpp"

namespace dns {

// Initial fields, written as modes, without a transform. They do not depend on the number of ranks. `fields` are those
// of a solver with the layout `spectral`.

/// u = (sin x cos y cos z, -cos x sin y cos z, 0): energy 1/8, enstrophy 3/8. Taylor and Green, 1937.
void set_taylor_green(const Layout& spectral, Fields& fields);

/// u = (sin kx cos ky, -cos kx sin ky, 0): exact, decays as exp(-2 nu k^2 t).
void set_taylor_green_2d(const Layout& spectral, Fields& fields, int k = 1);

/// u = (A sin kz + C cos ky, B sin kx + A cos kz, C sin ky + B cos kx): curl u = k u, exact, decays as exp(-nu k^2 t).
void set_abc(const Layout& spectral, Fields& fields, const std::array<double, 3>& abc = {1, 1, 1}, int k = 1);

/// Random phases and directions, free of divergence, with exactly the energy `spectrum`(k) in shell k (Rogallo, NASA
/// TM-81315, 1981). A mode's random numbers depend on `seed` and its wave number only: the low modes are the same at
/// other resolutions. Collective.
void set_random(plait::Runtime& runtime,
                const Layout& spectral,
                Fields& fields,
                const std::function<double(double)>& spectrum,
                std::uint64_t seed);

/// A spectrum for `set_random`: k^4 exp(-2 (k / peak)^2), scaled to the total `energy`.
[[nodiscard]] std::function<double(double)> peaked_spectrum(double energy, double peak);

/// amplitude x cos(k . x).
void set_single_mode(const Layout& spectral, Array& scalar, const std::array<int, 3>& k, double amplitude = 1);

}  // namespace dns
