// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/synthetic.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plait/base/random.hpp"
#include "plait/replay/detail/description.hpp"
#include "plait/replay/detail/stream_builder.hpp"

namespace plait::replay {
namespace {

constexpr std::uint64_t ranks_max = 1U << 20U;
constexpr std::uint64_t messages_max = 200'000'000;

enum class Pattern : std::uint8_t { halo, nearest, all_to_all, multicast, random, few_large };
constexpr std::array<std::string_view, 6> pattern_names{
    "halo", "nearest", "all-to-all", "multicast", "random", "few-large"};

enum class Distribution : std::uint8_t { fixed, exponential, lognormal };
constexpr std::array<std::string_view, 3> distribution_names{"fixed", "exponential", "lognormal"};

struct Description {
  Pattern pattern = Pattern::random;
  std::uint64_t ranks = 4;
  std::optional<std::uint64_t> pairs;
  std::optional<std::uint64_t> mean;
  std::optional<Distribution> distribution;
  double sigma = 1;
  std::uint64_t steps = 1;
  nanoseconds compute{};
  nanoseconds overlap{};
  std::uint64_t seed = 1;
};

/// Sender and receiver of messages.
struct Pair {
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  friend auto operator<=>(const Pair&, const Pair&) = default;
};

template <class Value, std::size_t count>
auto one_of(const std::array<std::string_view, count>& names) {
  return [&names](std::string_view text) -> std::optional<Value> {
    const auto found = std::ranges::find(names, text);
    return found == names.end() ? std::nullopt : std::optional{static_cast<Value>(found - names.begin())};
  };
}

auto count_up_to(std::uint64_t least, std::uint64_t largest) {
  return [least, largest](std::string_view text) {
    const std::optional<std::uint64_t> count = detail::parse_count(text, largest);
    return count && *count >= least ? count : std::nullopt;
  };
}

Result<Description> parse(std::string_view text) {
  auto pairs = detail::parse_pairs(text);
  if (!pairs) {
    return pairs.error();
  }
  Description description;
  std::optional<Error> trouble;  // the first
  std::vector<std::string_view> keys;
  const auto take = [&](std::string_view key, auto& value, const auto& parse, std::string_view possible) {
    keys.push_back(key);
    const auto given = pairs.value().extract(std::string{key});
    if (given.empty() || trouble) {
      return;
    }
    if (const auto read = parse(given.mapped())) {
      value = *read;
    } else {
      trouble = Error{ErrorCode::bad_argument, fmt::format("{}={}: give {}", key, given.mapped(), possible)};
    }
  };
  take("pattern",
       description.pattern,
       one_of<Pattern>(pattern_names),
       fmt::format("one of {}", fmt::join(pattern_names, ", ")));
  take("ranks", description.ranks, count_up_to(2, ranks_max), fmt::format("a number from 2 to {}", ranks_max));
  take("pairs",
       description.pairs,
       count_up_to(1, messages_max),
       fmt::format("a number of messages from 1 to {}", messages_max));
  take("mean", description.mean, detail::parse_bytes, "a size such as 800, 6KiB or 1.5MB");
  take("distribution",
       description.distribution,
       one_of<Distribution>(distribution_names),
       fmt::format("one of {}", fmt::join(distribution_names, ", ")));
  take(
      "sigma",
      description.sigma,
      [](std::string_view text_) {
        const std::optional<double> number = detail::parse_number(text_);
        return number && *number <= 4 ? number : std::nullopt;
      },
      "the width of the lognormal distribution, from 0 to 4");
  take("steps", description.steps, count_up_to(1, messages_max), "a number of steps from 1 on");
  take("compute", description.compute, detail::parse_time, "a time such as 800us or 2ms");
  take("overlap", description.overlap, detail::parse_time, "a time such as 800us or 2ms");
  take("seed", description.seed, count_up_to(0, UINT64_MAX), "a whole number");
  if (!pairs.value().empty()) {
    return Error{
        ErrorCode::bad_argument,
        fmt::format(
            "'{}' is not a key of an exchange; the keys are {}", pairs.value().begin()->first, fmt::join(keys, ", "))};
  }
  return trouble ? Result<Description>{*trouble} : description;
}

/// Three factors of `ranks`, as equal as possible.
std::array<std::uint32_t, 3> near_cube(std::uint32_t ranks) {
  std::array<std::uint32_t, 3> best{ranks, 1, 1};
  for (std::uint32_t a = 1; std::uint64_t{a} * a * a <= ranks; ++a) {
    if (ranks % a != 0) {
      continue;
    }
    const std::uint32_t rest = ranks / a;
    for (auto b = static_cast<std::uint32_t>(std::sqrt(static_cast<double>(rest))); b >= a; --b) {
      if (rest % b == 0) {
        best = {rest / b, b, a};
        break;
      }
    }
  }
  return best;
}

/// Both directions between each rank and its neighbours in a periodic grid of three dimensions.
std::vector<Pair> halo_pairs(std::uint32_t ranks) {
  const auto [nx, ny, nz] = near_cube(ranks);
  std::vector<Pair> pairs;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const std::uint32_t x = rank % nx;
    const std::uint32_t y = rank / nx % ny;
    const std::uint32_t z = rank / nx / ny;
    std::set<std::uint32_t> neighbours;
    for (std::uint32_t d = 0; d < 27; ++d) {
      const std::uint32_t at_x = (x + nx + d % 3 - 1) % nx;
      const std::uint32_t at_y = (y + ny + d / 3 % 3 - 1) % ny;
      const std::uint32_t at_z = (z + nz + d / 9 - 1) % nz;
      neighbours.insert((at_z * ny + at_y) * nx + at_x);
    }
    neighbours.erase(rank);
    for (const std::uint32_t neighbour : neighbours) {
      pairs.push_back({rank, neighbour});
    }
  }
  return pairs;
}

/// The pairs that exchange messages in a step.
std::vector<Pair> pairs_of(const Description& description, std::uint64_t step, Random& random) {
  const auto ranks = static_cast<std::uint32_t>(description.ranks);
  std::vector<Pair> pairs;
  switch (description.pattern) {
    case Pattern::halo:
      return halo_pairs(ranks);
    case Pattern::nearest:
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        pairs.push_back({rank, (rank + 1) % ranks});
        if (ranks > 2) {
          pairs.push_back({rank, (rank + ranks - 1) % ranks});
        }
      }
      return pairs;
    case Pattern::all_to_all:
      for (std::uint32_t distance = 1; distance < ranks; ++distance) {
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
          pairs.push_back({rank, (rank + distance) % ranks});
        }
      }
      return pairs;
    case Pattern::multicast: {
      const auto root = static_cast<std::uint32_t>(step % ranks);
      for (std::uint32_t distance = 1; distance < ranks; ++distance) {
        pairs.push_back({root, (root + distance) % ranks});
      }
      return pairs;
    }
    case Pattern::random:
    case Pattern::few_large:
      break;
  }
  const std::uint64_t count = description.pairs.value_or(description.pattern == Pattern::random ? 1000 : 2 * ranks);
  pairs.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto source = static_cast<std::uint32_t>(random.below(ranks));
    const auto distance = static_cast<std::uint32_t>(1 + random.below(ranks - 1));
    pairs.push_back({source, (source + distance) % ranks});
  }
  return pairs;
}

