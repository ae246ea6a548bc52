// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/gossip.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/base/random.hpp"
#include "plait/data/balance/detail/negotiation.hpp"
#include "plait/data/balance/detail/tree.hpp"

namespace plait::data::balance {
namespace {

using detail::Token;

constexpr std::array<std::string_view, 2> criteria{"modified", "original"};
constexpr std::array<std::string_view, 4> orders{"fewest", "heaviest", "lightest", "given"};

/// What is told of a rank.
struct News {
  double load;
  double bytes;
  Rank rank;
  std::uint32_t unused = 0;
};

struct Loads {
  double sum;
  double max;
};

/// What one rank has heard in this iteration.
class Heard {
 public:
  explicit Heard(std::uint32_t rank_count) : is_known_(rank_count) {}

  void hear(const News& news) {
    if (!is_known_[news.rank.value()]) {
      is_known_[news.rank.value()] = true;
      all.push_back(news);
    }
  }

  std::vector<News> all;

 private:
  std::vector<bool> is_known_;
};

std::vector<Mail> told(std::span<const News> news, std::uint32_t fanout, const Rounds& rounds, Random& random) {
  std::vector<Mail> out;
  for (std::uint32_t i = 0; i < fanout && !news.empty() && rounds.rank_count() > 1; ++i) {
    const auto peer = static_cast<std::uint32_t>(random.below(rounds.rank_count() - 1));
    out.push_back({Rank{peer + (peer >= rounds.self().value() ? 1 : 0)}, bytes_of(news)});
  }
  return out;
}

/// One rank's side of giving.
class Giving {
 public:
  Giving(const GossipOptions& options, double mean, double memory_max, std::vector<News> known)
      : options_{options}, mean_{mean}, memory_max_{memory_max}, known_{std::move(known)} {}

  /// Takes what it gives out of `tokens`.
  [[nodiscard]] std::map<Rank, std::vector<Token>> give(double load, std::vector<Token>& tokens, Random& random) {
    std::map<Rank, std::vector<Token>> given;
    sort(load - mean_, tokens);
    std::vector<Token> kept;
    for (const Token& token : tokens) {
      const std::size_t place = load > mean_ ? pick(random) : known_.size();
      if (place < known_.size() && may_take(known_[place], token, load)) {
        known_[place].load += token.load;
        known_[place].bytes += token.bytes;
        load -= token.load;
        given[known_[place].rank].push_back(token);
      } else {
        kept.push_back(token);
      }
    }
    tokens = std::move(kept);
    return given;
  }

 private:
  [[nodiscard]] bool may_take(const News& other, const Token& token, double load) const {
    if (other.bytes + token.bytes > memory_max_) {
      return false;
    }
    return options_.criterion == GossipOptions::Criterion::modified ? token.load < load - other.load
                                                                    : token.load + other.load < mean_;
  }

  /// One that is known, the likelier the more it lacks of the mean, or of the most that is known if that is more.
  [[nodiscard]] std::size_t pick(Random& random) const {
    double most = mean_;
    for (const News& one : known_) {
      most = std::max(most, one.load);
    }
    double sum = 0;
    for (const News& one : known_) {
      sum += most - one.load;
    }
    double left = random.unit() * sum;
    for (std::size_t i = 0; i < known_.size() && sum > 0; ++i) {
      left -= most - known_[i].load;
      if (left < 0) {
        return i;
      }
    }
    return known_.size();
  }

  void sort(double excess, std::vector<Token>& tokens) const {
    if (options_.order == GossipOptions::Order::given) {
      return;
    }
    std::ranges::sort(tokens, detail::before_token);
    if (options_.order == GossipOptions::Order::lightest) {
      std::ranges::reverse(tokens);
    }
    if (options_.order ==
        GossipOptions::Order::fewest) {  // the lightest that is enough, lighter ones, then heavier ones
      const auto lighter = std::ranges::partition_point(tokens, [&](const Token& one) { return one.load >= excess; });
      std::reverse(tokens.begin(), lighter);
      if (lighter != tokens.begin()) {
        std::rotate(tokens.begin() + 1, lighter, tokens.end());
      }
    }
  }

