// SPDX-License-Identifier: Apache-2.0
#include "alltoall/harness.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "plait/plait.hpp"

#include "alltoall/pattern.hpp"

namespace alltoall {

namespace {

constexpr int warm_up_rounds = 2;  // as the seed
constexpr std::size_t turns_min = 3;
constexpr int calibrations = 40;
constexpr double calibration_seconds_max = 3;

using SteadyTime = std::chrono::steady_clock::time_point;

double seconds_since(SteadyTime start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

GridShape shape_for(const Options& options, int ranks) {
  const GridShape shape = options.grid.value_or(squarest(ranks));
  if (shape.rows * shape.columns != ranks) {
    throw plait::Error{plait::ErrorCode::bad_input,
                       fmt::format("a grid of {}x{} does not hold {} ranks: start {}, or give another --grid",
                                   shape.rows,
                                   shape.columns,
                                   ranks,
                                   shape.rows * shape.columns)};
  }
  return shape;
}

}  // namespace

Harness::Harness(MPI_Comm world, const Options& options, plait::Runtime& runtime)
    : options_{options}, runtime_{runtime}, hold_{runtime.messages().hold()}, work_{options.work} {
  MPI_Comm_dup(world, &world_);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(world_, &rank);
  MPI_Comm_size(world_, &ranks);
  shape_ = shape_for(options, ranks);
  // Rows of consecutive ranks, so that a row can have a node to itself.
  lanes_[index(Direction::row)].group = std::make_unique<Group>(world_, Direction::row, rank / shape_.columns);
  lanes_[index(Direction::column)].group = std::make_unique<Group>(world_, Direction::column, rank % shape_.columns);
  make_families();
}

Harness::~Harness() {
  running_.clear();
  MPI_Comm_free(&world_);
}

bool Harness::is_asked_for(const Member& member) const {
  const auto& names = options_.variants;
  return names.empty() || std::ranges::find(names, member.name) != names.end();
}

bool Harness::is_asked_for(const FamilyEntry& entry) const {
  return std::ranges::any_of(entry.members, [&](const Member& member) { return is_asked_for(member); });
}

void Harness::make_families() {
  std::vector<std::string_view> twins;
  for (const FamilyEntry& entry : families()) {
    for (const Member& member : entry.members) {
      if (is_asked_for(member)) {
        twins.push_back(member.twin);
      }
    }
  }
  const auto is_needed = [&](const Member& member) {
    return is_asked_for(member) || std::ranges::find(twins, member.name) != twins.end();
  };
  for (const FamilyEntry& entry : families()) {
    const bool is_first = &entry == families().data();  // the blocking one: the work is calibrated against it
    if (!is_first && std::ranges::none_of(entry.members, is_needed)) {
      continue;
    }
    Running running{.entry = &entry};
    const std::string reason = make(running);
    for (std::size_t member = 0; member < entry.members.size(); ++member) {
      if (!is_needed(entry.members[member])) {
        continue;
      }
      if (reason.empty()) {
        variants_.push_back({running_.size(), member});
      } else {
        left_out_.push_back(fmt::format("{} is left out: {}", entry.members[member].name, reason));
      }
    }
    if (reason.empty()) {
      running_.push_back(std::move(running));
    }
  }
}

/// The reason why the family cannot run, or nothing. All ranks agree, though only some groups may know the reason.
std::string Harness::make(Running& running) {
  std::string reason;
  for (const Direction direction : directions) {
    if (is_trivial(direction)) {
      continue;
    }
    try {
      running.by_direction[index(direction)] =
          running.entry->make(*lanes_[index(direction)].group, options_.settings, runtime_);
    } catch (const Unavailable& why) {
      reason = fmt::format("{} ({})", why.what(), to_string(direction));
    }
  }
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(world_, &rank);
  MPI_Comm_size(world_, &ranks);
  int knows = reason.empty() ? ranks : rank;
  MPI_Allreduce(MPI_IN_PLACE, &knows, 1, MPI_INT, MPI_MIN, world_);
  if (knows == ranks) {
    return {};
  }
  auto length = static_cast<int>(reason.size());
  MPI_Bcast(&length, 1, MPI_INT, knows, world_);
  reason.resize(static_cast<std::size_t>(length));
  MPI_Bcast(reason.data(), length, MPI_CHAR, knows, world_);
  return reason;
}

void Harness::prepare(std::size_t block_bytes) {
  block_bytes_ = block_bytes;
  for (const Direction direction : directions) {
    Lane& lane = lanes_[index(direction)];
    if (is_trivial(direction)) {
      continue;
    }
    const std::size_t bytes = lane.group->size() * block_bytes;
    // New memory first, so that what was bound to the old buffers is released while these still exist.
    std::vector<std::byte> send(bytes);
    std::vector<std::byte> receive(bytes);
    for (Running& running : running_) {
      running.by_direction[index(direction)]->prepare({send, receive, block_bytes});
    }
    lane.send = std::move(send);
    lane.receive = std::move(receive);
  }
}

SizeMeasured Harness::measure(std::size_t block_bytes) {
  SizeMeasured result{.block_bytes = block_bytes};
  prepare(block_bytes);
  for (const Direction direction : directions) {
    if (!is_trivial(direction)) {
      result.blocking[index(direction)] = best_blocking(direction);
      const std::uint64_t units = calibrated(result.blocking[index(direction)] * options_.work_fraction);
      result.work_units[index(direction)] = units;
      lanes_[index(direction)].work_units = units;
    }
  }
  std::vector<Progress> progress;
  for (const Variant& variant : variants_) {
    progress.push_back(warm_up(variant));
    result.variants.push_back({.variant = member_of(variant)});
  }
  const Watch watch{world_};
  for (std::size_t turn = 0; turn < options_.turns; ++turn) {
    for (std::size_t i = 0; i < variants_.size(); ++i) {
      if (!progress[i].is_over) {
        take_turn(variants_[i], progress[i], result.variants[i]);
      }
      progress[i].is_over = turn + 1 >= turns_min && progress[i].seconds > options_.seconds_max;
    }
  }
  result.disturbance = watch.disturbance();
  if (!std::isfinite(work_.result())) {
    throw plait::Error{plait::ErrorCode::user_task, "the work came to no finite number"};
  }
  return result;
}

/// Seconds of the fastest blocking all-to-all without work, on the slowest rank.
double Harness::best_blocking(Direction direction) {
  lanes_[index(direction)].work_units = 0;
  double best = std::numeric_limits<double>::infinity();
  double spent = 0;
  for (int round = 0; round < warm_up_rounds + calibrations && spent < calibration_seconds_max; ++round) {
    std::vector<double> seconds{iterate({}, direction).total};
    maximum_over_ranks(seconds);
    spent += seconds[0];
    best = round < warm_up_rounds ? best : std::min(best, seconds[0]);
  }
  return std::isfinite(best) ? best : spent;
}

/// How many units of work take so long on the slowest rank, when all work at once and nothing disturbs.
std::uint64_t Harness::calibrated(double seconds) {
  constexpr std::uint64_t units_at_first = 1000;
  constexpr int refinements = 3;  // the units are not all alike: the last one times those that will be run
  constexpr int repetitions = 7;
  std::uint64_t units = units_at_first;
  for (int refinement = 0; refinement < refinements; ++refinement) {
    work_.set_units(units);
    double best = std::numeric_limits<double>::infinity();
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      MPI_Barrier(world_);
      work_.run_all();
      best = std::min(best, work_.take_seconds());
    }
    std::vector<double> a_unit{best / static_cast<double>(units)};
    maximum_over_ranks(a_unit);
    units = units_that_take(seconds, a_unit[0]);
  }
  return units;
}

Harness::Progress Harness::warm_up(const Variant& variant) {
  std::vector<double> seconds(1);
  for (int round = 0; round < warm_up_rounds; ++round) {
    seconds[0] = 0;
    for (const Direction direction : directions) {
      if (!is_trivial(direction)) {
        seconds[0] += iterate(variant, direction).total;
      }
    }
  }
  maximum_over_ranks(seconds);
  const double affordable = options_.seconds_max / static_cast<double>(options_.turns) / seconds[0];
  const auto iterations =
      static_cast<std::size_t>(std::clamp(affordable, 1.0, static_cast<double>(options_.iterations)));
  return {.iterations_a_turn = iterations};
}

void Harness::take_turn(const Variant& variant, Progress& progress, Measured& measured) {
  std::array<std::vector<double>, directions.size()> totals;
  std::array<std::vector<double>, directions.size()> works;
  for (std::size_t i = 0; i < progress.iterations_a_turn; ++i) {
    for (const Direction direction : directions) {
      if (!is_trivial(direction)) {
        const Turn once = iterate(variant, direction);
        totals[index(direction)].push_back(once.total);
        works[index(direction)].push_back(once.work);
      }
    }
  }
  measured.iterations += progress.iterations_a_turn;
  for (const Direction direction : directions) {
    if (is_trivial(direction)) {
      continue;
    }
    maximum_over_ranks(totals[index(direction)]);
    maximum_over_ranks(works[index(direction)]);
    for (const double total : totals[index(direction)]) {
      progress.seconds += total;
    }
    Turn& best = measured.best[index(direction)];
    const bool is_first = measured.turns[index(direction)].empty();
    const Turn now{std::ranges::min(totals[index(direction)]), std::ranges::min(works[index(direction)])};
    best = is_first ? now : Turn{std::min(best.total, now.total), std::min(best.work, now.work)};
    measured.turns[index(direction)].push_back(
        {median_of(totals[index(direction)]), median_of(works[index(direction)])});
  }
}

/// One all-to-all with its work; what it took on this rank.
Turn Harness::iterate(const Variant& variant, Direction direction) {
  Lane& lane = lanes_[index(direction)];
  ++iteration_;
  const auto self = static_cast<std::uint32_t>(lane.group->self());
  for (std::uint32_t rank = 0; rank < lane.group->size(); ++rank) {
    fill(std::span{lane.send}.subspan(rank * block_bytes_, block_bytes_), {self, rank, iteration_});
  }
  work_.set_units(lane.work_units);
  (void)work_.take_seconds();
  Family& family = *running_[variant.running].by_direction[index(direction)];
  if (options_.has_barriers) {
    MPI_Barrier(world_);
  }
  if (family.uses_runtime()) {
    hold_.unlock();
  }
  const SteadyTime start = std::chrono::steady_clock::now();
  family.run(variant.member, work_);
  const Turn turn{seconds_since(start), work_.take_seconds()};
  if (family.uses_runtime()) {
    hold_.lock();
  }
  check(variant, lane);
  return turn;
}

void Harness::check(const Variant& variant, const Lane& lane) const {
  const auto self = static_cast<std::uint32_t>(lane.group->self());
  for (std::uint32_t rank = 0; rank < lane.group->size(); ++rank) {
    const std::span block = std::span{lane.receive}.subspan(rank * block_bytes_, block_bytes_);
    if (const auto wrong = find_wrong(block, {rank, self, iteration_})) {
      throw plait::Error{plait::ErrorCode::user_task,
                         fmt::format("{} gave a wrong result at {} bytes, in the {} group: {}",
                                     member_of(variant).name,
                                     block_bytes_,
                                     to_string(lane.group->direction()),
                                     *wrong)};
    }
  }
}

void Harness::maximum_over_ranks(std::vector<double>& values) const {
  MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_MAX, world_);
}

}  // namespace alltoall
