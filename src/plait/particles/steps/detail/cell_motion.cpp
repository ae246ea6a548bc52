// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/steps/detail/cell_motion.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace plait::particles::detail {

using task::Ticks;
using task::TimeBin;

namespace {

/// Both are of steps, so that the middle is a whole number of ticks.
[[nodiscard]] Ticks middle(Ticks begin, Ticks end) {
  return begin + (end - begin) / 2;
}

}  // namespace

CellMotion::CellMotion(
    CellTable& table, const StepPlan& plan, const StepFields& fields, Field<float> reach, std::uint32_t workers)
    : table_{table},
      store_{table.own()},
      plan_{plan},
      fields_{fields},
      reach_{reach},
      line_{plan.steps.begin, plan.steps.end},
      clock_{line_, plan.integrator},
      slow_{plan, clock_},
      shortest_step_{std::max(plan.steps.step_min, line_.duration(task::ticks_of(task::shortest_bin)))},
      limiter_{table_,
               {.bin = fields_.bin,
                .bin_seen = fields_.bin_seen,
                .reach = reach_,
                .reach_factor = static_cast<float>(plan.cells.reach_factor),
                .kinds = plan.cells.kinds,
                .wake = [this](Particles::Index i, TimeBin bin, Ticks now) { wake(i, bin, now); }}},
      workers_(workers) {}

void CellMotion::begin(Ticks now) {
  std::ranges::fill(store_[fields_.bin], task::longest_bin.value());
  std::ranges::fill(store_[fields_.bin_seen], task::longest_bin.value());
  std::ranges::fill(store_[fields_.begin], now);
  if (plan_.integrator.settle) {
    std::vector<Kick> all(store_.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i].place = static_cast<Particles::Index>(i);
    }
    plan_.integrator.settle(store_, all);
  }
}

void CellMotion::note_cells(Ticks now) {
  cells_.clear();
  for (std::uint32_t cell = 0; cell < table_.own_count(); ++cell) {
    cells_.push_back({table_[cell], now, speed_max(table_[cell])});
  }
}

double CellMotion::speed_max(const Cell& cell) const {
  double speed2 = 0;
  for (const Vector& v : std::as_const(store_)[plan_.integrator.velocity].subspan(cell.first, cell.count)) {
    speed2 = std::max(speed2, dot(v, v));
  }
  return std::sqrt(speed2);
}

bool CellMotion::drift(std::size_t first, std::size_t last, Ticks from, Ticks to, Worker& worker) {
  const double duration = worker.durations.drift(clock_, from, to);
  if (duration > 0) {
    plan_.integrator.drift(store_, first, last, duration);
  }
  if (from < to && (plan_.integrator.predict || plan_.slow.predict)) {
    const double kick = worker.durations.kick(clock_, from, to);
    if (plan_.integrator.predict) {
      plan_.integrator.predict(store_, first, last, kick);
    }
    slow_.predict(store_, first, last, kick, worker.slow);
  }
  return duration > 0;
}

void CellMotion::drift_all(Ticks now) {
  for (std::size_t number = 0; number < cells_.size(); ++number) {
    State& cell = cells_[number];
    const std::size_t first = cell.made.first;
    if (drift(first, first + cell.made.count, cell.drifted, now, workers_.front())) {
      table_.refresh(static_cast<std::uint32_t>(number), reach_, plan_.cells.reach_factor);
    }
    cell.drifted = now;
  }
}

bool CellMotion::has_outgrown(Ticks next) const {
  DurationMemory durations;
  for (std::uint32_t number = 0; number < table_.own_count(); ++number) {
    const State& state = cells_[number];
    if (state.made.reach == 0) {
      continue;  // no cell reads it
    }
    const auto& was = state.made.box;
    const auto& is = table_[number].box;
    const Vector out{std::max({was.low.x - is.low.x, is.high.x - was.high.x, 0.0}),
                     std::max({was.low.y - is.low.y, is.high.y - was.high.y, 0.0}),
                     std::max({was.low.z - is.low.z, is.high.z - was.high.z, 0.0})};
    const double moved = length(out) + state.speed_max * durations.drift(clock_, state.drifted, next);
    const double reach = static_cast<double>(state.made.reach);
    // Lists have margins for the motion of two cells.
    const double grown = std::max(0.0, static_cast<double>(table_[number].reach) - plan_.cells.growth_max * reach) / 2;
    if (moved + grown > plan_.cells.moved_max * reach) {
      return true;
    }
  }
  return false;
}

double CellMotion::reach_max(std::uint32_t cell) const {
  return plan_.cells.growth_max *
         static_cast<double>(cells_[cell].made.reach / static_cast<float>(plan_.cells.reach_factor));
}

std::span<const Particles::Index> CellMotion::find_active(const CellWork& work, const Kinds& kinds) {
  const Cell& cell = table_[work.cell];
  const auto bins = std::as_const(store_)[fields_.bin];
  const auto kind = std::as_const(store_)[Particles::kind];
  std::vector<Particles::Index>& active = worker_of(work).active;
  active.clear();
  const std::uint8_t longest = ends_ == Ends::none ? task::longest_bin.value() : task::longest_active(work.now).value();
  for (Particles::Index i = cell.first; i < cell.first + cell.count; ++i) {
    if (bins[i] <= longest && kinds.has(kind[i])) {
      active.push_back(i);
    }
  }
  return active;
}

