// SPDX-License-Identifier: Apache-2.0
// What is done in a step, and what comes after what.
#include <algorithm>
#include <optional>

#include "ring/leapfrog.hpp"
#include "ring/morton.hpp"
#include "ring/parallel/detail/simulation_impl.hpp"

namespace ring {

namespace {

using plait::Task;
using plait::TaskContext;
using plait::TaskKind;

// One tag for each kind of message; messages of one source keep their order.
constexpr plait::Tag samples_tag{1};
constexpr plait::Tag bodies_tag{2};
constexpr plait::Tag boundary_tag{3};
constexpr plait::Tag let_tag{4};

}  // namespace

void Simulation::Impl::build_graph() {
  const TaskKind drift_kind = graph_.kind("drift");
  Task drift = graph_.task("drift", [this, drift_kind](TaskContext& context) {
    for_pieces(context, drift_kind, [this](std::span<Body> part) { kick_and_drift(part, parameters_.time_step); });
  });
  whole_step_.push_back(drift);
  add_decomposition();
  const Task arrived = add_exchange().after(drift);
  const Task tree = add_tree(arrived);
  add_boundaries_and_forces(tree);
}

/// Samples go to every rank, and each computes the domains by itself. They serve from the next exchange on: nobody
/// waits for them here.
void Simulation::Impl::add_decomposition() {
  Task choose = graph_.task("choose samples", [this](TaskContext& context) {
    const PhaseTimer timer{phases(context), Phase::decompose};
    samples_ = choose_samples(bodies_, sample_count());
  });
  Task cut = graph_.task("cut domains", [this](TaskContext& context) {
    const PhaseTimer timer{phases(context), Phase::decompose};
    decompose();
  });
  choose.after(whole_step_.front());
  cut.after(choose);
  step_with_decomposition_ = {choose, cut};
  for (Peer& peer : peers_) {
    Task send =
        graph_.send("send samples", {peer.rank, samples_tag}, [this] { return std::as_bytes(std::span{samples_}); });
    Task receive = graph_.receive("receive samples", {peer.rank, samples_tag}, peer.samples);
    send.after(choose);
    cut.after(receive);
    step_with_decomposition_.insert(step_with_decomposition_.end(), {send, receive});
  }
}

Task Simulation::Impl::add_exchange() {
  Task sort_out = graph_.task("find leavers", [this](TaskContext& context) {
    const PhaseTimer timer{phases(context), Phase::exchange};
    sort_out_leavers();
  });
  Task take = graph_.task("take in bodies", [this](TaskContext& context) {
    const PhaseTimer timer{phases(context), Phase::exchange};
    take_in();
  });
  // With new domains, bodies go by these.
  sort_out.after(whole_step_.front()).after(step_with_decomposition_[1]);
  take.after(sort_out);
  whole_step_.insert(whole_step_.end(), {sort_out, take});
  const std::vector<std::uint32_t> neighbors = domains_.neighbors(runtime_.self().value());
  for (Peer& peer : peers_) {
    if (!std::ranges::binary_search(neighbors, peer.rank.value())) {
      continue;
    }
    Task send =
        graph_.send("send bodies", {peer.rank, bodies_tag}, [&peer] { return std::as_bytes(std::span{peer.leaving}); });
    Task receive = graph_.receive("receive bodies", {peer.rank, bodies_tag}, peer.arriving);
    send.after(sort_out);
    take.after(receive);
    whole_step_.insert(whole_step_.end(), {send, receive});
  }
  return take;
}

/// The pieces of the sort and the tree are spawned by the phases between which everything must come together.
Task Simulation::Impl::add_tree(Task after) {
  const std::uint32_t pieces = runtime_.worker_count() == 1 ? 1 : detail::pieces_a_worker * runtime_.worker_count();
  const auto phase = [this, &after](const char* kind_name, auto body) {
    const TaskKind kind = graph_.kind(kind_name);
    Task task = graph_.task(kind_name, [this, kind, body](TaskContext& context) {
      const auto spawn = [&](std::uint32_t count, void (Tree::*piece)(std::uint32_t)) {
        for (std::uint32_t index = 0; index < count; ++index) {
          const auto run_piece = [this, index, piece](TaskContext& inner) {
            const PhaseTimer timer{phases(inner), Phase::make_tree};
            (tree_.*piece)(index);
          };
          count == 1 ? run_piece(context) : context.spawn({.kind = kind, .body = run_piece, .object = index});
        }
      };
      body(context, spawn);
    });
    task.after(after);
    after = task;
    whole_step_.push_back(task);
    forces_only_.push_back(task);
  };
  const auto timed = [this](TaskContext& context, auto work) {
    const PhaseTimer timer{phases(context), Phase::make_tree};
    work();
  };
  phase("tree: sort", [this, timed, pieces](TaskContext& context, auto spawn) {
    timed(context, [&] {
      TreeOptions now = tree_options_;
      now.prediction_time =
          is_stepping_ ? now.prediction_time : 0;  // at the start, velocities are of the positions' time
      tree_.begin(bodies_, now, bounding_box(bodies_), pieces);
    });
    spawn(tree_.pieces(), &Tree::sort_chunk);
  });
  if (pieces > 1) {
    phase("tree: merge", [this, timed](TaskContext& context, auto spawn) {
      timed(context, [&] { tree_.split_sort(); });
      spawn(tree_.pieces(), &Tree::merge_piece);
    });
  }
  phase("tree: order", [this](TaskContext&, auto spawn) { spawn(tree_.pieces(), &Tree::order_piece); });
  phase("tree: build", [this, timed](TaskContext& context, auto spawn) {
    timed(context, [&] { tree_.plan_subtrees(); });
    spawn(tree_.subtrees(), &Tree::build_subtree);
  });
  phase("tree: finish", [this, timed](TaskContext& context, auto) {
    timed(context, [&] {
      tree_.finish();
      begin_forces(bodies_, parameters_.central_mass);
      while (parts_.size() * options_.task_batches < tree_.batches().size()) {
        parts_.push_back(std::make_unique<plait::Resource>());
      }
    });
  });
  return after;
}

void Simulation::Impl::add_boundaries_and_forces(Task tree) {
  const TaskKind local_kind = graph_.kind("force: own tree");
  const TaskKind remote_kind = graph_.kind("force: received tree");
  Task boundary = graph_.task("make boundary", [this](TaskContext& context) {
    const PhaseTimer timer{phases(context), Phase::make_lets};
    boundary_ = make_boundary(tree_);
    boundaries_[runtime_.self().value()] = boundary_;
  });
  Task local = graph_.task("force: own tree", [this, local_kind](TaskContext& context) {
    walk(context, tree_.view(), Origin::own_tree, local_kind);
  });
  Task far = graph_.task("force: far ranks", [this](TaskContext& context) { walk_far(context); });
  Task end = graph_.task("kick", [this](TaskContext& context) { end_step(context); });
  boundary.after(tree);
  local.after(tree);
  far.after(boundary);
  end.after(local).after(far);
  std::vector<Task> tasks{boundary, local, far, end};
  for (Peer& peer : peers_) {
    Task send = graph_.send(
        "send boundary", {peer.rank, boundary_tag}, [this] { return std::as_bytes(std::span{&boundary_, 1}); });
    Task receive = graph_.receive("receive boundary", {peer.rank, boundary_tag}, peer.boundary_bytes);
    Task take = graph_.task("take boundary", [this, &peer](TaskContext& context) {
      const PhaseTimer timer{phases(context), Phase::exchange_lets};
      take_boundary(peer);
    });
    Task make = graph_.task("make LET", [this, &peer](TaskContext& context) {
      const PhaseTimer timer{phases(context), Phase::make_lets};
      make_let_for(peer);
    });
    Task send_let =
        graph_.send("send LET", {peer.rank, let_tag}, [&peer] { return std::span<const std::byte>{peer.let_out}; });
    Task receive_let = graph_.receive("receive LET", {peer.rank, let_tag}, peer.let_in);
    Task remote = graph_.task("force: received tree", [this, &peer, remote_kind](TaskContext& context) {
      if (peer.let_in.empty()) {
        return;  // far: its root moment is in the far field
      }
      std::optional<TreeView> view;
      {
        const PhaseTimer timer{phases(context), Phase::exchange_lets};
        view = open_let(peer.let_in, tree_options_.contact_radius > 0).value();
      }
      walk(context, *view, Origin::received, remote_kind);
    });
    take.object(peer.rank.value());
    make.object(peer.rank.value());
    remote.object(peer.rank.value());
    send.after(boundary);
    take.after(receive);
    make.after(take).after(boundary);
    far.after(take);
    send_let.after(make);
    remote.after(receive_let).after(tree);
    end.after(remote);
    tasks.insert(tasks.end(), {send, receive, take, make, send_let, receive_let, remote});
  }
  whole_step_.insert(whole_step_.end(), tasks.begin(), tasks.end());
  forces_only_.insert(forces_only_.end(), tasks.begin(), tasks.end());
  step_with_decomposition_.insert(step_with_decomposition_.end(), whole_step_.begin(), whole_step_.end());
}

}  // namespace ring
