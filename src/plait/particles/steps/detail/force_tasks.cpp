// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/steps/detail/force_tasks.hpp"

namespace plait::particles::detail {

using task::Task;

ForceTasks::ForceTasks(const Place& place, const CellForces& forces)
    : place_{place},
      forces_{forces},
      cells_{.sizes = place.table.own_sizes(),
             .bin = place.bin,
             .velocity = forces.velocity,
             .behind = [this](std::uint32_t cell) { return forces_.drift_duration(forces_.drifted(cell), now_); }},
      comms_{place.endpoint.claim_comms(static_cast<std::uint32_t>(forces.interactions.size()))},
      begin_{place.graph.join("forces: begin")},
      end_{place.graph.join("forces: end")} {
  for (std::uint32_t number = 0; number < forces_.interactions.size(); ++number) {
    add_interaction(*forces_.interactions[number], comms_[number]);
  }
}

void ForceTasks::add_interaction(Interaction& interaction, comm::CommId comm) {
  const StepFrame frame{place_.endpoint,
                        place_.table.own(),
                        place_.graph,
                        place_.workers,
                        forces_.space,
                        comm,
                        last_waiting_,
                        &cells_,
                        forces_.grid.value_or(cubic_grid(place_.endpoint.rank_count()))};
  Task clear = place_.graph.task("clear sums", [this, &interaction] { this->clear(interaction); });
  Task built = begin_;
  for (const Task& task : interaction.add_building_tasks(frame, begin_)) {
    exchanging_.push_back(task);
    built = task;
  }
  Task refreshed = begin_;
  for (const Task& task : interaction.add_refreshing_tasks(frame, begin_)) {
    predicting_.push_back(task);
    refreshed = task;
  }
  clear.after(built).after(refreshed);
  end_.after(clear);
  always_.push_back(clear);
  const std::vector<Task> summing = interaction.add_summing_tasks(frame, clear, end_);
  always_.insert(always_.end(), summing.begin(), summing.end());
}

/// Clears runs of active particles: the others keep their forces.
void ForceTasks::clear(Interaction& interaction) const {
  CellTable& table = place_.table;
  const auto bins = std::as_const(table.own())[cells_.bin];
  for (const std::uint32_t number : cells_.active) {
    const std::size_t end = std::size_t{table[number].first} + table[number].count;
    std::size_t first = table[number].first;
    while (first < end) {
      std::size_t last = first;
      while (last < end && bins[last] <= cells_.longest) {
        ++last;
      }
      if (last > first) {
        interaction.clear_results(table.own(), first, last);
      }
      first = last + 1;
    }
  }
}

void ForceTasks::activate(const Step& step, std::vector<Task>& tasks) {
  now_ = step.now;
  cells_.now = forces_.drift_duration(0, step.now);
  cells_.longest = step.longest;
  cells_.active = step.active;
  const std::vector<Task>& some = step.exchanges ? exchanging_ : predicting_;
  tasks.insert(tasks.end(), {begin_, end_});
  tasks.insert(tasks.end(), some.begin(), some.end());
  tasks.insert(tasks.end(), always_.begin(), always_.end());
}

}  // namespace plait::particles::detail
