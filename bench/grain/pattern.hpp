// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace grain {

/// Which points of the previous step a point depends on. Names and patterns are those of Task Bench: Slaughter et al.,
/// "Task Bench: a parameterized benchmark for evaluating parallel runtime performance", SC 2020.
enum class Pattern {
  stencil,     ///< Itself and the next on either side.
  nearest,     ///< Itself and the next two on either side.
  fft,         ///< Itself and those at a distance of 1, 2, 4 ..., by step.
  spread,      ///< Five, an equal distance apart, that shift with the step.
  all_to_all,  ///< All.
};
inline constexpr std::array patterns{
    Pattern::stencil, Pattern::nearest, Pattern::fft, Pattern::spread, Pattern::all_to_all};

[[nodiscard]] std::string name_of(Pattern pattern);

/// The inputs of a point, in ascending order, each once.
[[nodiscard]] std::vector<std::size_t> inputs(Pattern pattern, std::size_t width, std::size_t step, std::size_t point);

/// The number of steps after which the inputs of every pattern repeat. Expects: `width` is a power of 2.
[[nodiscard]] std::size_t period(std::size_t width);

}  // namespace grain
