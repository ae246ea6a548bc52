// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/enlarge.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plait/replay/change.hpp"
#include "plait/replay/detail/larger_collectives.hpp"
#include "plait/replay/detail/places.hpp"
#include "plait/replay/detail/replica_layout.hpp"
#include "plait/replay/fold.hpp"

namespace plait::replay {
namespace {

using detail::Place;
using detail::ReplicaLayout;
using detail::StepCode;

/// One of the steps that a recorded send or receive stands for.
struct Way {
  StepCode step = 0;
  std::uint32_t number = 0;  ///< Of the messages of this step that its rank sends, or receives.
};

/// The messages of the record, as steps.
struct Steps {
  std::map<Place, std::vector<Way>> ways;  ///< Of sends and receives.
  /// Bytes of the messages of each step that a recorded rank sends, and the number of those that it receives.
  std::map<std::pair<std::uint32_t, StepCode>, std::vector<std::uint64_t>> sent;
  std::map<std::pair<std::uint32_t, StepCode>, std::uint32_t> received;
  std::uint64_t all = 0;
  std::uint64_t far = 0;
  std::uint64_t one_way = 0;  ///< Between two ranks of which the other sends none back.
};

/// Numbers the tags of the messages of one pair of ranks, and the messages of one tag.
class Sides {
 public:
  Sides(const Schedule& schedule, const std::vector<detail::PairOfPlaces>& pairs) : schedule_{schedule} {
    for (const detail::PairOfPlaces& pair : pairs) {
      tags_[ends(pair)].insert(tag(pair));
    }
  }
  /// In which half, or quarter, of the messages of its pair a message is.
  [[nodiscard]] std::uint32_t side_of(const detail::PairOfPlaces& pair) {
    const auto& tags = tags_[ends(pair)];
    if (tags.size() > 1) {
      return static_cast<std::uint32_t>(std::distance(tags.begin(), tags.find(tag(pair))));
    }
    return counts_[ends(pair)]++;
  }

 private:
  using Ends = std::pair<std::uint32_t, std::uint32_t>;
  using Tag = std::pair<std::uint32_t, std::uint64_t>;

  [[nodiscard]] static Ends ends(const detail::PairOfPlaces& pair) { return {pair.send.rank, pair.receive.rank}; }
  [[nodiscard]] Tag tag(const detail::PairOfPlaces& pair) const {
    const Operation& send = detail::operation_at(schedule_, pair.send);
    return {send.communicator, send.tag};
  }

  const Schedule& schedule_;
  std::map<Ends, std::set<Tag>> tags_;
  std::map<Ends, std::uint32_t> counts_;
};

Steps steps_of(const Schedule& schedule, ReplicaLayout& layout) {
  Steps steps;
  const std::vector<detail::PairOfPlaces> pairs = detail::pair_operations(schedule);
  Sides sides{schedule, pairs};
  std::set<std::pair<std::uint32_t, std::uint32_t>> ends;
  for (const detail::PairOfPlaces& pair : pairs) {
    ends.emplace(pair.send.rank, pair.receive.rank);
  }
  for (const detail::PairOfPlaces& pair : pairs) {
    ++steps.all;
    steps.one_way += ends.contains({pair.receive.rank, pair.send.rank}) ? 0 : 1;
    bool is_near = true;
    for (const StepCode step : layout.steps_of(pair.send.rank, pair.receive.rank, sides.side_of(pair))) {
      auto& sent = steps.sent[{pair.send.rank, step}];
      std::uint32_t& received = steps.received[{pair.receive.rank, step}];
      steps.ways[pair.send].push_back({step, static_cast<std::uint32_t>(sent.size())});
      steps.ways[pair.receive].push_back({step, received++});
      sent.push_back(detail::operation_at(schedule, pair.send).bytes);
      is_near = is_near && layout.is_to_neighbour(step);
    }
    steps.far += is_near || pair.send.rank == pair.receive.rank ? 0 : 1;
  }
  return steps;
}

/// Writes the streams of the larger exchange.
class Enlarger {
 public:
  Enlarger(const Schedule& schedule, const RankGrid& grid, const Growth& growth, double surface)
      : schedule_{schedule},
        growth_{growth},
        layout_{grid, growth.replicas, static_cast<std::uint32_t>(schedule.ranks.size())},
        steps_{replay::steps_of(schedule, layout_)},
        collectives_{schedule, grid, layout_, growth.volume} {
    const double of_all = grid.is_all_to_all() ? growth.volume / layout_.replica_count() : surface;
    for (StepCode step = 0; step < layout_.step_count(); ++step) {
      factors_.push_back(layout_.is_to_neighbour(step) ? of_all : 1);
    }
  }

