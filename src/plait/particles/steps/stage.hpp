// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plait/particles/neighbours/cells.hpp"
#include "plait/particles/store/kinds.hpp"
#include "plait/particles/store/particles.hpp"
#include "plait/task/task_context.hpp"

namespace plait::particles {

/// The cells of a system with stages or individual time steps. Neighbours of a cell are listed once for many steps,
/// with margins for larger reaches and for motion.
struct CellsOfSystem {
  std::optional<Field<float>> reach = std::nullopt;  ///< How far stages read neighbours. Empty: no stage does.
  double reach_factor = 1;                           ///< Multiplies `reach`.
  Kinds kinds = {};                  ///< The particles that have a reach; steps of these are limited (`StepLimiter`).
  double growth_max = 1.2;           ///< Lists hold for reaches that grow by this factor.
  double listed_growth = 1.8;        ///< Lists have all cells within this many reaches: part of it is for motion.
  double moved_max = 0.3;            ///< A cell may grow by this many reaches before neighbours are listed again.
  double tree_growth_max = 1.2;      ///< The same for parts of trees, as a factor.
  std::uint32_t tree_particles = 4;  ///< The size of leaves in trees over the cells.
  CellOptions sizes = {};
};

/// The arguments of a stage's function.
struct StageWork {
  task::TaskContext& context;
  const CellTable& table;
  std::uint32_t cell;
  std::span<const Particles::Index> targets;  ///< The active particles of the cell of the stage's kinds, ascending.
  double reach_max = 0;  ///< Lists have all neighbours within this reach. See `System::list_neighbours_anew`.
};

/// A part of a step that runs for each cell with active particles, after the stages before it.
///
/// A stage that reads neighbours writes to its own cell only, and no field that it reads of other cells. Cells then run
/// concurrently. The system sends what later stages read of other ranks' particles.
struct Stage {
  std::string name;  ///< The kind of its tasks in traces.
  Kinds kinds = {};  ///< Of the targets.
  std::function<void(const StageWork&)> work;
  bool reads_neighbours = false;
  std::vector<AnyField> reads;   ///< The fields that it reads of neighbours, besides position, kind and reach.
  std::vector<AnyField> writes;  ///< The fields that it changes of its targets.
};

}  // namespace plait::particles
