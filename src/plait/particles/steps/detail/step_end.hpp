// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/comm/collectives/group.hpp"
#include "plait/particles/neighbours/cells.hpp"
#include "plait/particles/neighbours/halo.hpp"
#include "plait/particles/steps/cell_steps.hpp"
#include "plait/particles/store/particles.hpp"
#include "plait/task/graph.hpp"
#include "plait/task/time_bins.hpp"
#include "plait/task/time_line.hpp"

namespace plait::particles::detail {

/// The end of each step in its graph: cells begin their next steps, ranks send each other the new bins of cells that
/// both have, and find the time of the next step in one reduction. No worker waits.
class StepEnd {
 public:
  /// The present step.
  struct Step {
    task::Ticks now = 0;
    bool changes_bins = true;
    std::span<const std::uint32_t> near;  ///< Own cells whose particles may have new bins.
    std::uint64_t active_here = 0;
    const Ask* ask = nullptr;  ///< May be null.
  };
  /// Reduced over all ranks.
  struct Findings {
    std::uint64_t next = task::line_ticks;
    std::uint64_t is_any = 0;
    std::uint64_t active_particles = 0;
    std::uint64_t particles = 0;
  };

  /// The cells, the ghosts, and the field of bins.
  struct Place {
    const CellTable& table;
    const Halo& halo;
    Field<std::uint8_t> bin;
  };

  /// Adds tasks to the graph. Borrows what the place has. `tag` is of no other messages of the group.
  StepEnd(task::Graph& graph, const comm::Group& all, const Place& place, Tag tag);
  StepEnd(const StepEnd&) = delete;
  StepEnd& operator=(const StepEnd&) = delete;

  /// Reads the bins of all own cells, at the start of the steps.
  void begin(task::Ticks now);
  /// Runs after all tasks that change bins or what `Step::ask` reads.
  [[nodiscard]] task::Task first() const noexcept { return settle_; }
  /// Sets the step, and appends the tasks that it runs to `tasks`.
  void activate(const Step& step, std::vector<task::Task>& tasks);

  [[nodiscard]] const task::TimeBins& bins() const noexcept { return bins_; }
  /// Of the last step.
  [[nodiscard]] const Findings& findings() const noexcept { return findings_; }

 private:
  /// The bins of cells on the boundary to another rank.
  struct PeerBins {
    const HaloPeer* peer = nullptr;
    Bytes mine = {}, theirs = {};
  };

  [[nodiscard]] task::TimeBin shortest_in(std::uint32_t cell) const;
  void settle(std::uint32_t cell, task::TimeBin wanted);
  void settle_own();
  void settle_ghosts();
  void find_own();

  const CellTable& table_;
  const Field<std::uint8_t> bin_;
  comm::Group all_;
  task::TimeBins bins_;
  std::vector<PeerBins> peers_;
  task::Task settle_;
  task::Task find_;
  std::vector<task::Task> messages_;
  Step step_;
  Findings findings_;
};

}  // namespace plait::particles::detail