std::uint64_t draw_bytes(const Description& description, Random& random) {
  const bool is_large = description.pattern == Pattern::few_large;
  const auto mean = static_cast<double>(description.mean.value_or(is_large ? 4U << 20U : 8U << 10U));
  double bytes = mean;
  switch (description.distribution.value_or(Distribution::fixed)) {
    case Distribution::fixed:
      break;
    case Distribution::exponential:
      bytes = -mean * std::log1p(-random.unit());
      break;
    case Distribution::lognormal: {  // Box and Muller, "A note on the generation of random normal deviates", 1958
      const double radius = std::sqrt(-2 * std::log1p(-random.unit()));
      const double normal = radius * std::cos(2 * std::numbers::pi * random.unit());
      bytes = mean * std::exp(description.sigma * normal - description.sigma * description.sigma / 2);
      break;
    }
  }
  return static_cast<std::uint64_t>(std::llround(std::min(bytes, 0x1p50)));
}

struct Message {
  Pair pair;
  std::uint64_t tag;
  std::uint64_t bytes;
};

std::vector<Message> draw(const Description& description, std::uint64_t step, Random& random) {
  const std::vector<Pair> pairs = pairs_of(description, step, random);
  const std::uint64_t count = description.pairs.value_or(pairs.size());
  std::vector<Message> messages;
  messages.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    messages.push_back({pairs[i % pairs.size()], i, draw_bytes(description, random)});
  }
  return messages;
}

