// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "plait/data/balance/balancer.hpp"
#include "plait/data/balance/settings.hpp"

namespace plait::data::balance {

/// One line of the table in balancers.cpp. Adding a balancer is its file and a line there.
struct BalancerEntry {
  std::string_view name;
  std::string_view what;  ///< For lists: a sentence without its end.
  std::unique_ptr<Balancer> (*make)(Settings& settings);
};

/// All balancers of this build, in the order in which they are shown.
[[nodiscard]] std::span<const BalancerEntry> balancer_entries() noexcept;

/// A balancer as it is written on a command line: "greedy", or with options "refine:tolerance=0.01". Throws: `Error`
/// with `bad_argument` that lists what there is, for a name or an option that is unknown, or a value it cannot have.
[[nodiscard]] std::unique_ptr<Balancer> make_balancer(std::string_view text);

}  // namespace plait::data::balance
