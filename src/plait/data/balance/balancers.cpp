// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/balancers.hpp"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/data/balance/bisection.hpp"
#include "plait/data/balance/curve.hpp"
#include "plait/data/balance/differencing.hpp"
#include "plait/data/balance/diffusion.hpp"
#include "plait/data/balance/gossip.hpp"
#include "plait/data/balance/greedy.hpp"
#include "plait/data/balance/hypercube.hpp"
#include "plait/data/balance/pairwise.hpp"
#include "plait/data/balance/refine.hpp"
#include "plait/data/balance/two_level.hpp"

namespace plait::data::balance {
namespace {

template <class Kind>
std::unique_ptr<Balancer> make(Settings& settings) {
  return std::make_unique<Kind>(settings);
}

constexpr std::array table{
    BalancerEntry{"greedy", "the heaviest object first, each to the rank with least", make<Greedy>},
    BalancerEntry{"gossip", "who has too much gives to some it has heard of, at random (TemperedLB)", make<Gossip>},
    BalancerEntry{"diffusion", "load flows to neighbours, and objects with it", make<Diffusion>},
    BalancerEntry{"curve", "a Hilbert curve through the objects, cut into even stretches", make<Curve>},
    BalancerEntry{"bisection", "space cut in two again and again", make<Bisection>},
    BalancerEntry{"two_level", "nodes first, then the ranks of each", make<TwoLevel>},
    BalancerEntry{"refine", "greedy, then the rank with most shares with one that has least", make<Refine>},
    BalancerEntry{"differencing", "Karmarkar and Karp: what is most uneven evens each other out", make<Differencing>},
    BalancerEntry{"pairwise", "ranks sorted by load: the first shares with the last", make<Pairwise>},
    BalancerEntry{
        "hypercube", "groups of ranks whose numbers differ in few bits share, bits after bits", make<Hypercube>},
};

}  // namespace

std::span<const BalancerEntry> balancer_entries() noexcept {
  return table;
}

std::unique_ptr<Balancer> make_balancer(std::string_view text) {
  const std::string_view name = text.substr(0, text.find(':'));
  const auto* const entry = std::ranges::find(table, name, &BalancerEntry::name);
  if (entry == table.end()) {
    std::string names;
    for (const BalancerEntry& one : table) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ", one.name);
    }
    throw Error{ErrorCode::bad_argument, fmt::format("there is no balancer {}; there are {}", name, names)};
  }
  Settings settings{name, text.substr(std::min(name.size() + 1, text.size()))};
  std::unique_ptr<Balancer> balancer = entry->make(settings);
  settings.expect_all_asked();
  return balancer;
}

}  // namespace plait::data::balance
