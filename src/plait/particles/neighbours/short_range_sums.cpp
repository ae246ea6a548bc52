// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/neighbours/short_range_sums.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "plait/particles/neighbours/cells.hpp"
#include "plait/particles/neighbours/halo.hpp"
#include "plait/particles/store/detail/add_cost.hpp"
#include "plait/particles/store/morton.hpp"
#include "plait/particles/trees/detail/tree_tasks.hpp"

namespace plait::particles {

namespace {

using task::Task;
using task::TaskContext;
using task::TaskKind;

constexpr std::uint32_t leaf_particles = 16;

/// Cells are batches, groups are groups, leaves are consecutive particles of a group.
CellSizes sizes_of(const Tree& tree) {
  CellSizes sizes;
  for (const Batch& batch : tree.batches()) {
    sizes.cells.push_back(static_cast<std::uint16_t>(batch.group_count));
    for (const BodyGroup& group : tree.groups().subspan(batch.first_group, batch.group_count)) {
      // Any number of particles may share a position.
      const std::uint32_t size = std::max(leaf_particles, group.body_count / 30'000 + 1);
      const std::uint32_t leaves = (group.body_count + size - 1) / size;
      sizes.groups.push_back(static_cast<std::uint16_t>(leaves));
      for (std::uint32_t leaf = 0; leaf < leaves; ++leaf) {
        sizes.leaves.push_back(static_cast<std::uint16_t>(std::min(size, group.body_count - leaf * size)));
      }
    }
  }
  return sizes;
}

struct WorkerState {
  std::optional<BlockMaker> maker;
  std::vector<Particles::Index> targets;
  PhaseTimes phases{};
};

class CellSums final : public ShortRange {
 public:
  CellSums(ShortRangeSumsOptions options, const Tree* tree)
      : options_{std::move(options)},
        tree_{tree != nullptr ? tree : &own_tree_},
        travel_{fields_of_sources(options_.search)} {}

  std::vector<Task> add_building_tasks(const StepFrame& frame, Task after) override {
    messages_ = &frame.messages;
    grid_ = frame.grid;
    store_ = &frame.store;
    ghosts_ = frame.store.make_like();
    space_ = &frame.space;
    table_.emplace(*store_, ghosts_, space_->period());
    options_.search.velocity = space_->has_shear() ? space_->shear.velocity : std::nullopt;
    workers_.resize(frame.worker_count);
    for (WorkerState& worker : workers_) {
      worker.maker.emplace(options_.search);
    }
    if (tree_ != &own_tree_) {
      return {};
    }
    const auto begin = [this](std::uint32_t pieces) {
      const TreeOptions options{.sources = Kinds::none(), .batch_bodies_max = 512};  // only orders particles
      own_build_.begin(*store_, options, bounding_box(*store_), pieces);
    };
    return detail::add_tree_tasks(
        frame, after, own_build_, begin, [this](const TaskContext& context) -> PhaseTimes& { return phases(context); });
  }

  std::vector<Task> add_refreshing_tasks(const StepFrame& /*frame*/, Task /*after*/) override { return {}; }

  std::vector<Task> add_summing_tasks(const StepFrame& frame, Task after, Task end) override {
    const TaskKind cell_kind = frame.graph.kind("cells");
    const TaskKind sum_kind = frame.graph.kind("short range");
    Task cells = frame.graph.task("cells", [this, cell_kind](TaskContext& context) { make_cells(context, cell_kind); });
    // This task occupies a worker while it waits for other ranks: see `StepFrame::last_waiting`.
    Task ghosts = frame.graph.task("find ghosts", [this](TaskContext& context) {
      const PhaseTimer timer{phases(context), Phase::short_range};
      (void)make_halo(*messages_, *table_, {}, {options_.search.reach, options_.search.reach_factor, travel_}, grid_);
    });
    Task sum = frame.graph.task("short range", [this, sum_kind](TaskContext& context) {
      for (std::uint32_t cell = 0; cell < table_->own_count(); ++cell) {
        context.spawn(
            {.kind = sum_kind, .body = [this, cell](TaskContext& inner) { sum_up(inner, cell); }, .object = cell});
      }
    });
    cells.after(after);
    ghosts.after(cells);
    if (frame.last_waiting) {
      ghosts.after(*frame.last_waiting);
    }
    frame.last_waiting = ghosts;
    sum.after(ghosts);
    end.after(sum);
    return {cells, ghosts, sum};
  }

  void clear_results(Particles& store, std::size_t first, std::size_t last) override {
    for (const AnyField& field : options_.results) {
      std::ranges::fill(store.bytes_of(field).subspan(first * field.bytes, (last - first) * field.bytes), std::byte{0});
    }
  }

  void take_times(StepTimes& times) override {
    for (WorkerState& worker : workers_) {
      move_times(worker.phases, times.phases);
    }
  }

  [[nodiscard]] const Tree* tree() const noexcept override { return tree_; }
  [[nodiscard]] const Particles& ghosts() const noexcept override { return ghosts_; }

 private:
  void make_cells(TaskContext& context, TaskKind kind) {
    const PhaseTimer timer{phases(context), Phase::short_range};
    table_->set_slide(space_->lattice().slide);
    table_->assign(sizes_of(*tree_));
    constexpr std::uint32_t cells_a_task = 64;
    for (std::uint32_t first = 0; first < table_->own_count(); first += cells_a_task) {
      context.spawn({.kind = kind,
                     .body =
                         [this, first](TaskContext& inner) {
                           const PhaseTimer inner_timer{phases(inner), Phase::short_range};
                           const std::uint32_t last = std::min(first + cells_a_task, table_->own_count());
                           for (std::uint32_t cell = first; cell < last; ++cell) {
                             table_->refresh(cell, options_.search.reach, options_.search.reach_factor);
                           }
                         },
                     .object = first});
    }
  }

  void sum_up(TaskContext& context, std::uint32_t number) {
    const PhaseTimer timer{phases(context), Phase::short_range};
    WorkerState& state = worker(context);
    const Cell& cell = (*table_)[number];
    state.targets.resize(cell.count);
    std::iota(state.targets.begin(), state.targets.end(), cell.first);
    const auto costs = (*store_)[Particles::cost];
    state.maker->for_blocks(*table_, number, state.targets, [&](const Block& block) {
      options_.kernel(block);
      for (const Particles::Index place : block.targets.places()) {
        detail::add_cost(costs[place], static_cast<float>(block.sources.size()));
      }
    });
  }

  [[nodiscard]] WorkerState& worker(const TaskContext& context) { return workers_[context.worker().value()]; }
  [[nodiscard]] PhaseTimes& phases(const TaskContext& context) { return worker(context).phases; }

  ShortRangeSumsOptions options_;
  Tree own_tree_;
  TreeBuild own_build_{own_tree_};
  const Tree* tree_;
  const std::vector<AnyField> travel_;
  comm::Endpoint* messages_ = nullptr;
  DomainGrid grid_;
  Particles* store_ = nullptr;
  const Space* space_ = nullptr;
  Particles ghosts_;
  std::optional<CellTable> table_;
  std::vector<WorkerState> workers_;
};

}  // namespace

std::unique_ptr<ShortRange> make_short_range_sums(ShortRangeSumsOptions options, const Tree* tree) {
  return std::make_unique<CellSums>(std::move(options), tree);
}

}  // namespace plait::particles
