// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/detail/divide.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <queue>
#include <tuple>
#include <utility>

namespace plait::data::balance::detail {
namespace {

/// The result of a division.
struct Outcome {
  double cost = 0;
  double away = 0;  ///< Bytes that are not at home.
  bool fits = true;
};

class Division {
 public:
  Division(std::span<const Token> tokens, const Side& left, const Side& right, const DivideOptions& options)
      : tokens_{tokens}, left_{left}, right_{right}, options_{options}, even_{std::max(options.even, mean())} {}

  [[nodiscard]] bool is_even(const Outcome& outcome) const { return outcome.fits && outcome.cost <= even_; }
  [[nodiscard]] bool is_better(const Outcome& one, const Outcome& other, double tolerance) const {
    if (one.fits != other.fits) {
      return one.fits;
    }
    const double cost = std::max(one.cost, even_);
    const double other_cost = std::max(other.cost, even_);
    if (std::abs(cost - other_cost) > tolerance * std::max(cost, other_cost)) {
      return cost < other_cost;
    }
    return one.away < other.away;
  }

  [[nodiscard]] Outcome outcome(const std::vector<char>& is_left) const {
    Sums sums{left_.load, right_.load, left_.bytes, right_.bytes, 0};
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      add(sums, i, is_left[i] != 0, 1);
    }
    return outcome(sums);
  }

  /// The best of all divisions, in the order of a Gray code: each differs from the previous one in one token.
  [[nodiscard]] std::vector<char> best_of_all() const {
    std::vector<char> way(tokens_.size(), 0);
    Sums sums{left_.load, right_.load, left_.bytes, right_.bytes, 0};
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      add(sums, i, false, 1);
    }
    Outcome best = outcome(sums);
    std::uint32_t best_code = 0;
    const std::uint32_t ways = 1U << tokens_.size();
    for (std::uint32_t step = 1; step < ways; ++step) {
      const auto changed = static_cast<std::size_t>(std::countr_zero(step));
      add(sums, changed, way[changed] != 0, -1);
      flip(way[changed]);
      add(sums, changed, way[changed] != 0, 1);
      const Outcome found = outcome(sums);
      if (is_better(found, best, 1e-12)) {
        best = found;
        best_code = step ^ (step >> 1U);
      }
    }
    for (std::size_t i = 0; i < way.size(); ++i) {
      way[i] = static_cast<char>(best_code >> i & 1U);
    }
    return way;
  }

  /// Largest differencing, from the difference of the loads that cannot leave.
  [[nodiscard]] std::vector<char> differenced() const {
    const std::size_t count = tokens_.size();
    using Entry = std::pair<double, std::size_t>;
    std::vector<Entry> entries{{std::abs(left_.load - right_.load), count}};
    for (std::size_t i = 0; i < count; ++i) {
      entries.emplace_back(tokens_[i].load, i);
    }
    std::priority_queue<Entry> queue{{}, std::move(entries)};
    std::vector<std::pair<std::size_t, std::size_t>>
        opposed;  // of each: the second is on the other side than the first
    while (queue.size() > 1) {
      const Entry more = queue.top();
      queue.pop();
      const Entry less = queue.top();
      queue.pop();
      opposed.emplace_back(more.second, less.second);
      queue.emplace(more.first - less.first, more.second);
    }
    std::vector<char> way(count + 1, 0);
    for (auto pair = opposed.rbegin(); pair != opposed.rend(); ++pair) {
      way[pair->second] = way[pair->first] != 0 ? 0 : 1;
    }
    const bool is_turned = (way[count] != 0) != (left_.load >= right_.load);
    way.pop_back();
    if (is_turned) {
      std::ranges::for_each(way, flip);
    }
    if (left_.load == right_.load) {
      std::vector<char> turned = way;
      std::ranges::for_each(turned, flip);
      if (is_better(outcome(turned), outcome(way), 1e-12)) {
        return turned;
      }
    }
    return way;
  }

