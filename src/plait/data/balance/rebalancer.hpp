// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "plait/comm/collectives/group.hpp"
#include "plait/data/balance/balancers.hpp"
#include "plait/data/balance/load_model.hpp"
#include "plait/data/balance/options.hpp"
#include "plait/data/balance/statistics.hpp"
#include "plait/data/balance/trigger.hpp"
#include "plait/data/collections/collection.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::data {

namespace balance {
struct LocalProblem;
}

/// Records the loads of a collection, and migrates its elements when that pays.
///
///     Rebalancer rebalancer{runtime, {.trigger = {.horizon = 20}}};
///     const auto balancer = balance::make_balancer("refine");
///     for (int step = 0; step < steps; ++step) {
///       cells.each(&Cell::work);
///       rebalancer.observe(cells);
///       if (step % 20 == 19) {
///         rebalancer.balance(cells, *balancer);
///       }
///     }
///
/// Serves one collection: it stores loads by element, and learns from each balancing what the next one costs. In the
/// trace, a balancing is the spans "balance: decide" and "balance: move" of each rank; counters of rank 0 begin with
/// "balance: ". Threads: the one of the collection.
class Rebalancer {
 public:
  /// Borrows the runtime. Throws: `Error` with `bad_argument` for options out of range, `io` when the statistics cannot
  /// be written.
  template <RuntimeLike Runtime>
  explicit Rebalancer(Runtime& runtime, balance::RebalanceOptions options = {})
      : Rebalancer{runtime.messages(), runtime.trace(), std::move(options)} {}
  Rebalancer(comm::Endpoint& endpoint, trace::Recorder& trace, balance::RebalanceOptions options);

  /// Call it after a phase: takes the loads of the collection's elements on this rank, and resets them in the
  /// collection. Not collective.
  template <class T>
  void observe(Collection<T>& collection) {
    double overhead = 0;
    if constexpr (requires { collection.overhead_seconds(); }) {
      overhead = collection.overhead_seconds();
    }
    observe(collection.loads(), collection.shape(), overhead);
    collection.reset_loads();
  }

  /// Collective, between phases: runs the balancer, and migrates elements when the predicted gain over the horizon
  /// exceeds the cost. Calls `observe` first if that was not called since the last balancing.
  ///
  /// Throws: as `Collection::migrate`, and `Error` with `bad_argument`, on all ranks, for loads that are not numbers of
  /// 0 or more. Cost: a few collectives of some bytes a rank; the balancer's and the migration's if they run.
  template <class T>
  balance::BalanceReport balance(Collection<T>& collection, const balance::Balancer& balancer) {
    if (!is_fresh_) {
      observe(collection);
    }
    const std::vector<Move> moves = decide(balancer);
    return history_.back().is_done ? moved(collection.migrate(moves), moves) : history_.back();
  }

  /// The reports of the last balancings, at most 1000. All but the latest have `imbalance_measured`.
  [[nodiscard]] const std::deque<balance::BalanceReport>& history() const noexcept { return history_; }

  // --- the steps of `balance`, for loads that the program defines ---

  /// `overhead`: seconds of this rank that belong to no element.
  void observe(std::vector<ElementLoad> loads, const Shape& shape, double overhead);
  /// Collective. Returns the moves of this rank's elements; `history().back().is_done` is whether to carry them out.
  [[nodiscard]] std::vector<Move> decide(const balance::Balancer& balancer);
  /// Collective. Learns what the migration of `moves` cost, and sends the histories of elements after them.
  balance::BalanceReport moved(const MigrationReport& migration, std::span<const Move> moves);

 private:
  [[nodiscard]] balance::LocalProblem problem() const;
  void write_statistics(double overhead);
  void note(std::string_view what, nanoseconds start);
  void count(std::string_view what, double value);
  void finish(balance::BalanceReport report);
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
  std::uint32_t decisions_ = 0;
  std::array<double, 2> moved_{};  ///< Objects and bytes that all ranks have moved so far.
  std::deque<balance::BalanceReport> history_;
};

/// Collective: balances a collection once, by the loads since their last reset.
template <RuntimeLike Runtime, class T>
balance::BalanceReport rebalance(Runtime& runtime,
                                 Collection<T>& collection,
                                 const balance::Balancer& balancer,
                                 balance::RebalanceOptions options = {}) {
  return Rebalancer{runtime, std::move(options)}.balance(collection, balancer);
}
/// As above, with a balancer as on a command line: "refine:tolerance=0.01".
template <RuntimeLike Runtime, class T>
balance::BalanceReport rebalance(Runtime& runtime,
                                 Collection<T>& collection,
                                 std::string_view balancer,
                                 balance::RebalanceOptions options = {}) {
  return rebalance(runtime, collection, *balance::make_balancer(balancer), std::move(options));
}

}  // namespace plait::data
