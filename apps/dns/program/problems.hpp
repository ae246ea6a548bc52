// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "plait/fft.hpp"
#include "plait/plait.hpp"

#include "dns/program/settings.hpp"
#include "dns/solver.hpp"

namespace dns {

/// One line of the table of problems.
struct ProblemKind {
  std::string_view name;
  std::string_view help;
  /// Writes the fields to begin with. Collective. Throws: `app::AgreedError` on all ranks.
  void (*begin)(plait::Runtime& runtime, const RunSettings& settings, Solver& solver);
};

[[nodiscard]] std::span<const ProblemKind> problem_kinds() noexcept;
/// Throws: `plait::Error` that lists the problems.
[[nodiscard]] const ProblemKind& find_problem(std::string_view name);

/// Points along x, y and z: as requested, or those of the file, or 64. Reads the file's tables where there is one.
/// Throws: `plait::Error` when the file cannot be used for so many points.
[[nodiscard]] std::array<plait::fft::Index, 3> choose_points(const RunSettings& settings);

}  // namespace dns
