// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "plait/base/id.hpp"
#include "plait/data/collections/element.hpp"

namespace plait::data::balance {

/// What can be moved, as a balancer sees it.
struct Object {
  ElementId id;
  Rank rank;                         ///< Where it is now.
  double load = 0;                   ///< Seconds a phase, as predicted.
  double bytes = 0;                  ///< To keep it, and to move it.
  std::array<double, 3> position{};  ///< For balancers that cut space; any unit.
  bool is_migratable = true;
};

/// What two objects send to each other in a phase, both directions together.
struct Edge {
  std::uint32_t first;  ///< Numbers in `Problem::objects`.
  std::uint32_t second;
  double bytes = 0;
};

/// What a byte costs, in seconds a phase: what is minimised is the largest sum of load and cost over the ranks.
struct Weights {
  double between_ranks = 0;  ///< A byte sent between two ranks of one node.
  double between_nodes = 0;
  double moved = 0;  ///< A byte of an object that moves, spread over the phases until the next balancing.
};

/// The whole input of a balancer.
struct Problem {
  std::uint32_t rank_count = 1;
  std::vector<Object> objects;              ///< In order of id.
  std::vector<Edge> edges;                  ///< Each pair once; may be empty.
  std::vector<double> background;           ///< By rank: seconds a phase that stay there; empty: none.
  std::vector<std::uint32_t> node_of_rank;  ///< Numbered from 0; empty: one node.
  double memory_max = std::numeric_limits<double>::infinity();  ///< Bytes of objects a rank may keep.
  Weights weights;
};

/// By object, in order: where it shall be.
using Placement = std::vector<Rank>;

}  // namespace plait::data::balance