  [[nodiscard]] Schedule run() {
    Schedule larger;
    larger.length = schedule_.length;
    larger.notices = schedule_.notices;
    larger.ranks.reserve(layout_.rank_count());
    for (std::uint32_t rank = 0; rank < layout_.rank_count(); ++rank) {
      find_ends(rank);
      const std::uint32_t model = layout_.model_of(rank);
      RankSchedule& made = larger.ranks.emplace_back();
      std::vector<std::vector<std::uint32_t>> numbers;
      for (std::uint32_t stream = 0; stream < schedule_.ranks[model].streams.size(); ++stream) {
        made.streams.push_back(enlarged_stream({model, stream, 0}, rank, numbers.emplace_back()));
      }
      detail::renumber_points(made, numbers);
    }
    larger.communicators = collectives_.communicators();
    return larger;
  }

  [[nodiscard]] const Steps& steps() const noexcept { return steps_; }
  [[nodiscard]] std::uint64_t unmatched() const noexcept { return unmatched_; }
  [[nodiscard]] std::vector<std::string> collective_notices() const { return collectives_.notices(); }

 private:
  void find_ends(std::uint32_t rank) {
    ends_.clear();
    starts_.clear();
    for (StepCode step = 0; step < layout_.step_count(); ++step) {
      ends_.push_back(layout_.ends_of(step, rank));
      starts_.push_back(layout_.starts_of(step, rank));
    }
  }

  /// A stream under way.
  struct Making {
    const Stream& recorded;
    std::uint32_t rank = 0;
    Stream stream{};
    /// First and last + 1 of what each recorded operation became.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> became{};
  };

  /// `last_numbers`: of each recorded operation, the last of those that it became, or of those before it.
  [[nodiscard]] Stream enlarged_stream(const Place& begin,
                                       std::uint32_t rank,
                                       std::vector<std::uint32_t>& last_numbers) {
    Making making{.recorded = detail::stream_at(schedule_, begin), .rank = rank};
    making.stream.name = making.recorded.name;
    making.stream.others = making.recorded.others;
    Place place = begin;
    for (const Operation& operation : making.recorded.operations) {
      const auto first = static_cast<std::uint32_t>(making.stream.operations.size());
      add(operation, place, making);
      const auto last = static_cast<std::uint32_t>(making.stream.operations.size());
      making.became.emplace_back(first, last);
      last_numbers.push_back(std::max(last, 1U) - 1);
      ++place.operation;
    }
    return std::move(making.stream);
  }

  void add(Operation operation, const Place& place, Making& making) {
    switch (operation.action) {
      case Action::compute:
        operation.took = nanoseconds{std::llround(static_cast<double>(operation.took.count()) * growth_.volume)};
        making.stream.operations.push_back(operation);
        break;
      case Action::poll:
      case Action::after:
        making.stream.operations.push_back(operation);
        break;
      case Action::send:
      case Action::receive:
        add_messages(operation, place, making.rank, making.stream);
        break;
      case Action::collective:
        collectives_.add(operation, making.recorded, making.rank, making.stream);
        break;
      case Action::wait:
        add_wait(operation, making);
        break;
    }
  }

