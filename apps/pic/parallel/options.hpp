// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace pic {

/// How fine patches are, and how they are balanced.
struct BalanceOptions {
  int patches_per_rank = 16;
  /// As on a command line; see `plait::data::balance::make_balancer`. Empty: none.
  std::string balancer;
  std::uint64_t balance_steps = 20;  ///< Between two balancings.
};

}  // namespace pic
