// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/pairwise.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "plait/base/random.hpp"
#include "plait/data/balance/detail/negotiation.hpp"
#include "plait/data/balance/detail/tree.hpp"

namespace plait::data::balance {
namespace {

/// What the root of the tree says to a rank.
struct Advice {
  Rank partner;  ///< Nobody: pause.
  bool is_end = false;
  double mean = 0;  ///< Of all loads.
};

/// How often the order alone makes the pairs: later the same ones would meet.
constexpr std::uint32_t mirrored_exchanges = 4;

/// Makes pairs of ranks, on the root of the tree.
class Matchmaker {
 public:
  explicit Matchmaker(const PairwiseOptions& options) : options_{options}, random_{options.seed} {}

  [[nodiscard]] std::vector<Bytes> advise(const std::vector<Bytes>& answers) {
    const std::size_t count = answers.size();
    std::vector<std::pair<double, std::uint32_t>> order;
    double sum = 0;
    for (std::uint32_t rank = 0; rank < count; ++rank) {
      order.emplace_back(-values_of<double>(answers[rank]).front(), rank);
      sum -= order.back().first;
    }
    std::ranges::sort(order);
    const double mean = sum / static_cast<double>(count);
    std::vector<Advice> advices(count, Advice{.mean = mean});
    if (-order.front().first <= mean * (1 + options_.tolerance) || exchange_ == options_.exchanges) {
      for (Advice& advice : advices) {
        advice.is_end = true;
      }
    }
    const std::size_t half = count / 2;
    const std::uint64_t turn = exchange_ < mirrored_exchanges || half == 0 ? 0 : random_.below(half);
    for (std::size_t i = 0; i < half; ++i) {
      const std::uint32_t heavy = order[i].second;
      const std::uint32_t light = order[count - 1 - (i + turn) % half].second;
      advices[heavy].partner = Rank{light};
      advices[light].partner = Rank{heavy};
    }
    ++exchange_;
    std::vector<Bytes> messages;
    for (const Advice& advice : advices) {
      messages.push_back(bytes_of(std::span{&advice, 1}));
    }
    return messages;
  }

 private:
  PairwiseOptions options_;
  Random random_;
  std::uint32_t exchange_ = 0;
};

}  // namespace

Pairwise::Pairwise(Settings& settings) {
  options_.exchanges = settings.count("exchanges", options_.exchanges, 1);
  options_.tolerance = settings.number("tolerance", options_.tolerance);
  options_.seed = settings.count("seed", 1);
}

std::string Pairwise::name() const {
  return fmt::format(
      "pairwise:exchanges={},tolerance={},seed={}", options_.exchanges, options_.tolerance, options_.seed);
}

Steps<Placement> Pairwise::part(Rounds& rounds, LocalProblem problem) const {
  detail::Holding holding{rounds.self(), problem};
  Matchmaker matchmaker{options_};
  const double tolerance = options_.tolerance;
  while (true) {
    const double load = holding.load();
    const std::vector<Bytes> answers = co_await detail::gather(rounds, bytes_of(std::span{&load, 1}));
    std::vector<Bytes> advices;
    if (rounds.self() == Rank{0}) {
      advices = matchmaker.advise(answers);
    }
    const Bytes mine = co_await detail::scatter(rounds, std::move(advices));
    const Advice advice = values_of<Advice>(mine).front();
    if (advice.is_end) {
      break;
    }
    const std::optional<Rank> partner = advice.partner ? std::optional{advice.partner} : std::nullopt;
    const detail::DivideOptions how{
        .moved = problem.weights.moved, .even = advice.mean * (1 + tolerance), .slack = tolerance};
    const bool has_changed = co_await detail::share(rounds, holding, partner, how);
    (void)has_changed;
  }
  const Placement placement = co_await detail::settle(rounds, holding, problem);
  co_return placement;
}

}  // namespace plait::data::balance