void CellMotion::drift(const CellWork& work) {
  const Cell& cell = table_[work.cell];
  State& state = cells_[work.cell];
  (void)drift(cell.first, std::size_t{cell.first} + cell.count, state.drifted, work.now, worker_of(work));
  std::ranges::copy(std::as_const(store_)[fields_.bin].subspan(cell.first, cell.count),
                    store_[fields_.bin_seen].subspan(cell.first, cell.count).begin());
  state.drifted = work.now;
  state.speed_max = speed_max(cell);
}

/// Calls the functions that complete forces for runs of active particles.
void CellMotion::finish_forces(std::span<const Particles::Index> active) const {
  for (std::size_t first = 0; first < active.size() && !plan_.after.empty();) {
    std::size_t last = first + 1;
    while (last < active.size() && active[last] == active[last - 1] + 1) {
      ++last;
    }
    for (const auto& function : plan_.after) {
      function(store_, active[first], std::size_t{active[last - 1]} + 1);
    }
    first = last;
  }
}

void CellMotion::end_steps(const CellWork& work) {
  const std::span<const Particles::Index> active = find_active(work, {});
  if (ends_ == Ends::none || active.empty()) {
    return;
  }
  finish_forces(active);
  Worker& worker = worker_of(work);
  const auto begins = store_[fields_.begin];
  worker.kicks.clear();
  for (const Particles::Index i : active) {
    worker.kicks.push_back({i, worker.durations.kick(clock_, middle(begins[i], work.now), work.now)});
  }
  plan_.integrator.kick(store_, worker.kicks);
  const Cell& cell = table_[work.cell];
  slow_.end(store_, cell.first, std::size_t{cell.first} + cell.count, work.now, worker.slow);
  if (plan_.integrator.settle) {
    plan_.integrator.settle(store_, worker.kicks);
    slow_.settle(store_, worker.kicks, work.now, worker.slow);
  }
  choose_bins(active, work.now, worker);
}

void CellMotion::choose_bins(std::span<const Particles::Index> active, Ticks now, Worker& worker) {
  worker.longest.assign(active.size(), plan_.steps.step_max);
  for (const StepCriterion& criterion : plan_.criteria) {
    criterion(store_, active, worker.longest);
  }
  const auto bins = store_[fields_.bin];
  const auto seen = store_[fields_.bin_seen];
  const auto begins = store_[fields_.begin];
  const auto costs = store_[Particles::cost];
  const TimeBin longest_now = task::longest_active(now);
  for (std::size_t k = 0; k < active.size(); ++k) {
    const Particles::Index i = active[k];
    if (!(worker.longest[k] >= shortest_step_)) {
      throw Error{
          ErrorCode::bad_input,
          fmt::format("particle {} needs a time step of {:.3g}, which is shorter than {:.3g}: check its forces, "
                      "or allow shorter steps",
                      store_.ids()[i],
                      worker.longest[k],
                      shortest_step_)};
    }
    bins[i] = std::min({line_.bin_for(worker.longest[k]), slow_.bin(), longest_now}).value();
    seen[i] = bins[i];
    begins[i] = now;
    costs[i] += 1;
  }
}

void CellMotion::begin_steps(const CellWork& work) {
  if (!begins_steps(work.now)) {
    return;
  }
  Worker& worker = worker_of(work);
  if (plan_.cells.reach) {
    limiter_.limit(work.cell, work.now, worker.limiter);
  }
  const auto bins = std::as_const(store_)[fields_.bin];
  const auto begins = std::as_const(store_)[fields_.begin];
  worker.kicks.clear();
  for (const Particles::Index i : find_active(work, {})) {
    if (begins[i] == work.now) {  // a woken particle continues its step
      const Ticks half = work.now + task::ticks_of(TimeBin{bins[i]}) / 2;
      worker.kicks.push_back({i, worker.durations.kick(clock_, work.now, half)});
    }
  }
  plan_.integrator.kick(store_, worker.kicks);
  const Cell& cell = table_[work.cell];
  slow_.begin(store_, cell.first, std::size_t{cell.first} + cell.count, work.now, worker.slow);
}

std::uint8_t CellMotion::shortest_bin() const {
  const auto bins = std::as_const(store_)[fields_.bin];
  return bins.empty() ? task::longest_bin.value() : *std::ranges::min_element(bins);
}

void CellMotion::begin_equal_steps(const CellWork& work, std::uint8_t bin) {
  if (!begins_steps(work.now)) {
    return;
  }
  const Cell& cell = table_[work.cell];
  std::ranges::fill(store_[fields_.bin].subspan(cell.first, cell.count), bin);
  Worker& worker = worker_of(work);
  worker.kicks.clear();
  const double half = clock_.kick(work.now, work.now + task::ticks_of(TimeBin{bin}) / 2);
  for (Particles::Index i = cell.first; i < cell.first + cell.count; ++i) {
    worker.kicks.push_back({i, half});
  }
  plan_.integrator.kick(store_, worker.kicks);
  slow_.begin(store_, cell.first, std::size_t{cell.first} + cell.count, work.now, worker.slow);
}

/// Shortens the step of a particle, and corrects the kick by half of the longer step.
void CellMotion::wake(Particles::Index place, TimeBin bin, Ticks now) {
  std::uint8_t& its = store_[fields_.bin][place];
  const Ticks begin = store_[fields_.begin][place];
  if (begin != now) {
    const Ticks was = middle(begin, task::next_active(TimeBin{its}, now));
    const Ticks is = middle(begin, task::next_active(bin, now));
    const Kick kick{place, -clock_.kick(is, was)};
    plan_.integrator.kick(store_, {&kick, 1});
  }
  its = bin.value();
}

}  // namespace plait::particles::detail
