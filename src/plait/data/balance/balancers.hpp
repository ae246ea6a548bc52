// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "plait/data/balance/balancer.hpp"
#include "plait/data/balance/settings.hpp"

namespace plait::data::balance {

/// A row of the table in balancers.cpp. A new balancer is a file and a row there.
struct BalancerEntry {
  std::string_view name;
  std::string_view what;  ///< A description for lists, without a full stop.
  std::unique_ptr<Balancer> (*make)(Settings& settings);
};

/// All balancers of this build, in the order of lists.
[[nodiscard]] std::span<const BalancerEntry> balancer_entries() noexcept;

/// Creates a balancer of `table`, named as on a command line: "greedy", or with options "refine:tolerance=0.01".
/// "two-level" is "two_level". Throws: `Error` with `bad_argument` that lists the choices, for an unknown name or
/// option, or a value out of range.
[[nodiscard]] std::unique_ptr<Balancer> make_balancer(std::string_view text,
                                                      std::span<const BalancerEntry> table = balancer_entries());

}  // namespace plait::data::balance
