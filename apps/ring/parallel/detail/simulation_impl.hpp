// SPDX-License-Identifier: Apache-2.0
#pragma once

// The inside of `Simulation`: its state, and what its sources share. simulation.cpp begins and steps, step_graph.cpp
// says what comes after what, step_tasks.cpp what each task does.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "plait/plait.hpp"

#include "ring/boundary.hpp"
#include "ring/domain.hpp"
#include "ring/forces.hpp"
#include "ring/let.hpp"
#include "ring/parallel/simulation.hpp"
#include "ring/tree.hpp"

namespace ring {

namespace detail {

inline constexpr std::uint32_t pieces_a_worker = 2;

/// The values that came as bytes. Throws: `plait::Error` that says what came, when they are no whole number of values.
template <class T>
std::span<const T> view_as(const plait::Bytes& bytes, const char* what) {
  if (bytes.size() % sizeof(T) != 0) {
    throw plait::Error{plait::ErrorCode::network,
                       fmt::format("{} of {} bytes came: not a whole number of {}", what, bytes.size(), sizeof(T))};
  }
  return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

/// What one worker needs and sums up.
struct WorkerState {
  ForceWorkspace workspace;
  ForceSums sums;
  PhaseTimes phases{};
};

/// All that is exchanged with one other rank.
struct Peer {
  plait::Rank rank;
  plait::Bytes samples;
  plait::Bytes boundary_bytes;
  ring::Bytes let_out;
  plait::Bytes let_in;
  // Of neighbours only:
  std::vector<Body> leaving;
  plait::Bytes arriving;
};

}  // namespace detail

class Simulation::Impl {
 public:
  using Graph = plait::Graph;
  using Task = plait::Task;
  using TaskContext = plait::TaskContext;
  using TaskKind = plait::TaskKind;
  using WorkerState = detail::WorkerState;
  using Peer = detail::Peer;

  Impl(plait::Runtime& runtime, const Parameters& parameters, const ParallelOptions& options, Start start);

  void step();
  Diagnostics diagnose();
  double dissipation_rate();
  Profile take_profile();

  std::vector<Body> bodies_;
  std::uint64_t steps_ = 0;
  double time_ = 0;
  Dissipation dissipation_;
  double spring_ = 0;
  Domains domains_;

 private:
  // The graph, in the order of a step.
  void build_graph();
  void add_decomposition();
  Task add_exchange();
  Task add_tree(Task after);
  void add_boundaries_and_forces(Task tree);

  // What tasks do.
  void decompose();
  void sort_out_leavers();
  void take_in();
  void take_boundary(Peer& peer);
  void make_let_for(Peer& peer);
  void walk(TaskContext& context, const TreeView& view, Origin origin, TaskKind kind);
  void walk_far(TaskContext& context);
  void end_step(TaskContext& context);

  [[nodiscard]] Domains cut_first_domains();
  void distribute();
  void count_bodies();
  void refuse_coinciding_bodies() const;
  void run(std::span<const Task> active, bool is_step);
  void for_pieces(TaskContext& context, TaskKind kind, const std::function<void(std::span<Body>)>& work);
  [[nodiscard]] std::uint32_t sample_count() const { return std::max(100U, options_.samples / runtime_.rank_count()); }
  [[nodiscard]] PhaseTimes& phases(TaskContext& context) { return workers_[context.worker().value()].phases; }

  plait::Runtime& runtime_;
  const Parameters parameters_;
  const ParallelOptions options_;
  const TreeOptions tree_options_;
  const ForceOptions force_options_;
  std::vector<WorkerState> workers_;
  std::vector<Peer> peers_;
  std::vector<Sample> samples_;
  Tree tree_;
  Boundary boundary_;
  std::vector<Boundary> boundaries_;  ///< By rank.
  FarField far_;
  std::vector<std::unique_ptr<plait::Resource>> parts_;  ///< Of the bodies, as force tasks take them.
  bool is_stepping_ = true;                              ///< Not so for the forces before the first step.

  Graph graph_;
  std::vector<Task> forces_only_;
  std::vector<Task> whole_step_;
  std::vector<Task> step_with_decomposition_;
  Profile profile_;
};

}  // namespace ring
