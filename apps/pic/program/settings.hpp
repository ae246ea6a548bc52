// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pic/parallel/options.hpp"
#include "pic/problem.hpp"
#include "pic/solver.hpp"

namespace pic {

/// The options of plait-pic.
struct RunSettings {
  ProblemOptions problem{.cells = {64, 64}, .steps = 100};
  std::string way = "static";
  int patches_per_rank = 1;
  std::string balancer;              ///< Empty: the way's own choice.
  std::string balance_every = "20";  ///< Steps between balancings, or "auto".
  std::string balance_loads;         ///< Prefix of load statistics; empty: none.
  std::string output;                ///< Folder; empty: chosen if files are written.
  std::uint64_t output_steps = 0;    ///< Between files; 0: none, or at begin and end only when there is a folder.
  bool overwrites = false;
  std::uint64_t checkpoint_steps = 0;  ///< Between checkpoints; 0: none.
  std::string checkpoint_folder = "pic-checkpoints";
  std::uint64_t copy_steps = 0;  ///< Between copies in the memory of hosts; 0: none.
  std::string copy_folder = "/dev/shm/plait-pic";
  bool restarts = false;
  std::string solver;  ///< Empty: the problem's own.
  std::string poisson = "cg";
  double tolerance = 1e-8;
  std::uint64_t diagnose_steps = 0;  ///< Steps between lines of energies; 0: at begin and end only.
  std::string distribution = "geometric";
  std::vector<double> linear;       ///< Alpha and beta.
  std::vector<std::int32_t> patch;  ///< First and last column, first and last row.
  std::vector<double> plate;        ///< Begin and end.

  [[nodiscard]] bool has_checkpoints() const noexcept { return checkpoint_steps > 0 || copy_steps > 0 || restarts; }
  /// Throws: `plait::Error` for bad values, with the option.
  [[nodiscard]] ProblemOptions problem_options() const;
  [[nodiscard]] PoissonOptions poisson_options() const;
  [[nodiscard]] BalanceOptions balance_options() const;
};

}  // namespace pic
