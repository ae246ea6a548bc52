// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "plait/plait.hpp"

namespace pic {

/// The number of patches, and how they are balanced.
struct BalanceOptions {
  int patches_per_rank = 16;
  /// As on a command line, see `plait::data::balance::make_balancer`; empty: none.
  std::string balancer;
  /// Where the balancer's name is searched.
  std::span<const plait::data::balance::BalancerEntry> balancers = plait::data::balance::balancer_entries();
  std::uint64_t balance_steps = 20;  ///< Between two balancings, or checks whether one pays.
  /// Patches of a collection migrate only if the gain over the next steps exceeds the cost of balancing so far.
  bool must_pay = false;
  std::uint64_t horizon_steps = 20;  ///< How long a placement is expected to last.
  /// Prefix of the load statistics of a collection, for `plait balance`: PREFIX.RANK.json; empty: none.
  std::filesystem::path statistics;
};

}  // namespace pic
