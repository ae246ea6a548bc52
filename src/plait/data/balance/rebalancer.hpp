// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "plait/data/balance/balancers.hpp"
#include "plait/data/balance/detail/rebalancing.hpp"
#include "plait/data/balance/options.hpp"
#include "plait/data/collections/collection.hpp"

namespace plait::data {

/// Watches the loads of a collection, and moves its elements when that pays.
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
/// Serves one collection: loads are remembered by element. What balancing takes is learnt from one balancing to the
/// next. In the trace of rank 0 a balancing is two spans, "balance: decide" and "balance: move", and counters that
/// begin with "balance: ". Threads: the one of the collection.
class Rebalancer {
 public:
  /// Borrows the runtime. Throws: `Error` with `bad_argument` for options that make no sense, `io` when the statistics
  /// cannot be written.
  template <RuntimeLike Runtime>
  explicit Rebalancer(Runtime& runtime, balance::RebalanceOptions options = {})
      : rebalancing_{std::make_unique<detail::Rebalancing>(runtime.messages(), runtime.trace(), std::move(options))} {}

  /// A phase has ended: takes over the loads of the collection's elements here, and resets them there. Not collective.
  template <class T>
  void observe(Collection<T>& collection) {
    double overhead = 0;
    if constexpr (requires { collection.overhead_seconds(); }) {
      overhead = collection.overhead_seconds();
    }
    rebalancing_->observe(collection.loads(), collection.shape(), overhead);
    collection.reset_loads();
  }

  /// Collective, between phases: decides with the balancer, on all ranks together where it can, and moves elements when
  /// the gain over the horizon exceeds what that takes. Without an observation since the last time, observes first.
  ///
  /// Throws: as `Collection::migrate`, and `Error` with `bad_argument`, on all ranks, when loads make no sense. Cost: a
  /// few collectives of some bytes a rank; when it goes on, the balancer's, and moving.
  template <class T>
  balance::BalanceReport balance(Collection<T>& collection, const balance::Balancer& balancer) {
    if (!rebalancing_->is_fresh()) {
      observe(collection);
    }
    const std::vector<Move> moves = rebalancing_->decide(balancer);
    if (!rebalancing_->report().is_done) {
      return rebalancing_->report();
    }
    return rebalancing_->moved(collection.migrate(moves), moves);
  }

  /// The last balancings, of 1000 at most; of all but the latest is known what came of them (`imbalance_measured`).
  [[nodiscard]] const std::deque<balance::BalanceReport>& history() const noexcept { return rebalancing_->history(); }

 private:
  std::unique_ptr<detail::Rebalancing> rebalancing_;
};

/// Collective: balances a collection once, by the loads since their last reset, whatever it takes.
template <RuntimeLike Runtime, class T>
balance::BalanceReport rebalance(Runtime& runtime,
                                 Collection<T>& collection,
                                 const balance::Balancer& balancer,
                                 balance::RebalanceOptions options = {}) {
  return Rebalancer{runtime, std::move(options)}.balance(collection, balancer);
}
/// As above, with a balancer as it is written on a command line.
template <RuntimeLike Runtime, class T>
balance::BalanceReport rebalance(Runtime& runtime,
                                 Collection<T>& collection,
                                 std::string_view balancer,
                                 balance::RebalanceOptions options = {}) {
  return rebalance(runtime, collection, *balance::make_balancer(balancer), std::move(options));
}

}  // namespace plait::data
