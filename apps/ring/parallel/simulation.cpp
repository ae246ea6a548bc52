// SPDX-License-Identifier: Apache-2.0
// A ring on ranks: how it begins, steps and tells what it cost.
#include "ring/parallel/simulation.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "ring/parallel/detail/simulation_impl.hpp"
#include "support/agree.hpp"

namespace ring {

namespace {

using detail::view_as;
using plait::Rank;
using plait::Task;

constexpr plait::Tag distribute_tag{5};  // beside those of step_graph.cpp

}  // namespace

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
  app::agree(runtime, [this] { refuse_coinciding_bodies(); });
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
    throw app::AgreedError{plait::Error{
        plait::ErrorCode::bad_input,
        fmt::format("{} bodies are too few for {} ranks: a ring needs 2 bodies at least, and one for each rank",
                    count,
                    runtime_.rank_count())}};
  }
}

/// Bodies at one place are on one rank: the place tells the domain.
void Simulation::Impl::refuse_coinciding_bodies() const {
  std::vector<const Body*> sorted;
  for (const Body& body : bodies_) {
    sorted.push_back(&body);
  }
  const auto place = [](const Body* body) { return std::tuple{body->position.x, body->position.y, body->position.z}; };
  std::ranges::sort(sorted, {}, place);
  const auto twin = std::ranges::adjacent_find(sorted, {}, place);
  if (twin != sorted.end()) {
    const Body& body = **twin;
    throw plait::Error{plait::ErrorCode::bad_input,
                       fmt::format("bodies {} and {} are at the same place ({}, {}, {}): move or merge them",
                                   body.id,
                                   (*std::next(twin))->id,
                                   body.position.x,
                                   body.position.y,
                                   body.position.z)};
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

double Simulation::Impl::dissipation_rate() {
  double rate = 0;
  for (const plait::Bytes& bytes :
       plait::all_gather(runtime_.messages(), std::as_bytes(std::span{&dissipation_.rate, 1}))) {
    rate += view_as<double>(bytes, "a rate").front();
  }
  return rate;
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
double Simulation::dissipation_rate() {
  return impl_->dissipation_rate();
}
Profile Simulation::take_profile() {
  return impl_->take_profile();
}

}  // namespace ring
