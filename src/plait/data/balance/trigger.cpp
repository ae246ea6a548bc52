// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/trigger.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "plait/base/error.hpp"

namespace plait::data::balance {
namespace {

/// In a readable unit.
std::string time_text(double seconds) {
  if (seconds >= 1) {
    return fmt::format("{:.3g} s", seconds);
  }
  return seconds >= 1e-3 ? fmt::format("{:.3g} ms", seconds * 1e3) : fmt::format("{:.3g} us", seconds * 1e6);
}

}  // namespace

Trigger::Trigger(const TriggerOptions& options) : options_{options} {
  for (const double setting : {options.horizon, options.margin, options.imbalance_min}) {
    if (!(setting >= 0)) {
      throw Error{ErrorCode::bad_argument, "horizon, margin and imbalance_min of balancing must be 0 or more"};
    }
  }
  if (options.memory == 0) {
    throw Error{ErrorCode::bad_argument,
                "TriggerOptions::memory is 0: the cost of balancing needs one balancing or more"};
  }
}

Verdict Trigger::judge(double gain_a_phase, double cost) const {
  Verdict verdict{.gain = std::max(0.0, gain_a_phase) * options_.horizon, .cost = cost};
  verdict.is_worth_it = verdict.gain > options_.margin * cost;
  if (!verdict.is_worth_it) {
    verdict.reason = verdict.gain == 0 ? std::string{"no placement is better than the present one"}
                                       : fmt::format("over {:g} phases it would gain {}, and cost {}",
                                                     options_.horizon,
                                                     time_text(verdict.gain),
                                                     time_text(cost));
  }
  return verdict;
}

Verdict Trigger::before_deciding(double load_max, double load_mean, double load_bound) const {
  const double imbalance = load_mean > 0 ? load_max / load_mean - 1 : 0;
  if (imbalance < options_.imbalance_min) {
    return {
        .is_minor = true,
        .reason = fmt::format(
            "the imbalance is {:.3g}, below the {:.3g} from which on it matters", imbalance, options_.imbalance_min)};
  }
  // The bytes to move are unknown yet: count the fixed part.
  Verdict verdict = judge(load_max - load_bound, deciding_ + moving_cost(0));
  if (!verdict.is_worth_it && verdict.gain > 0) {
    verdict.reason = "even the best placement would not pay: " + verdict.reason;
  }
  return verdict;
}

Verdict Trigger::before_moving(double cost_now, double cost_then, double bytes) const {
  return judge(cost_now - cost_then, moving_cost(bytes));
}

void Trigger::learn_deciding(double seconds) {
  deciding_ += has_decided_ ? (seconds - deciding_) / options_.memory : seconds;
  has_decided_ = true;
}

void Trigger::learn_moving(double seconds, double bytes) {
  const double kept = 1.0 - 1.0 / options_.memory;
  weight_ = kept * weight_ + 1;
  bytes_ = kept * bytes_ + bytes;
  seconds_ = kept * seconds_ + seconds;
  bytes_bytes_ = kept * bytes_bytes_ + bytes * bytes;
  bytes_seconds_ = kept * bytes_seconds_ + bytes * seconds;
}

double Trigger::moving_cost(double bytes) const noexcept {
  if (weight_ == 0 || bytes_ == 0) {
    return 0;
  }
  const double spread = weight_ * bytes_bytes_ - bytes_ * bytes_;
  const bool has_line = spread > 1e-6 * bytes_bytes_ * weight_;
  const double rate = has_line ? (weight_ * bytes_seconds_ - bytes_ * seconds_) / spread : -1;
  const double fixed = (seconds_ - rate * bytes_) / weight_;
  if (rate < 0 || fixed < 0) {
    return seconds_ / bytes_ * bytes;
  }
  return fixed + rate * bytes;
}

}  // namespace plait::data::balance
