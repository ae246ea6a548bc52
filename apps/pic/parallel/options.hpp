// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace pic {

/// How fine patches are, and how they are balanced.
struct BalanceOptions {
  int patches_per_rank = 16;
  /// As on a command line; see `plait::data::balance::make_balancer`. Empty: none.
  std::string balancer;
  std::uint64_t balance_steps = 20;  ///< Between two balancings, or checks whether one pays.
  /// Patches of a collection move only when what that gains over the next steps exceeds what balancing took before.
  bool must_pay = false;
  std::uint64_t horizon_steps = 20;  ///< How long a placement is expected to last.
  /// Where load statistics of a collection go, for `plait balance`: PREFIX.RANK.json; empty: nowhere.
  std::filesystem::path statistics;
};

}  // namespace pic
