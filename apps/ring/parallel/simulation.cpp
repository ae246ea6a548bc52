// SPDX-License-Identifier: Apache-2.0
// The step of the ring as tasks and messages. Numerics are elsewhere; here is who does what when.
#include "ring/parallel/simulation.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "ring/boundary.hpp"
#include "ring/leapfrog.hpp"
#include "ring/let.hpp"
#include "ring/morton.hpp"
#include "ring/tree.hpp"

namespace ring {

namespace {

using plait::Graph;
using plait::Rank;
using plait::Task;
using plait::TaskContext;
using plait::TaskKind;

constexpr double share_of_old_domains = 0.5;
constexpr std::uint32_t pieces_a_worker = 2;
constexpr std::uint32_t samples_of_a_rank_min = 100;

// One tag for each kind of message; messages of one source keep their order.
constexpr plait::Tag samples_tag{1};
constexpr plait::Tag bodies_tag{2};
constexpr plait::Tag boundary_tag{3};
constexpr plait::Tag let_tag{4};
constexpr plait::Tag distribute_tag{5};

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
  Rank rank;
  plait::Bytes samples;
  plait::Bytes boundary_bytes;
  ring::Bytes let_out;
  plait::Bytes let_in;
  // Of neighbours only:
  std::vector<Body> leaving;
  plait::Bytes arriving;
};

}  // namespace

class Simulation::Impl {
 public:
  Impl(plait::Runtime& runtime, const Parameters& parameters, const ParallelOptions& options, Start start);

  void step();
  Diagnostics diagnose();
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
  void kick_and_drift_all(TaskContext& context);
  void decompose();
  void sort_out_leavers();
  void take_in();
  void build_tree();
  void prepare_forces();
  void take_boundary(Peer& peer);
  void make_let_for(Peer& peer);
  void walk(TaskContext& context, const TreeView& view, Origin origin, TaskKind kind);
  void walk_far(TaskContext& context);
  void end_step(TaskContext& context);

