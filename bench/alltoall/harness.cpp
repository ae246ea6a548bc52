// SPDX-License-Identifier: Apache-2.0
#include "alltoall/harness.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "plait/plait.hpp"

#include "alltoall/pattern.hpp"
#include "support/stopwatch.hpp"

namespace alltoall {

namespace {

constexpr int warm_up_rounds = 2;
constexpr std::size_t turns_min = 3;
constexpr int calibrations = 40;
constexpr double calibration_seconds_max = 3;

/// As square as the number of ranks allows, with rows at least as long as columns: 1 x 2, 2 x 2, 2 x 3.
plait::comm::GroupGrid squarest(std::uint32_t ranks) {
  plait::comm::GroupGrid grid{1, ranks};
  for (std::uint32_t rows = 1; rows * rows <= ranks; ++rows) {
    if (ranks % rows == 0) {
      grid = {rows, ranks / rows};
    }
  }
  return grid;
}

plait::comm::GroupGrid grid_for(const Options& options, std::size_t rank_count) {
  const auto ranks = static_cast<std::uint32_t>(rank_count);
  const plait::comm::GroupGrid grid = options.grid.value_or(squarest(ranks));
  if (grid.rows * grid.columns != ranks) {
    throw plait::Error{plait::ErrorCode::bad_input,
                       fmt::format("a grid of {}x{} has {} ranks, not {}: start as many, or give another --grid",
                                   grid.rows,
                                   grid.columns,
                                   grid.rows * grid.columns,
                                   ranks)};
  }
  return grid;
}

}  // namespace

Harness::Harness(const Options& options, plait::Runtime& runtime)
    : options_{options},
      runtime_{runtime},
      grid_{grid_for(options, runtime.rank_count())},
      links_{[this] {
        const auto held = calls();
        return bench::LinkMeter{};
      }()},
      work_{options.work} {
  for (const Direction direction : directions) {
    lanes_.push_back(make_lane(direction));
  }
  choose_variants();
}

/// Rows have consecutive ranks, so that a row can have a node to itself.
Harness::Lane Harness::make_lane(Direction direction) {
  plait::comm::Endpoint& net = runtime_.messages();
  const bool is_row = direction == Direction::row;
  Lane lane{{&runtime_, is_row ? plait::comm::row_group(net, grid_) : plait::comm::column_group(net, grid_)}};
  const std::uint32_t self = runtime_.self().value();
  const auto color = static_cast<int>(is_row ? self / grid_.columns : self % grid_.columns);
  const auto held = calls();
  MPI_Comm members = MPI_COMM_NULL;
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, color, 0, &members);
  MPI_Comm_split_type(members, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int on_node = 0;
  MPI_Comm_size(node, &on_node);
  MPI_Comm_free(&node);
  MPI_Comm_free(&members);
  lane.on_node = static_cast<std::size_t>(on_node);
  auto leaving = static_cast<unsigned long>(lane.site.group.size() - lane.on_node);
  MPI_Allreduce(MPI_IN_PLACE, &leaving, 1, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD);
  lane.leaving = leaving;
  lane.site.is_on_one_node = lane.on_node == lane.site.group.size();
  return lane;
}

/// The requested variants with their twins, and MPI, with which all are compared.
void Harness::choose_variants() {
  std::vector<std::string> wanted = options_.variants;
  for (plait::fft::Variant& variant : variants()) {
    if (std::ranges::find(options_.variants, variant.name) != options_.variants.end()) {
      wanted.push_back(variant.twin);
    }
  }
  for (const plait::fft::Variant& variant : variants()) {
    if (variants_.empty() || options_.variants.empty() || std::ranges::find(wanted, variant.name) != wanted.end()) {
      variants_.push_back({.of = variant});
    }
  }
}

std::vector<std::string> Harness::description() const {
  std::vector<std::string> sentences{fmt::format("grid {}x{}; work: {}, {} of the blocking all-to-all{}",
                                                 grid_.rows,
                                                 grid_.columns,
                                                 options_.work == WorkKind::sincos ? "sincos" : "stream",
                                                 options_.work_fraction,
                                                 options_.has_barriers ? "" : ", no barriers")};
  for (const Direction direction : directions) {
    const Lane& lane = lanes_[index(direction)];
    const std::size_t size = lane.site.group.size();
    sentences.push_back(fmt::format("{}s of {}: {} on one node; of each message to all, {} of {} blocks leave the node",
                                    to_string(direction),
                                    size,
                                    lane.on_node,
                                    size - lane.on_node,
                                    size));
  }
  return sentences;
}

void Harness::prepare(std::size_t block_bytes) {
  block_bytes_ = block_bytes;
  std::erase_if(variants_, [&](Variant& variant) {
    variant = {.of = variant.of};
    try {
      for (const Direction direction : directions_used()) {
        variant.subjects[index(direction)] =
            make_subject(variant.of, lanes_[index(direction)].site, options_.settings, block_bytes);
      }
      return false;
    } catch (const plait::Error& error) {
      if (error.code() != plait::ErrorCode::network) {
        throw;
      }
      left_out_.push_back(fmt::format("{} is left out: {}", variant.of.name, error.what()));
      return true;
    }
  });
}

SizeMeasured Harness::measure(std::size_t block_bytes) {
  SizeMeasured result{.block_bytes = block_bytes};
  prepare(block_bytes);
  for (const Direction direction : directions_used()) {
    lanes_[index(direction)].work_units = calibrated(best_blocking(direction) * options_.work_fraction);
  }
  for (Variant& variant : variants_) {
    warm_up(variant);
    result.variants.push_back({.name = variant.of.name, .twin = variant.of.twin});
  }
  const Watch watch = [&] {
    const auto held = calls();
    return Watch{MPI_COMM_WORLD};
  }();
  for (std::size_t turn = 0; turn < options_.turns; ++turn) {
    for (std::size_t i = 0; i < variants_.size(); ++i) {
      if (!variants_[i].is_over) {
        take_turn(variants_[i], result.variants[i]);
      }
      variants_[i].is_over = turn + 1 >= turns_min && variants_[i].seconds > options_.seconds_max;
    }
  }
  {
    const auto held = calls();
    result.disturbance = watch.disturbance();
  }
  leave_out_those_beside_the_links(result);
  if (!std::isfinite(work_.result())) {
    throw plait::Error{plait::ErrorCode::user_task, "the result of the work is not finite"};
  }
  return result;
}

void Harness::leave_out_those_beside_the_links(SizeMeasured& measured) {
  for (const Variant& variant : variants_) {
    if (!variant.crossing.is_whole()) {
      left_out_.push_back(variant.crossing.why_left_out(variant.of.name, block_bytes_));
      std::erase_if(measured.variants, [&](const Measured& one) { return one.name == variant.of.name; });
    }
  }
}

/// Seconds of the fastest blocking all-to-all without work, on the slowest rank.
double Harness::best_blocking(Direction direction) {
  lanes_[index(direction)].work_units = 0;
  double best = std::numeric_limits<double>::infinity();
  double spent = 0;
  for (int round = 0; round < warm_up_rounds + calibrations && spent < calibration_seconds_max; ++round) {
    std::vector<double> seconds{iterate(variants_.front(), direction).total};
    maximum_over_ranks(seconds);
    spent += seconds[0];
    best = round < warm_up_rounds ? best : std::min(best, seconds[0]);
  }
  return std::isfinite(best) ? best : spent;
}

/// How many units of work take `seconds` on the slowest rank, when all ranks work at once and nothing disturbs them.
std::uint64_t Harness::calibrated(double seconds) {
  constexpr std::uint64_t units_at_first = 1000;
  constexpr int refinements = 3;  // units differ: the last one times those that will run
  constexpr int repetitions = 7;
  std::uint64_t units = units_at_first;
  for (int refinement = 0; refinement < refinements; ++refinement) {
    work_.set_units(units);
    double best = std::numeric_limits<double>::infinity();
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      wait_for_all();
      work_.run_all();
      best = std::min(best, work_.take_seconds());
    }
    std::vector<double> a_unit{best / static_cast<double>(units)};
    maximum_over_ranks(a_unit);
    units = units_that_take(seconds, a_unit[0]);
  }
  return units;
}

