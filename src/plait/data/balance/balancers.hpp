// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "plait/data/balance/balancer.hpp"
#include "plait/data/balance/settings.hpp"

namespace plait::data::balance {

/// One line of the table in balancers.cpp. A new balancer is a file and a line there.
struct BalancerEntry {
  std::string_view name;
  std::string_view what;  ///< For lists: a sentence without its end.
  std::unique_ptr<Balancer> (*make)(Settings& settings);
};

/// All balancers of this build, in the order in which they are shown.
[[nodiscard]] std::span<const BalancerEntry> balancer_entries() noexcept;

/// Creates the balancer that `text` names, as on a command line: "greedy", or with options "refine:tolerance=0.01".
///
/// `table`: where the name is looked up. Throws: `Error` with `bad_argument` that lists the choices, for an unknown
/// name or option, or a value out of range.
[[nodiscard]] std::unique_ptr<Balancer> make_balancer(std::string_view text,
                                                      std::span<const BalancerEntry> table = balancer_entries());

}  // namespace plait::data::balance
