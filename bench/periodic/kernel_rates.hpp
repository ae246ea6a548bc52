// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace bench {

/// The speed of a force kernel on one core, for lists of 2048 entries and 64 targets.
struct KernelRate {
  const char* name;
  std::vector<double> rates;  ///< Interactions a second, in several repetitions.
  double instructions;        ///< Of arithmetic for a vector of interactions: a fused multiply-add counts once.
};

/// Of the kernels in single precision of open boxes, and of the short-range part in periodic ones. Takes half a second.
[[nodiscard]] std::vector<KernelRate> kernel_rates();

}  // namespace bench
