// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pic/program/settings.hpp"

namespace pic {

/// One line of the table of ways of running.
struct WayKind {
  std::string_view name;
  std::string_view help;
  bool is_collection = false;           ///< Else plain MPI, without a runtime.
  bool can_balance = true;              ///< Whether it takes --balancer.
  std::string_view default_balancer{};  ///< Without --balancer; empty: none.
};
[[nodiscard]] std::span<const WayKind> way_kinds() noexcept;

/// Runs a problem on all ranks of MPI_COMM_WORLD; rank 0 prints. `command`: the command line, for the trace. Returns
/// the program's exit code: 1 when a particle of the analytic problem is misplaced. Collective. Throws:
/// `app::AgreedError` on all ranks; other errors on the rank where they occur.
[[nodiscard]] int run(const RunSettings& settings, const std::vector<std::string>& command);

}  // namespace pic
