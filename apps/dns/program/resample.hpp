// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <span>

#include "plait/fft.hpp"
#include "plait/plait.hpp"

namespace dns {

/// Modes of one array as those of another number of points: wave numbers that both have, without those at half the
/// points of either, are taken; others are zero. `from` and `to` are in the spectral layouts of the plans, which are on
/// the same ranks. Collective. Cost: 24 bytes a mode in memory, and one exchange with all ranks.
void resample(plait::comm::Endpoint& endpoint,
              const plait::fft::Plan& from_plan,
              std::span<const std::complex<double>> from,
              const plait::fft::Plan& to_plan,
              std::span<std::complex<double>> to);

}  // namespace dns