  static void add_wait(Operation operation, Making& making) {
    std::vector<std::uint32_t>& waited = making.stream.waited;
    const auto first = static_cast<std::uint32_t>(waited.size());
    for (std::uint32_t i = 0; i < operation.count; ++i) {
      const auto [begin, end] = making.became[making.recorded.waited[operation.first + i]];
      for (std::uint32_t one = begin; one < end; ++one) {
        waited.push_back(one);
      }
    }
    operation.first = first;
    operation.count = static_cast<std::uint32_t>(waited.size()) - first;
    operation.action = operation.count == 0 ? Action::poll : Action::wait;
    making.stream.operations.push_back(operation);
  }

  void add_messages(Operation operation, const Place& place, std::uint32_t rank, Stream& made) {
    const auto known = steps_.ways.find(place);
    if (known == steps_.ways.end()) {
      ++unmatched_;
      return;
    }
    const bool sends = operation.action == Action::send;
    for (const Way& way : known->second) {
      for (const std::uint32_t peer : (sends ? ends_ : starts_)[way.step]) {
        const auto sent = steps_.sent.find({layout_.model_of(sends ? rank : peer), way.step});
        const auto received = steps_.received.find({layout_.model_of(sends ? peer : rank), way.step});
        if (sent == steps_.sent.end() || way.number >= sent->second.size() || received == steps_.received.end() ||
            way.number >= received->second) {
          ++unmatched_;
          continue;
        }
        operation.peer = peer;
        operation.communicator = 0;
        operation.tag = std::uint64_t{way.number} * layout_.step_count() + way.step;
        operation.bytes = scaled_bytes(sent->second[way.number], factors_[way.step]);
        made.operations.push_back(operation);
      }
    }
  }

