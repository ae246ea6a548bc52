// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "plait/fft.hpp"
#include "plait/plait.hpp"

#include "dns/program/settings.hpp"
#include "dns/solver.hpp"

namespace dns {

/// An entry of the table of problems.
struct ProblemKind {
  std::string_view name;
  std::string_view help;
  /// Sets the initial fields. Collective. Throws: `app::AgreedError` on all ranks.
  void (*begin)(plait::Runtime& runtime, const RunSettings& settings, Solver& solver);
};

[[nodiscard]] std::span<const ProblemKind> problem_kinds() noexcept;

/// Points along x, y and z: as requested, else those of the file, else 64. Reads the sizes in the file, if any.
/// Throws: `plait::Error` if the file cannot be used for the requested points.
[[nodiscard]] std::array<plait::fft::Index, 3> choose_points(const RunSettings& settings);

}  // namespace dns
