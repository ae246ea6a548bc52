// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/balancers.hpp"

#include <algorithm>
#include <array>
#include <ranges>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plait/base/error.hpp"
#include "plait/data/balance/balancers/bisection.hpp"
#include "plait/data/balance/balancers/greedy.hpp"
#include "plait/data/balance/balancers/hypercube.hpp"
#include "plait/data/balance/balancers/refine.hpp"
#include "plait/data/balance/balancers/two_level.hpp"

namespace plait::data::balance {
namespace {

template <class Kind>
std::unique_ptr<Balancer> make(Settings& settings) {
  return std::make_unique<Kind>(settings);
}

constexpr std::array table{
    BalancerEntry{"greedy", "the heaviest object first, each to the least loaded rank", make<Greedy>},
    BalancerEntry{"refine", "greedy, then the most loaded rank exchanges objects with others", make<Refine>},
    BalancerEntry{"bisection", "recursive coordinate bisection", make<Bisection>},
    BalancerEntry{"two_level", "nodes first, then the ranks of each", make<TwoLevel>},
    BalancerEntry{
        "hypercube", "groups of ranks share their objects, one dimension after another; distributed", make<Hypercube>},
};

/// Names in programs may have hyphens, as options have.
std::string with_underscores(std::string_view name) {
  std::string text{name};
  std::ranges::replace(text, '-', '_');
  return text;
}

}  // namespace

std::span<const BalancerEntry> balancer_entries() noexcept {
  return table;
}

std::unique_ptr<Balancer> make_balancer(std::string_view text, std::span<const BalancerEntry> table) {
  const std::string_view name = text.substr(0, text.find(':'));
  const auto entry = std::ranges::find(table, with_underscores(name), &BalancerEntry::name);
  if (entry == table.end()) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("there is no balancer {}; choose one of {}",
                            name,
                            fmt::join(table | std::views::transform(&BalancerEntry::name), ", "))};
  }
  Settings settings{entry->name, text.substr(std::min(name.size() + 1, text.size()))};
  std::unique_ptr<Balancer> balancer = entry->make(settings);
  settings.expect_all_asked();
  return balancer;
}

}  // namespace plait::data::balance
