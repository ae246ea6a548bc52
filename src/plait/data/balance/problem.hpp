// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "plait/base/id.hpp"
#include "plait/data/collections/element.hpp"

namespace plait::data::balance {

/// An element, as a balancer sees it.
struct Object {
  ElementId id;
  Rank rank;                         ///< The present one.
  double load = 0;                   ///< Predicted seconds a phase.
  double bytes = 0;                  ///< Its memory, and what moving it sends.
  std::array<double, 3> position{};  ///< In any unit, for balancers that divide space.
  bool is_migratable = true;
};

/// The communication of two objects in a phase, in both directions.
struct Edge {
  std::uint32_t first;  ///< Number in `Problem::objects`, as is `second`.
  std::uint32_t second;
  double bytes = 0;
};

/// The cost of a byte, in seconds a phase. Balancers minimise the largest sum of load and cost of a rank.
struct Weights {
  double between_ranks = 0;  ///< Sent between two ranks of one node.
  double between_nodes = 0;
  double moved = 0;  ///< Of an object that moves, divided by the phases until the next balancing.
};

/// The whole input of a balancer.
struct Problem {
  std::uint32_t rank_count = 1;
  std::vector<Object> objects;              ///< In order of id.
  std::vector<Edge> edges;                  ///< Each pair once; may be empty.
  std::vector<double> background;           ///< By rank: seconds a phase that cannot move; empty: none.
  std::vector<std::uint32_t> node_of_rank;  ///< Numbered from 0; empty: one node.
  double memory_max = std::numeric_limits<double>::infinity();  ///< Bytes of objects on a rank.
  Weights weights;
};

/// The new rank of each object, in order.
using Placement = std::vector<Rank>;

}  // namespace plait::data::balance