  const GossipOptions& options_;
  double mean_;
  double memory_max_;
  std::vector<News> known_;
};

double bytes_held(const detail::Holding& holding) {
  double bytes = holding.side.bytes;
  for (const Token& token : holding.tokens) {
    bytes += token.bytes;
  }
  return bytes;
}

/// Takes what has come as far as there is room; what has no room goes back.
std::vector<Mail> taken(detail::Holding& holding, const std::vector<Mail>& inbox) {
  double bytes = bytes_held(holding);
  std::vector<Mail> back;
  for (const Mail& mail : inbox) {
    std::vector<Token> refused;
    for (const Token& token : values_of<Token>(mail.bytes)) {
      const bool has_room = bytes + token.bytes <= holding.side.bytes_max;
      bytes += has_room ? token.bytes : 0;
      (has_room ? holding.tokens : refused).push_back(token);
    }
    if (!refused.empty()) {
      back.push_back({mail.peer, bytes_of(std::span<const Token>{refused})});
    }
  }
  return back;
}

/// Telling and giving once.
Steps<bool> iterate(Rounds& rounds, detail::Holding& holding, GossipOptions options, Random& random, Loads loads) {
  const double mean = loads.sum / rounds.rank_count();
  const double load = holding.load();
  Heard heard{rounds.rank_count()};
  std::size_t told_count = 0;
  if (load < mean) {
    heard.hear({load, bytes_held(holding), rounds.self()});
  }
  for (std::uint32_t round = 0; round < options.rounds; ++round) {
    const std::span<const News> fresh = std::span<const News>{heard.all}.subspan(told_count);
    std::vector<Mail> out = told(fresh, options.fanout, rounds, random);
    told_count = heard.all.size();
    const std::vector<Mail> inbox = co_await rounds.exchange_unknown(std::move(out));
    for (const Mail& mail : inbox) {
      for (const News& news : values_of<News>(mail.bytes)) {
        heard.hear(news);
      }
    }
  }
  std::vector<Mail> out;
  if (load > mean) {
    Giving giving{options, mean, holding.side.bytes_max, std::move(heard.all)};
    for (const auto& [rank, tokens] : giving.give(load, holding.tokens, random)) {
      out.push_back({rank, bytes_of(std::span<const Token>{tokens})});
    }
  }
  const std::vector<Mail> given = co_await rounds.exchange_unknown(std::move(out));
  std::vector<Mail> back = taken(holding, given);
  if (std::isfinite(holding.side.bytes_max)) {
    const std::vector<Mail> returned = co_await rounds.exchange_unknown(std::move(back));
    for (const Mail& mail : returned) {
      for (const Token& token : values_of<Token>(mail.bytes)) {
        holding.tokens.push_back(token);
      }
    }
  }
  co_return true;
}

Steps<Loads> agree(Rounds& rounds, double load) {
  const Loads all = co_await detail::all_reduce(rounds, Loads{load, load}, [](const Loads& one, const Loads& other) {
    return Loads{one.sum + other.sum, std::max(one.max, other.max)};
  });
  co_return all;
}

/// The published defaults, where nothing is said.
GossipOptions with_defaults(GossipOptions options, std::uint32_t rank_count) {
  const double ranks = std::max(2.0, static_cast<double>(rank_count));
  if (options.rounds == 0) {
    options.rounds = static_cast<std::uint32_t>(std::lround(std::sqrt(std::log2(ranks))));
  }
  if (options.fanout == 0) {
    options.fanout = static_cast<std::uint32_t>(std::ceil(std::pow(ranks, 1.0 / options.rounds) - 1e-9));
  }
  return options;
}

}  // namespace

Gossip::Gossip(Settings& settings) {
  options_.fanout = settings.count("fanout", options_.fanout);
  options_.rounds = settings.count("rounds", options_.rounds);
  options_.iterations = settings.count("iterations", options_.iterations, 1);
  options_.criterion = static_cast<GossipOptions::Criterion>(settings.choice("criterion", criteria));
  options_.order = static_cast<GossipOptions::Order>(settings.choice("order", orders));
  options_.seed = settings.count("seed", 1);
}

std::string Gossip::name() const {
  return fmt::format("gossip:fanout={},rounds={},iterations={},criterion={},order={},seed={}",
                     options_.fanout,
                     options_.rounds,
                     options_.iterations,
                     criteria[static_cast<std::size_t>(options_.criterion)],
                     orders[static_cast<std::size_t>(options_.order)],
                     options_.seed);
}

Steps<Placement> Gossip::part(Rounds& rounds, LocalProblem problem) const {
  const GossipOptions options = with_defaults(options_, rounds.rank_count());
  detail::Holding holding{rounds.self(), problem};
  Random random{options.seed + 0x9E37'79B9ULL * (rounds.self().value() + 1)};
  Loads now = co_await agree(rounds, holding.load());
  Loads best = now;
  std::vector<Token> best_tokens = holding.tokens;
  for (std::uint32_t iteration = 0; iteration < options.iterations; ++iteration) {
    const bool is_done = co_await iterate(rounds, holding, options, random, now);
    (void)is_done;
    now = co_await agree(rounds, holding.load());
    if (now.max < best.max) {
      best = now;
      best_tokens = holding.tokens;
    }
  }
  holding.tokens = std::move(best_tokens);
  const Placement placement = co_await detail::settle(rounds, holding, problem);
  co_return placement;
}

}  // namespace plait::data::balance