  /// Moves a token or exchanges two, while that brings the loads closer, at most `steps` times.
  void approach(std::vector<char>& way, int steps) const {
    double difference = left_.load - right_.load;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      difference += way[i] != 0 ? tokens_[i].load : -tokens_[i].load;
    }
    const double allowed = std::max(options_.tolerance * mean(), 2 * (even_ - mean()));
    for (; steps > 0 && std::abs(difference) > allowed; --steps) {
      const auto [from, to, gain] = best_exchange(way, difference);
      if (gain <= 0) {
        return;
      }
      const double moved = tokens_[from].load - (to < tokens_.size() ? tokens_[to].load : 0.0);
      difference -= std::copysign(2 * moved, difference);
      flip(way[from]);
      if (to < tokens_.size()) {
        flip(way[to]);
      }
    }
  }

  /// Moves single tokens from the costlier side where that lowers the cost and there is room.
  void creep(std::vector<char>& way) const {
    Outcome now = outcome(way);
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      flip(way[i]);
      const Outcome then = outcome(way);
      if (is_better(then, now, options_.tolerance)) {
        now = then;
      } else {
        flip(way[i]);
      }
    }
  }

 private:
  struct Sums {
    double left_cost;
    double right_cost;
    double left_bytes;
    double right_bytes;
    double away;
  };
  struct Exchange {
    std::size_t from = 0;
    std::size_t to = 0;  ///< The number of tokens: none.
    double gain = 0;
  };

  void add(Sums& sums, std::size_t i, bool is_left, double sign) const {
    const Token& token = tokens_[i];
    const bool is_away = token.home != (is_left ? left_ : right_).rank;
    (is_left ? sums.left_cost : sums.right_cost) += sign * (token.load + (is_away ? token.bytes * options_.moved : 0));
    (is_left ? sums.left_bytes : sums.right_bytes) += sign * token.bytes;
    sums.away += is_away ? sign * token.bytes : 0;
  }

  [[nodiscard]] Outcome outcome(const Sums& sums) const {
    return {.cost = std::max(sums.left_cost, sums.right_cost),
            .away = sums.away,
            .fits = sums.left_bytes <= left_.bytes_max && sums.right_bytes <= right_.bytes_max};
  }

  [[nodiscard]] double mean() const {
    double sum = left_.load + right_.load;
    for (const Token& token : tokens_) {
      sum += token.load;
    }
    return sum / 2;
  }

  static void flip(char& side) { side = side != 0 ? 0 : 1; }

  /// The move of a token from the side with more load, or its exchange for one, that leaves the least difference.
  [[nodiscard]] Exchange best_exchange(const std::vector<char>& way, double difference) const {
    const bool is_from_left = difference > 0;
    const double wanted = std::abs(difference) / 2;
    Exchange best;
    double best_miss = wanted;
    const auto try_one = [&](std::size_t from, std::size_t to, double moved) {
      const double miss = std::abs(moved - wanted);
      if (miss < best_miss) {
        best_miss = miss;
        best = {from, to, wanted - miss};
      }
    };
    std::size_t before = tokens_.size();  // the last token of the other side that is too heavy
    std::size_t to = 0;  // the next that is not; lighter tokens have later partners, as the heaviest come first
    for (std::size_t from = 0; from < tokens_.size(); ++from) {
      if ((way[from] != 0) != is_from_left) {
        continue;
      }
      try_one(from, tokens_.size(), tokens_[from].load);
      while (to < tokens_.size() &&
             ((way[to] != 0) == is_from_left || tokens_[from].load - tokens_[to].load < wanted)) {
        before = (way[to] != 0) == is_from_left ? before : to;
        ++to;
      }
      for (const std::size_t partner : {to, before}) {
        if (partner < tokens_.size()) {
          try_one(from, partner, tokens_[from].load - tokens_[partner].load);
        }
      }
    }
    return best;
  }

  std::span<const Token> tokens_;
  const Side& left_;
  const Side& right_;
  const DivideOptions& options_;
  const double even_;  ///< Costs up to this are equal.
};

}  // namespace

bool before_token(const Token& one, const Token& other) {
  return std::tuple{-one.load, one.home, one.number} < std::tuple{-other.load, other.home, other.number};
}

bool divide(std::span<const Token> tokens,
            const Side& left,
            const Side& right,
            std::vector<char>& is_left,
            const DivideOptions& options) {
  const Division division{tokens, left, right, options};
  const Outcome now = division.outcome(is_left);
  if (tokens.empty() || division.is_even(now)) {
    return false;
  }
  constexpr std::size_t few = 10;
  std::vector<char> way;
  if (tokens.size() <= few) {
    way = division.best_of_all();
  } else {
    way = is_left;
    division.approach(way, 32);
    if (const Outcome near = division.outcome(way); !division.is_even(near)) {
      std::vector<char> other = division.differenced();
      division.approach(other, 32);
      if (division.is_better(division.outcome(other), near, options.tolerance)) {
        way = std::move(other);
      }
    }
    const Outcome found = division.outcome(way);
    if (!division.is_better(found, now, options.tolerance) || !found.fits) {
      way = is_left;
      division.creep(way);
    }
  }
  const Outcome found = division.outcome(way);
  const bool is_gain = found.fits && found.cost < now.cost * (1 - options.tolerance);
  if (is_gain || (found.fits && !now.fits)) {
    is_left = std::move(way);
    return true;
  }
  return false;
}

}  // namespace plait::data::balance::detail