  const Schedule& schedule_;
  const Growth& growth_;
  ReplicaLayout layout_;
  Steps steps_;
  detail::LargerCollectives collectives_;
  std::vector<double> factors_;                   ///< Of bytes, by step.
  std::vector<std::vector<std::uint32_t>> ends_;  ///< Of the present rank, by step.
  std::vector<std::vector<std::uint32_t>> starts_;
  std::uint64_t unmatched_ = 0;
};

/// Whether messages between two ranks go to both sides of each.
bool goes_both_ways(const RankGrid& grid, const Growth& growth) {
  for (std::size_t i = 0; i < grid.dimensions.size(); ++i) {
    if (grid.dimensions[i].size == 2 && !grid.dimensions[i].alternates && growth.replicas[i] > 1) {
      return true;
    }
  }
  return false;
}

std::string growth_text(const RankGrid& grid, const Growth& growth, std::uint32_t dimension, double surface) {
  std::string text;
  const RankGrid larger = enlarged(grid, growth.replicas);
  const std::uint32_t copies = std::accumulate(growth.replicas.begin(), growth.replicas.end(), 1U, std::multiplies<>{});
  if (copies > 1) {
    text = grid.is_all_to_all() ? fmt::format("all-to-all, {} times the ranks", copies)
                                : fmt::format("{} becomes {}", grid.text(), larger.text());
  }
  if (growth.volume != 1) {
    text += fmt::format(
        "{}computing of a rank x{:.3g}, all-to-alls x{:.3g}", text.empty() ? "" : "; ", growth.volume, growth.volume);
    if (!grid.is_all_to_all()) {
      text += fmt::format(", messages to neighbours x{:.3g} (surface in {} dimension{}), collectives as they are",
                          surface,
                          dimension,
                          dimension == 1 ? "" : "s");
    }
  }
  return text;
}

}  // namespace

Result<std::vector<std::uint32_t>> copies_along(const RankGrid& grid, std::uint32_t copies) {
  if (grid.is_all_to_all()) {
    return std::vector{copies};
  }
  std::vector<std::uint32_t> found(grid.dimensions.size(), 1);
  if (copies > 1 && grid.cut_dimensions() == 0) {
    return Error{ErrorCode::bad_argument, "a grid of one rank has no neighbours to join copies at; record 2 ranks"};
  }
  std::vector<std::uint32_t> primes;
  for (std::uint32_t prime = 2; copies > 1; ++prime) {
    for (; copies % prime == 0; copies /= prime) {
      primes.push_back(prime);
    }
    if (std::uint64_t{prime} * prime > copies && copies > 1) {
      primes.push_back(std::exchange(copies, 1U));
    }
  }
  for (auto prime = primes.rbegin(); prime != primes.rend(); ++prime) {
    std::size_t least = grid.dimensions.size();
    for (std::size_t i = 0; i < grid.dimensions.size(); ++i) {
      const auto size = [&](std::size_t of) { return grid.dimensions[of].size * found[of]; };
      if (grid.dimensions[i].size > 1 && (least == grid.dimensions.size() || size(i) < size(least))) {
        least = i;
      }
    }
    found[least] *= *prime;
  }
  return found;
}

RankGrid enlarged(const RankGrid& grid, const std::vector<std::uint32_t>& replicas) {
  RankGrid larger = grid;
  for (std::size_t i = 0; i < std::min(replicas.size(), larger.dimensions.size()); ++i) {
    larger.dimensions[i].size *= replicas[i];
    larger.dimensions[i].alternates = larger.dimensions[i].alternates && replicas[i] == 1;
  }
  return larger;
}

Result<Schedule> enlarge(const Schedule& schedule, const RankGrid& grid, const Growth& growth) {
  Growth full = growth;
  const std::size_t dimensions = grid.is_all_to_all() ? 1 : grid.dimensions.size();
  if (full.replicas.empty()) {
    full.replicas.assign(dimensions, 1);
  }
  std::uint64_t ranks = schedule.ranks.size();
  for (const std::uint32_t copies : full.replicas) {
    ranks = copies == 0 || ranks > copied_ranks_max ? copied_ranks_max + 1 : ranks * copies;
  }
  if (full.replicas.size() != dimensions || ranks > copied_ranks_max || ranks == 0) {
    return Error{
        ErrorCode::bad_argument,
        fmt::format("{} copies of {} ranks in {}: give a number from 1 on for each dimension; at most {} ranks "
                    "are possible",
                    fmt::join(full.replicas, "x"),
                    schedule.ranks.size(),
                    grid.text(),
                    copied_ranks_max)};
  }
  const std::uint32_t dimension =
      full.dimension > 0 ? full.dimension : std::max<std::uint32_t>(1, grid.cut_dimensions());
  const double surface = std::pow(full.volume, (dimension - 1.0) / dimension);
  Enlarger enlarger{schedule, grid, full, surface};
  Schedule larger = enlarger.run();
  larger.notices.push_back(growth_text(grid, full, dimension, surface));
  const Steps& steps = enlarger.steps();
  if (steps.far > 0) {
    larger.notices.push_back(
        fmt::format("{} of {} recorded messages ({:.1f} %) are to no neighbour: they stay within "
                    "their copy, and keep their size",
                    steps.far,
                    steps.all,
                    100 * static_cast<double>(steps.far) / static_cast<double>(steps.all)));
  }
  if (steps.one_way > 0 && goes_both_ways(grid, full)) {
    larger.notices.push_back(
        fmt::format("{} recorded messages go one way between the two ranks of a dimension; they go to both sides now, "
                    "as two ranks cannot show a chain: record three of them",
                    steps.one_way));
  }
  if (enlarger.unmatched() > 0) {
    larger.notices.push_back(
        fmt::format("{} sends and receives of the larger exchange are left out, as they have no counterpart",
                    enlarger.unmatched()));
  }
  for (const std::string& notice : enlarger.collective_notices()) {
    larger.notices.push_back(notice);
  }
  return larger;
}

}  // namespace plait::replay
