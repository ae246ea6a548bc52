// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "plait/comm/address.hpp"
#include "plait/data/balance/load_model.hpp"
#include "plait/data/balance/problem.hpp"
#include "plait/data/balance/trigger.hpp"
#include "plait/data/collections/element.hpp"

namespace plait::data::balance {

/// How a collection is balanced. All ranks must give the same, but for what the functions answer.
struct RebalanceOptions {
  LoadModelOptions model;
  TriggerOptions trigger;
  Weights weights;
  double memory_max = std::numeric_limits<double>::infinity();  ///< Bytes of elements a rank may keep.
  std::vector<std::uint32_t> node_of_rank;                      ///< Empty: one node.
  /// Where an element of this rank is in space; without, its index.
  std::function<std::array<double, 3>(ElementId)> position;
  /// Bytes of an element of this rank; without, the mean of those that have moved, 0 before any has.
  std::function<double(ElementId)> bytes;
  /// Where load statistics are written for vt's tools and `plait balance`: PREFIX.RANK.json; empty: nowhere.
  std::filesystem::path statistics;
};

/// What became of a balancing; the same on all ranks.
struct BalanceReport {
  bool is_done = false;  ///< Elements have moved.
  std::string reason;    ///< Why not: a sentence. Empty when done.
  std::string balancer;
  double imbalance_before = 0;     ///< Most over mean less 1, as foretold for the next phase where nothing moves.
  double imbalance_bound = 0;      ///< Below which no placement gets: the heaviest element, or what cannot move.
  double imbalance_predicted = 0;  ///< With the new placement; where nothing was decided, as before.
  std::optional<double> imbalance_measured;  ///< Of the phase observed last before the next balancing.
  double gain = 0;                           ///< Seconds over the horizon, foretold.
  double cost = 0;                           ///< Seconds, foretold.
  std::uint64_t objects_moved = 0;
  double bytes_moved = 0;  ///< As packed.
  std::uint32_t rounds = 0;
  std::uint64_t messages = 0;   ///< For deciding, of all ranks.
  double seconds_deciding = 0;  ///< Of the slowest rank, as are those of moving.
  double seconds_moving = 0;
};

}  // namespace plait::data::balance
