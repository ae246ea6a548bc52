// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace plait::data::balance {

struct TriggerOptions {
  double horizon = 10;        ///< Phases that a placement is expected to last: until the next balancing, as a rule.
  double margin = 1;          ///< The gain over the horizon must exceed the cost this many times.
  double imbalance_min = 0;   ///< Below this imbalance nothing is done, whatever it would gain.
  std::uint32_t memory = 10;  ///< How many balancings the cost of the next one is learnt from, about.
};

/// Whether to go on, and in words why not.
struct Verdict {
  bool is_worth_it = false;
  bool is_minor = false;  ///< The imbalance is below the least that matters.
  double gain = 0;        ///< Seconds over the horizon.
  double cost = 0;        ///< Seconds, as learnt.
  std::string reason;     ///< Of not going on: a sentence. Empty when it is worth it.
};

/// Decides whether balancing pays, from what earlier balancings took.
///
/// Two questions: before anything is decided, whether the gain of the best placement that may be there exceeds deciding
/// and moving; and when a placement has been found, whether its gain exceeds moving alone, as deciding has been paid
/// for. What was never measured counts as free, so the first balancing measures it. All ranks must ask with the same
/// numbers, those of the slowest rank. Threads: one at a time.
class Trigger {
 public:
  /// Throws: `Error` with `bad_argument` for settings that are negative or no numbers.
  explicit Trigger(const TriggerOptions& options = {});

  /// Loads in seconds a phase: of the rank with most, and the least that it could have, in `load_bound`'s words.
  [[nodiscard]] Verdict before_deciding(double load_max, double load_mean, double load_bound) const;
  /// Costs in seconds a phase, of now and of the placement found, which moves `bytes`.
  [[nodiscard]] Verdict before_moving(double cost_now, double cost_then, double bytes) const;

  void learn_deciding(double seconds);
  void learn_moving(double seconds, double bytes);

  /// Seconds. 0 when never learnt.
  [[nodiscard]] double deciding_cost() const noexcept { return deciding_; }
  /// The line through the latest (bytes, seconds): a fixed part and a rate. One point, or all of one size: in
  /// proportion.
  [[nodiscard]] double moving_cost(double bytes) const noexcept;

 private:
  [[nodiscard]] Verdict judge(double gain_a_phase, double cost) const;

  TriggerOptions options_;
  double deciding_ = 0;
  bool has_decided_ = false;
  // Sums over the movings, older ones fading: of 1, bytes, seconds, bytes * bytes, bytes * seconds.
  double weight_ = 0;
  double bytes_ = 0;
  double seconds_ = 0;
  double bytes_bytes_ = 0;
  double bytes_seconds_ = 0;
};

}  // namespace plait::data::balance
