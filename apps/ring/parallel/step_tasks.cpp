// SPDX-License-Identifier: Apache-2.0
// What the tasks of a step do.
#include <algorithm>
#include <cstring>

#include "ring/leapfrog.hpp"
#include "ring/parallel/detail/simulation_impl.hpp"

namespace ring {

namespace {

using detail::view_as;
using plait::Rank;
using plait::TaskContext;
using plait::TaskKind;

constexpr double share_of_old_domains = 0.5;

}  // namespace

void Simulation::Impl::for_pieces(TaskContext& context,
                                  TaskKind kind,
                                  const std::function<void(std::span<Body>)>& work) {
  const auto timed = [this, work](TaskContext& inner, std::span<Body> part) {
    const PhaseTimer timer{phases(inner), Phase::other};
    work(part);
  };
  const std::span<Body> all{bodies_};
  if (runtime_.worker_count() == 1) {
    timed(context, all);
    return;
  }
  const std::size_t pieces = std::size_t{detail::pieces_a_worker} * runtime_.worker_count();
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    const std::size_t first = all.size() * piece / pieces;
    const std::size_t last = all.size() * (piece + 1) / pieces;
    context.spawn({.kind = kind,
                   .body = [timed, part = all.subspan(first, last - first)](TaskContext& inner) { timed(inner, part); },
                   .object = piece});
  }
}

void Simulation::Impl::decompose() {
  // In the order of ranks, so that all compute the same.
  std::vector<Sample> all;
  auto next_peer = peers_.begin();
  for (std::uint32_t rank = 0; rank < runtime_.rank_count(); ++rank) {
    const auto samples = Rank{rank} == runtime_.self() ? std::span<const Sample>{samples_}
                                                       : view_as<Sample>((next_peer++)->samples, "samples");
    all.insert(all.end(), samples.begin(), samples.end());
  }
  Domains fresh{options_.grid, std::move(all)};
  fresh.blend(domains_, share_of_old_domains);
  domains_ = std::move(fresh);
}

void Simulation::Impl::sort_out_leavers() {
  if (peers_.empty()) {
    return;
  }
  const std::uint32_t self = runtime_.self().value();
  std::vector<Peer*> by_rank(runtime_.rank_count());
  for (Peer& peer : peers_) {
    peer.leaving.clear();
    by_rank[peer.rank.value()] = &peer;
  }
  std::erase_if(bodies_, [&](const Body& body) {
    const std::uint32_t goal = domains_.rank_of(body.position);
    if (goal == self) {
      return false;
    }
    by_rank[domains_.next_hop(self, goal)]->leaving.push_back(body);
    return true;
  });
}

void Simulation::Impl::take_in() {
  for (Peer& peer : peers_) {
    const auto arrived = view_as<Body>(peer.arriving, "bodies");
    bodies_.insert(bodies_.end(), arrived.begin(), arrived.end());
    peer.arriving.clear();
  }
}

void Simulation::Impl::take_boundary(Peer& peer) {
  Boundary& boundary = boundaries_[peer.rank.value()];
  const bool has_size = peer.boundary_bytes.size() == sizeof boundary;
  if (has_size) {
    std::memcpy(&boundary, peer.boundary_bytes.data(), sizeof boundary);
  }
  if (!has_size || !is_valid(boundary)) {
    throw plait::Error{plait::ErrorCode::network,
                       fmt::format("rank {} sent a boundary that makes no sense", peer.rank.value()),
                       peer.rank};
  }
}

void Simulation::Impl::make_let_for(Peer& peer) {
  peer.let_out.clear();
  if (needs_let(boundary_, boundaries_[peer.rank.value()])) {
    make_let(tree_, boundaries_[peer.rank.value()], peer.let_out);
  }
}

/// Spawns the walks over one tree: a task for each few batches of groups. These are locked, as several trees pull the
/// same bodies.
void Simulation::Impl::walk(TaskContext& context, const TreeView& view, Origin origin, TaskKind kind) {
  const std::span<const Batch> batches = tree_.batches();
  const std::size_t size = options_.task_batches;
  for (std::size_t first = 0; first < batches.size(); first += size) {
    const auto part = batches.subspan(first, std::min(size, batches.size() - first));
    context.spawn({.kind = kind,
                   .body =
                       [this, view, origin, part](TaskContext& inner) {
                         WorkerState& worker = workers_[inner.worker().value()];
                         add_forces(
                             view, origin, {bodies_, tree_}, part, force_options_, worker.workspace, worker.sums);
                       },
                   .object = first / size,
                   .resources = {parts_[first / size].get()}});
  }
}

void Simulation::Impl::walk_far(TaskContext& context) {
  std::vector<Boundary> far;
  for (const Peer& peer : peers_) {
    const Boundary& theirs = boundaries_[peer.rank.value()];
    if (!theirs.is_empty() && !needs_let(theirs, boundary_)) {
      far.push_back(theirs);
    }
  }
  far_ = FarField{far, tree_options_};
  if (!far.empty()) {
    walk(context, far_.view(), Origin::received, graph_.kind("force: far ranks"));
  }
}

void Simulation::Impl::end_step(TaskContext& context) {
  double rate = 0;
  spring_ = 0;
  for (WorkerState& worker : workers_) {
    spring_ += worker.sums.spring_energy;
    rate += worker.sums.dissipation_rate;
    worker.phases[static_cast<std::size_t>(Phase::walk)] += worker.sums.walk;
    worker.phases[static_cast<std::size_t>(Phase::kernel)] += worker.sums.kernel;
    profile_.interactions += worker.sums.body_body + worker.sums.body_cell;
    worker.sums = {};
  }
  if (!is_stepping_) {
    dissipation_.rate = rate;
    return;
  }
  dissipation_.advance(rate, parameters_.time_step);
  for_pieces(context, graph_.kind("kick"), [this](std::span<Body> part) { kick(part, parameters_.time_step / 2); });
}

}  // namespace ring