/// Appends a step to all ranks.
void add_step(const Description& description, std::uint32_t step, Random& random, std::vector<RankSchedule>& ranks) {
  const std::vector<Message> messages = draw(description, step, random);
  const nanoseconds at = (description.compute + description.overlap) * step;
  const nanoseconds posted = at + description.compute;
  std::vector<detail::StreamBuilder> streams;
  for (RankSchedule& rank : ranks) {
    streams.emplace_back(rank.streams.front()).compute(at, description.compute, step);
  }
  for (const Action action : {Action::receive, Action::send}) {
    const bool is_send = action == Action::send;
    for (const Message& message : messages) {
      const auto& [source, destination] = message.pair;
      streams[is_send ? source : destination].begin({.action = action,
                                                     .step = step,
                                                     .peer = is_send ? destination : source,
                                                     .tag = message.tag,
                                                     .bytes = message.bytes,
                                                     .at = posted});
    }
  }
  for (detail::StreamBuilder& stream : streams) {
    stream.compute(posted, description.overlap, step);
    stream.wait_for_the_rest(posted + description.overlap, step);
  }
}

}  // namespace

Result<Schedule> synthetic_schedule(std::string_view text) {
  Result<Description> parsed = parse(text);
  if (!parsed) {
    return parsed.error();
  }
  const Description& description = parsed.value();
  const double of_a_step = description.pairs ? static_cast<double>(*description.pairs)
                           : description.pattern == Pattern::all_to_all
                               ? static_cast<double>(description.ranks) * static_cast<double>(description.ranks - 1)
                               : 26 * static_cast<double>(description.ranks);
  if (of_a_step * static_cast<double>(description.steps) > static_cast<double>(messages_max)) {
    return Error{ErrorCode::bad_argument,
                 fmt::format("the exchange '{}' would have about {:.3g} messages; at most {} are possible: give fewer "
                             "pairs, ranks or steps",
                             text,
                             of_a_step * static_cast<double>(description.steps),
                             messages_max)};
  }
  Schedule schedule;
  schedule.ranks.assign(description.ranks, {.streams = {{.name = "synthetic"}}});
  Random random{description.seed};
  for (std::uint32_t step = 0; step < description.steps; ++step) {
    add_step(description, step, random, schedule.ranks);
  }
  schedule.length = (description.compute + description.overlap) * static_cast<std::int64_t>(description.steps);
  return schedule;
}

Result<std::optional<RankGrid>> synthetic_grid(std::string_view text) {
  Result<Description> parsed = parse(text);
  if (!parsed) {
    return parsed.error();
  }
  const auto ranks = static_cast<std::uint32_t>(parsed.value().ranks);
  RankGrid grid;
  switch (parsed.value().pattern) {
    case Pattern::halo:
      for (const std::uint32_t size : near_cube(ranks)) {
        grid.dimensions.push_back({.size = size, .is_periodic = true});
      }
      return std::optional{grid};
    case Pattern::nearest:
      grid.dimensions.push_back({.size = ranks, .is_periodic = true});
      return std::optional{grid};
    case Pattern::all_to_all:
      return std::optional{grid};
    case Pattern::multicast:
    case Pattern::random:
    case Pattern::few_large:
      break;
  }
  return std::optional<RankGrid>{};
}

std::string synthetic_help() {
  return fmt::format(
      "key=value, separated by commas:\n"
      "  pattern       {} [random]\n"
      "  ranks         how many ranks [4]\n"
      "  pairs         messages of a step, over all ranks [random: 1000, few-large: two a rank, else one a neighbour]\n"
      "  mean          mean size of a message, such as 6KiB [8KiB; few-large: 4MiB]\n"
      "  distribution  of the sizes: {} [fixed]\n"
      "  sigma         width of the lognormal distribution [1]\n"
      "  steps         repetitions of the exchange [1]\n"
      "  compute       computing before each exchange, such as 2ms [0]\n"
      "  overlap       computing between the start of an exchange and the wait for it [0]\n"
      "  seed          seed of the random numbers [1]\n"
      "example: pattern=random,ranks=16,pairs=58000,mean=6KiB,distribution=exponential\n",
      fmt::join(pattern_names, ", "),
      fmt::join(distribution_names, ", "));
}

}  // namespace plait::replay
