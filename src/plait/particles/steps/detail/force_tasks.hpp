// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plait/comm/endpoint.hpp"
#include "plait/particles/interaction.hpp"
#include "plait/particles/neighbours/cells.hpp"
#include "plait/particles/steps/cell_forces.hpp"
#include "plait/task/graph.hpp"
#include "plait/task/time_line.hpp"

namespace plait::particles::detail {

/// The tasks of `CellForces` in the graph of individual time steps.
class ForceTasks {
 public:
  /// The present step.
  struct Step {
    task::Ticks now = 0;
    std::uint8_t longest = 255;             ///< The longest active bin.
    std::span<const std::uint32_t> active;  ///< Own cells.
    bool exchanges = true;                  ///< Equal on all ranks.
  };

  struct Place {
    comm::Endpoint& endpoint;
    std::uint32_t workers;
    CellTable& table;
    Field<std::uint8_t> bin;
    task::Graph& graph;
  };

  /// Adds tasks to the graph. Borrows all but the place. Collective.
  ForceTasks(const Place& place, const CellForces& forces);
  ForceTasks(const ForceTasks&) = delete;
  ForceTasks& operator=(const ForceTasks&) = delete;

  [[nodiscard]] task::Task begin() const noexcept { return begin_; }
  [[nodiscard]] task::Task end() const noexcept { return end_; }
  /// Sets the step, and appends the tasks that it runs to `tasks`.
  void activate(const Step& step, std::vector<task::Task>& tasks);

 private:
  void add_interaction(Interaction& interaction, comm::CommId comm);
  void clear(Interaction& interaction) const;

  const Place place_;
  const CellForces& forces_;
  CellFrame cells_;
  comm::ClaimedComms comms_;
  std::optional<task::Task> last_waiting_;
  task::Task begin_;
  task::Task end_;
  task::Ticks now_ = 0;
  std::vector<task::Task> always_;
  std::vector<task::Task> exchanging_;
  std::vector<task::Task> predicting_;
};

}  // namespace plait::particles::detail
