// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plait/comm/collectives/group.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/data/balance/balancer.hpp"
#include "plait/data/balance/distributed.hpp"
#include "plait/data/balance/load_model.hpp"
#include "plait/data/balance/options.hpp"
#include "plait/data/balance/statistics.hpp"
#include "plait/data/balance/trigger.hpp"
#include "plait/data/collections/report.hpp"
#include "plait/data/collections/shape.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::data::detail {

/// What is behind a `Rebalancer`, and knows no type of elements.
class Rebalancing {
 public:
  Rebalancing(comm::Endpoint& endpoint, trace::Recorder& trace, balance::RebalanceOptions options);

  void observe(std::vector<ElementLoad> loads, const Shape& shape, double overhead);
  [[nodiscard]] bool is_fresh() const noexcept { return is_fresh_; }
  /// Collective. The moves of this rank's elements; `report` has whether they are to be carried out.
  [[nodiscard]] std::vector<Move> decide(const balance::Balancer& balancer);
  /// Collective. What `moves` led to.
  balance::BalanceReport moved(const MigrationReport& migration, std::span<const Move> moves);
  [[nodiscard]] const balance::BalanceReport& report() const { return history_.back(); }
  [[nodiscard]] const std::deque<balance::BalanceReport>& history() const noexcept { return history_; }

 private:
  /// Loads of all ranks, in seconds a phase.
  struct Overview {
    double load_max = 0;
    double load_mean = 0;
    double load_bound = 0;
    double measured_max = 0;
    double measured_mean = 0;
  };
  /// Costs of the ranks before and after, and what moves.
  struct Outcome {
    double cost_now = 0;
    double cost_then = 0;
    double load_then = 0;
    std::uint64_t objects = 0;
    double bytes = 0;
  };
  struct Letter {
    Rank peer;
    Bytes bytes;
  };
  [[nodiscard]] std::vector<Letter> exchange(std::vector<Letter> letters);
  [[nodiscard]] balance::LocalProblem problem();
  [[nodiscard]] std::unordered_map<ElementId, Rank> places_of_peers();
  void add_edges(balance::LocalProblem& problem);
  [[nodiscard]] Overview overview(const balance::LocalProblem& problem);
  [[nodiscard]] Outcome outcome(const balance::LocalProblem& problem, const balance::Placement& placement);
  [[nodiscard]] std::vector<Rank> new_places_of_peers(const balance::LocalProblem& problem,
                                                      const balance::Placement& placement);
  void pass_on_histories(std::span<const Move> moves);
  void write_statistics(const Shape& shape, double overhead);
  void note(std::string_view what, nanoseconds start);
  void count(std::string_view what, double value);
  void finish(balance::BalanceReport report);

  [[nodiscard]] std::uint32_t ranks() const noexcept { return static_cast<std::uint32_t>(group_.size()); }
  [[nodiscard]] Rank self() const { return group_.rank(group_.self()); }

  trace::Recorder& trace_;
  balance::RebalanceOptions options_;
  comm::Group group_;
  LoadModel model_;
  balance::Trigger trigger_;
  std::optional<balance::StatisticsFile> statistics_;
  std::vector<ElementLoad> loads_;  ///< As observed last.
  Shape shape_;
  double measured_ = 0;  ///< Load of this rank as observed last.
  bool is_fresh_ = false;
  std::uint64_t observations_ = 0;
  std::uint64_t exchanges_ = 0;
  std::uint32_t decisions_ = 0;
  std::array<double, 2> moved_{};  ///< Objects and bytes of all ranks, since the beginning.
  std::deque<balance::BalanceReport> history_;
};

}  // namespace plait::data::detail
