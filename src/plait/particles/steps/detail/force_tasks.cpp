// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/steps/detail/force_tasks.hpp"

namespace plait::particles::detail {

using task::Task;

ForceTasks::ForceTasks(comm::Endpoint& endpoint,
                       std::uint32_t workers,
                       CellTable& table,
                       const CellForces& forces,
                       Field<std::uint8_t> bin,
                       task::Graph& graph)
    : endpoint_{endpoint},
      workers_{workers},
      table_{table},
      forces_{forces},
      graph_{graph},
      cells_{.sizes = table.own_sizes(),
             .bin = bin,
             .velocity = forces.velocity,
             .behind = [this](std::uint32_t cell) { return forces_.line.duration(now_ - forces_.drifted(cell)); }},
      comms_{endpoint.claim_comms(static_cast<std::uint32_t>(forces.interactions.size()))},
      begin_{graph.join("forces: begin")},
      end_{graph.join("forces: end")} {
  for (std::uint32_t number = 0; number < forces_.interactions.size(); ++number) {
    add_interaction(*forces_.interactions[number], comms_[number]);
  }
}

void ForceTasks::add_interaction(Interaction& interaction, comm::CommId comm) {
  const StepFrame frame{endpoint_, table_.own(), graph_, workers_, forces_.space, comm, last_waiting_, &cells_};
  Task clear = graph_.task("clear sums", [this, &interaction] { this->clear(interaction); });
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
  const auto bins = std::as_const(table_.own())[cells_.bin];
  for (const std::uint32_t number : cells_.active) {
    const std::size_t end = std::size_t{table_[number].first} + table_[number].count;
    std::size_t first = table_[number].first;
    while (first < end) {
      std::size_t last = first;
      while (last < end && bins[last] <= cells_.longest) {
        ++last;
      }
      if (last > first) {
        interaction.clear_results(table_.own(), first, last);
      }
      first = last + 1;
    }
  }
}

void ForceTasks::activate(const Step& step, std::vector<Task>& tasks) {
  now_ = step.now;
  cells_.now = forces_.line.time_at(step.now);
  cells_.longest = step.longest;
  cells_.active = step.active;
  const std::vector<Task>& some = step.exchanges ? exchanging_ : predicting_;
  tasks.insert(tasks.end(), {begin_, end_});
  tasks.insert(tasks.end(), some.begin(), some.end());
  tasks.insert(tasks.end(), always_.begin(), always_.end());
}

}  // namespace plait::particles::detail