  [[nodiscard]] Domains cut_first_domains();
  void distribute();
  void count_bodies();
  void run(std::span<const Task> active, bool is_step);
  void for_pieces(TaskContext& context, TaskKind kind, const std::function<void(std::span<Body>)>& work);
  [[nodiscard]] std::uint32_t sample_count() const {
    return std::max(samples_of_a_rank_min, options_.samples / runtime_.rank_count());
  }
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

// ---- construction ----

Simulation::Impl::Impl(plait::Runtime& runtime,
                       const Parameters& parameters,
                       const ParallelOptions& options,
                       Start start)
    : bodies_{std::move(start.bodies)},
      steps_{start.step},
      time_{start.time},
      domains_{options.grid},
      runtime_{runtime},
      parameters_{parameters},
      options_{options},
      tree_options_{parameters},
      force_options_{parameters},
      workers_(runtime.worker_count()),
      boundaries_(runtime.rank_count()) {
  if (options.grid.ranks() != runtime.rank_count()) {
    throw plait::Error{plait::ErrorCode::bad_argument,
                       fmt::format("a grid of {} x {} x {} domains does not fit {} ranks",
                                   options.grid.phi,
                                   options.grid.r,
                                   options.grid.z,
                                   runtime.rank_count())};
  }
  if (runtime.self() == Rank{0}) {
    dissipation_ = start.dissipation;
    spring_ = start.spring;
  }
  count_bodies();
  for (std::uint32_t rank = 0; rank < runtime.rank_count(); ++rank) {
    if (Rank{rank} != runtime.self()) {
      peers_.emplace_back().rank = Rank{rank};
    }
  }
  domains_ = start.domain_bounds.empty() ? cut_first_domains() : Domains{options_.grid, start.domain_bounds};
  distribute();
  build_graph();
  if (!start.has_forces) {
    run(forces_only_, false);
    profile_ = {};
    for (WorkerState& worker : workers_) {
      worker.phases = {};
    }
  }
}

void Simulation::Impl::count_bodies() {
  const std::uint64_t mine = bodies_.size();
  std::uint64_t count = 0;
  for (const plait::Bytes& bytes : plait::all_gather(runtime_.messages(), std::as_bytes(std::span{&mine, 1}))) {
    count += view_as<std::uint64_t>(bytes, "a count").front();
  }
  if (count < 2 || count < runtime_.rank_count()) {
    throw plait::Error{
        plait::ErrorCode::bad_input,
        fmt::format("{} bodies are too few for {} ranks: a ring needs 2 bodies at least, and one for each rank",
                    count,
                    runtime_.rank_count())};
  }
}

Domains Simulation::Impl::cut_first_domains() {
  samples_ = choose_samples(bodies_, sample_count());
  std::vector<Sample> all;
  for (const plait::Bytes& bytes : plait::all_gather(runtime_.messages(), std::as_bytes(std::span{samples_}))) {
    const auto samples = view_as<Sample>(bytes, "samples");
    all.insert(all.end(), samples.begin(), samples.end());
  }
  return Domains{options_.grid, std::move(all)};
}

/// Brings each body to its domain, from anywhere: at the start, when all may be everywhere.
void Simulation::Impl::distribute() {
  std::vector<std::vector<Body>> out(runtime_.rank_count());
  for (const Body& body : bodies_) {
    out[domains_.rank_of(body.position)].push_back(body);
  }
  std::vector<plait::Bytes> in(runtime_.rank_count());
  std::vector<plait::Request> requests;
  for (std::uint32_t rank = 0; rank < runtime_.rank_count(); ++rank) {
    requests.push_back(runtime_.messages().receive({Rank{rank}, distribute_tag}, in[rank]));
    requests.push_back(runtime_.messages().send({Rank{rank}, distribute_tag}, std::as_bytes(std::span{out[rank]})));
  }
  for (plait::Request& request : requests) {
    request.wait();
  }
  bodies_.clear();
  for (const plait::Bytes& bytes : in) {
    const auto arrived = view_as<Body>(bytes, "bodies");
    bodies_.insert(bodies_.end(), arrived.begin(), arrived.end());
  }
}

// ---- the graph ----

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
  const std::uint32_t pieces = runtime_.worker_count() == 1 ? 1 : pieces_a_worker * runtime_.worker_count();
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

// ---- what tasks do ----

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
  const std::size_t pieces = std::size_t{pieces_a_worker} * runtime_.worker_count();
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

// ---- stepping ----

void Simulation::Impl::run(std::span<const Task> active, bool is_step) {
  is_stepping_ = is_step;
  runtime_.scheduler().reset_worker_times();
  const auto start = std::chrono::steady_clock::now();
  runtime_.run(graph_, active);
  profile_.wall += std::chrono::steady_clock::now() - start;
  for (const plait::WorkerTimes& times : runtime_.scheduler().worker_times()) {
    profile_.idle += times.total - times.busy;
  }
}

void Simulation::Impl::step() {
  const bool decomposes = runtime_.rank_count() > 1 && options_.steps_between_decompositions > 0 &&
                          steps_ % options_.steps_between_decompositions == 0;
  run(decomposes ? step_with_decomposition_ : whole_step_, true);
  ++steps_;
  time_ += parameters_.time_step;
  ++profile_.steps;
}

Profile Simulation::Impl::take_profile() {
  for (WorkerState& worker : workers_) {
    for (std::size_t phase = 0; phase < phase_count; ++phase) {
      profile_.phases[phase] += std::exchange(worker.phases[phase], {});
    }
  }
  // Idle workers wait for what others send.
  profile_.phases[static_cast<std::size_t>(Phase::exchange_lets)] += profile_.idle;
  return std::exchange(profile_, {});
}

Diagnostics Simulation::Impl::diagnose() {
  Diagnostics mine = ring::diagnose(bodies_, parameters_.central_mass);
  mine.spring = spring_;
  mine.dissipated = dissipation_.energy;
  Diagnostics all;
  for (const plait::Bytes& bytes : plait::all_gather(runtime_.messages(), std::as_bytes(std::span{&mine, 1}))) {
    all += view_as<Diagnostics>(bytes, "diagnostics").front();
  }
  return all;
}

// ---- the handle ----

Simulation::Simulation(plait::Runtime& runtime,
                       const Parameters& parameters,
                       const ParallelOptions& options,
                       Start start)
    : impl_{std::make_unique<Impl>(runtime, parameters, options, std::move(start))} {}

Simulation::~Simulation() = default;

void Simulation::step() {
  impl_->step();
}
const std::vector<Body>& Simulation::bodies() const noexcept {
  return impl_->bodies_;
}
std::uint64_t Simulation::steps_done() const noexcept {
  return impl_->steps_;
}
double Simulation::time() const noexcept {
  return impl_->time_;
}
Diagnostics Simulation::diagnose() {
  return impl_->diagnose();
}
const Domains& Simulation::domains() const noexcept {
  return impl_->domains_;
}
Dissipation Simulation::dissipation() const noexcept {
  return impl_->dissipation_;
}
double Simulation::spring() const noexcept {
  return impl_->spring_;
}
Profile Simulation::take_profile() {
  return impl_->take_profile();
}

}  // namespace ring
