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

/// How a collection is balanced. The same on all ranks, except for the results of the functions.
struct RebalanceOptions {
  LoadModelOptions model;
  TriggerOptions trigger;
  Weights weights;
  double memory_max = std::numeric_limits<double>::infinity();  ///< The most bytes of elements on a rank.
  std::vector<std::uint32_t> node_of_rank;  ///< Numbered from 0. Empty: those that the endpoint knows.
  /// The position of an element of this rank; without the function, its index.
  std::function<std::array<double, 3>(ElementId)> position;
  /// The bytes of an element of this rank; without the function, the mean of those that have moved, at first 0.
  std::function<double(ElementId)> bytes;
  /// Prefix of files with load statistics, for vt's tools and `plait balance`: PREFIX.RANK.json; empty: none.
  std::filesystem::path statistics;
};

/// The result of a balancing; the same on all ranks.
struct BalanceReport {
  bool is_done = false;  ///< Elements have moved.
  std::string reason;    ///< Why none has moved, as a sentence; empty when done.
  std::string balancer;
  double imbalance_before = 0;               ///< max/mean - 1, predicted for the next phase if nothing moves.
  double imbalance_bound = 0;                ///< A lower bound: by the heaviest element, or by loads that cannot move.
  double imbalance_predicted = 0;            ///< With the new placement; without one, as `imbalance_before`.
  std::optional<double> imbalance_measured;  ///< In the last phase before the next balancing.
  double gain = 0;                           ///< Seconds over the horizon, predicted.
  double cost = 0;                           ///< Seconds, predicted.
  std::uint64_t objects_moved = 0;
  double bytes_moved = 0;  ///< As packed.
  std::uint32_t rounds = 0;
  std::uint64_t messages = 0;   ///< Of all ranks, to decide.
  double seconds_deciding = 0;  ///< Of the slowest rank; the same for moving.
  double seconds_moving = 0;
};

}  // namespace plait::data::balance