void Harness::warm_up(Variant& variant) {
  std::vector<double> seconds(1);
  for (int round = 0; round < warm_up_rounds; ++round) {
    seconds[0] = 0;
    for (const Direction direction : directions_used()) {
      seconds[0] += iterate(variant, direction).total;
    }
  }
  maximum_over_ranks(seconds);
  const double affordable = options_.seconds_max / static_cast<double>(options_.turns) / seconds[0];
  variant.iterations_a_turn =
      static_cast<std::size_t>(std::clamp(affordable, 1.0, static_cast<double>(options_.iterations)));
}

void Harness::take_turn(Variant& variant, Measured& measured) {
  std::array<std::vector<double>, directions.size()> all_totals;
  std::array<std::vector<double>, directions.size()> all_works;
  {
    const auto held = calls();
    links_.start();
  }
  for (std::size_t i = 0; i < variant.iterations_a_turn; ++i) {
    for (const Direction direction : directions_used()) {
      const Turn once = iterate(variant, direction);
      all_totals[index(direction)].push_back(once.total);
      all_works[index(direction)].push_back(once.work);
    }
  }
  {
    std::size_t blocks = 0;
    for (const Direction direction : directions_used()) {
      blocks += lanes_[index(direction)].leaving;
    }
    const auto held = calls();
    links_.stop(static_cast<double>(variant.iterations_a_turn * blocks * block_bytes_), variant.crossing);
  }
  for (const Direction direction : directions_used()) {
    std::vector<double>& totals = all_totals[index(direction)];
    std::vector<double>& works = all_works[index(direction)];
    maximum_over_ranks(totals);
    maximum_over_ranks(works);
    variant.seconds += std::accumulate(totals.begin(), totals.end(), 0.0);
    Turn& best = measured.best[index(direction)];
    std::vector<Turn>& turns = measured.turns[index(direction)];
    const Turn now{std::ranges::min(totals), std::ranges::min(works)};
    best = turns.empty() ? now : Turn{std::min(best.total, now.total), std::min(best.work, now.work)};
    turns.push_back({bench::median(totals), bench::median(works)});
  }
}

