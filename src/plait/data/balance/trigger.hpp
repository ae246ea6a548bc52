// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace plait::data::balance {

struct TriggerOptions {
  double horizon = 10;        ///< Phases for which a placement lasts: usually those until the next balancing.
  double margin = 1;          ///< The gain over the horizon must exceed `margin` times the cost.
  double imbalance_min = 0;   ///< Below this imbalance nothing is done, whatever the gain.
  std::uint32_t memory = 10;  ///< The cost is averaged over about so many balancings.
};

/// Whether a balancing continues, and the reason if not.
struct Verdict {
  bool is_worth_it = false;
  bool is_minor = false;  ///< The imbalance is below `imbalance_min`.
  double gain = 0;        ///< Seconds over the horizon.
  double cost = 0;        ///< Seconds, from earlier balancings.
  std::string reason;     ///< A sentence; empty when it is worth it.
};

/// Decides whether balancing pays, from the costs of earlier balancings.
///
/// It is asked twice. Before the decision: does the gain of the best possible placement exceed the costs of deciding
/// and moving? After it: does the gain of the placement exceed the cost of moving? A cost that was never measured
/// counts as 0, so that the first balancing measures it. All ranks call with the same numbers, those of the slowest
/// rank. Threads: one at a time.
class Trigger {
 public:
  /// Throws: `Error` with `bad_argument` for settings that are negative or NaN.
  explicit Trigger(const TriggerOptions& options = {});

  /// Loads are in seconds a phase; `load_bound` is a lower bound of `load_max`.
  [[nodiscard]] Verdict before_deciding(double load_max, double load_mean, double load_bound) const;
  /// Costs are in seconds a phase: the present one, and that of a placement that moves `bytes`.
  [[nodiscard]] Verdict before_moving(double cost_now, double cost_then, double bytes) const;

  void learn_deciding(double seconds);
  void learn_moving(double seconds, double bytes);

  /// In seconds; 0 when never measured.
  [[nodiscard]] double deciding_cost() const noexcept { return deciding_; }
  /// In seconds: a least-squares line through the latest (bytes, seconds). From points of one size: proportional.
  [[nodiscard]] double moving_cost(double bytes) const noexcept;

 private:
  [[nodiscard]] Verdict judge(double gain_a_phase, double cost) const;

  TriggerOptions options_;
  double deciding_ = 0;
  bool has_decided_ = false;
  // Sums over the migrations, weighted by age, of 1, bytes, seconds, bytes * bytes, bytes * seconds.
  double weight_ = 0;
  double bytes_ = 0;
  double seconds_ = 0;
  double bytes_bytes_ = 0;
  double bytes_seconds_ = 0;
};

}  // namespace plait::data::balance