/// Returns what one all-to-all with its work takes on this rank.
Turn Harness::iterate(const Variant& variant, Direction direction) {
  const Lane& lane = lanes_[index(direction)];
  Subject& subject = *variant.subjects[index(direction)];
  ++iteration_;
  const auto self = static_cast<std::uint32_t>(lane.site.group.self());
  for (std::uint32_t rank = 0; rank < lane.site.group.size(); ++rank) {
    fill(subject.to(rank), {self, rank, iteration_});
  }
  work_.set_units(lane.work_units);
  (void)work_.take_seconds();
  if (options_.has_barriers) {
    wait_for_all();
  }
  const bench::Stopwatch watch;
  subject.run(work_);
  const Turn turn{watch.seconds(), work_.take_seconds()};
  check(variant, direction);
  return turn;
}

void Harness::check(const Variant& variant, Direction direction) const {
  const plait::comm::Group& group = lanes_[index(direction)].site.group;
  const auto self = static_cast<std::uint32_t>(group.self());
  for (std::uint32_t rank = 0; rank < group.size(); ++rank) {
    if (const auto wrong = find_wrong(variant.subjects[index(direction)]->from(rank), {rank, self, iteration_})) {
      throw plait::Error{plait::ErrorCode::user_task,
                         fmt::format("{} gave a wrong result at {} bytes, in the {} group: {}",
                                     variant.of.name,
                                     block_bytes_,
                                     to_string(direction),
                                     *wrong)};
    }
  }
}

std::unique_lock<plait::SpinLock> Harness::calls() const {
  runtime_.messages().flush();
  return runtime_.messages().hold();
}

void Harness::wait_for_all() const {
  const auto held = calls();
  MPI_Barrier(MPI_COMM_WORLD);
}

void Harness::maximum_over_ranks(std::vector<double>& values) const {
  const auto held = calls();
  MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
}

}  // namespace alltoall
