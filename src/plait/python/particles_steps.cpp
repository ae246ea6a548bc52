// SPDX-License-Identifier: Apache-2.0
#include "plait/python/particles_steps.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "plait/base/error.hpp"
#include "plait/python/arrays.hpp"

namespace plait::python {

namespace nb = nanobind;
using particles::Kick;
using particles::Particles;

namespace {

/// The places of particles, for NumPy's indexing.
Array<std::int64_t, 1> places_of(std::span<const Particles::Index> places) {
  const std::size_t count = places.size();
  return array_of<1>(std::vector<std::int64_t>(places.begin(), places.end()), {count});
}

particles::SystemOptions options_of(const ParticleStore& store, const SystemSettings& settings) {
  particles::CellsOfSystem cells{.kinds = particles::Kinds::from_bits(settings.limited_kinds)};
  if (settings.cell_reach) {
    cells.reach = store.float_field(*settings.cell_reach, "cell_reach");
  }
  return {.space = settings.space,
          .grid = {settings.grid[0], settings.grid[1], settings.grid[2]},
          .steps_between_decompositions = settings.steps_between_decompositions,
          .steps_between_trees = settings.steps_between_trees,
          .cells = cells};
}

}  // namespace

struct ParticleSystem::State {
  State(Runtime& runtime, std::shared_ptr<ParticleStore> its_store, const particles::SystemOptions& options)
      : store{std::move(its_store)},
        system{runtime.messages(), runtime.scheduler(), store->particles(), options},
        self{runtime.self()} {
    system.record_to(runtime.trace());
  }

  /// A function that any worker may call and destroy, with or without the GIL.
  template <class Use>
  auto function(const nb::object& callable, const Use& use) {
    const std::shared_ptr<nb::object> kept{new nb::object{callable}, [](nb::object* object) {
                                             const nb::gil_scoped_acquire gil;
                                             delete object;
                                           }};
    return [this, kept, use](auto&&... arguments) {
      const nb::gil_scoped_acquire gil;
      try {
        use(*kept, std::forward<decltype(arguments)>(arguments)...);
      } catch (const nb::python_error& error) {
        if (!failure) {
          failure.emplace(error);
        }
        const nb::object type = nb::borrow(error.type()).attr("__name__");
        throw Error{ErrorCode::user_task,
                    fmt::format("rank {}: a function of a step has ended with {}: {}",
                                self.value(),
                                nb::cast<std::string>(type),
                                nb::cast<std::string>(nb::str(error.value()))),
                    self};
      }
    };
  }

  auto range_function(const nb::object& callable) {
    return function(callable, [](const nb::object& called, const Particles&, std::size_t first, std::size_t last) {
      called(first, last);
    });
  }

  auto kick_function(const nb::object& callable) {
    return function(callable, [](const nb::object& called, const Particles&, std::span<const Kick> kicks) {
      std::vector<std::int64_t> places;
      std::vector<double> durations;
      for (const Kick& kick : kicks) {
        places.push_back(kick.place);
        durations.push_back(kick.duration);
      }
      called(array_of<1>(std::move(places), {kicks.size()}), array_of<1>(std::move(durations), {kicks.size()}));
    });
  }

  std::shared_ptr<ParticleStore> store;  ///< Outlives the system.
  particles::System system;
  Rank self;
  std::optional<nb::python_error> failure;  ///< The first of a function of this rank. Guarded by the GIL.
};

ParticleSystem::ParticleSystem(std::shared_ptr<Engine> engine,
                               std::shared_ptr<ParticleStore> store,
                               const SystemSettings& settings)
    : engine_{std::move(engine)}, store_{std::move(store)} {
  Runtime& runtime = engine_->runtime();
  const ParticleStore::Change change{*store_};
  const particles::SystemOptions options = options_of(*store_, settings);
  const auto made = engine_->run([&] { return std::make_shared<State>(runtime, store_, options); });
  engine_->keep(made);
  state_ = made;
}

ParticleSystem::State& ParticleSystem::state() const {
  const std::shared_ptr<State> found = state_.lock();
  if (!found) {
    throw nb::value_error("the system is closed, or its runtime is");
  }
  return *found;  // the engine owns it
}

/// Calls `work` with the system, without the GIL. Throws: the exception of a function of this rank, if it has ended the
/// call; else as `work`.
template <class Work>
auto ParticleSystem::run(const Work& work) {
  State& own = state();
  const ParticleStore::Change change{*store_};
  try {
    return engine_->run([&] { return work(own.system); });
  } catch (const Error&) {
    if (own.failure) {
      nb::python_error failure = std::move(*own.failure);
      own.failure.reset();
      throw failure;
    }
    throw;
  }
}

void ParticleSystem::integrate(const std::string& velocity,
                               const std::string& acceleration,
                               const std::optional<std::string>& velocity_now) {
  particles::LeapfrogFields fields{.velocity = store_->vector_field(velocity, "velocity"),
                                   .acceleration = store_->vector_field(acceleration, "acceleration")};
  if (velocity_now) {
    fields.velocity_now = store_->vector_field(*velocity_now, "velocity_now");
  }
  state().system.integrate(particles::leapfrog(fields));
}

void ParticleSystem::integrate_by(const OwnIntegrator& given) {
  State& own = state();
  particles::Integrator integrator{
      .velocity = store_->vector_field(given.velocity, "velocity"),
      .drift = own.function(
          given.drift,
          [](const nb::object& called, const Particles&, std::size_t first, std::size_t last, double duration) {
            called(first, last, duration);
          }),
      .kick = own.kick_function(given.kick),
      .predicted = store_->any_fields(given.predicted),
      .forces = store_->any_fields(given.forces)};
  if (!given.settle.is_none()) {
    integrator.settle = own.kick_function(given.settle);
  }
  own.system.integrate(std::move(integrator));
}

void ParticleSystem::take_steps(const particles::TimeSteps& steps) {
  const ParticleStore::Change change{*store_};
  state().system.take_steps(steps);
}

void ParticleSystem::limit_steps_by(const nb::object& criterion) {
  State& own = state();
  own.system.limit_steps_by(own.function(
      criterion,
      [](const nb::object& called,
         const Particles&,
         std::span<const Particles::Index> places,
         std::span<double> longest) {
        const auto lengths = nb::cast<Numbers>(called(places_of(places)));
        require(lengths.size() == longest.size(), "a criterion has not returned one length for each place");
        std::ranges::transform(longest, numbers_of(lengths), longest.begin(), [](double old, double length) {
          return std::min(old, length);
        });
      }));
}

void ParticleSystem::add_stage(const std::string& name,
                               std::uint64_t kinds,
                               const std::vector<std::string>& writes,
                               const nb::object& function) {
  State& own = state();
  own.system.add_stage({.name = name,
                        .kinds = particles::Kinds::from_bits(kinds),
                        .work = own.function(function,
                                             [](const nb::object& called, const particles::StageWork& work) {
                                               called(places_of(work.targets));
                                             }),
                        .writes = store_->any_fields(writes)});
}

void ParticleSystem::before(const std::string& name, const nb::object& function) {
  State& own = state();
  own.system.before(name, own.range_function(function));
}

void ParticleSystem::after(const std::string& name, const nb::object& function) {
  State& own = state();
  own.system.after(name, own.range_function(function));
}

void ParticleSystem::when_summed(const nb::object& function) {
  State& own = state();
  own.system.when_summed(own.function(function, [](const nb::object& called) { called(); }));
}

void ParticleSystem::add_long_range(const LongRangeSettings& settings) {
  particles::LongRangeOptions options{
      .charge = store_->number_field(settings.charge, "charge"),
      .signs = settings.has_both_signs ? particles::ChargeSigns::both : particles::ChargeSigns::one,
      .acceleration = store_->vector_field(settings.acceleration, "acceleration"),
      .potential = store_->number_field(settings.potential, "potential"),
      .sources = particles::Kinds::from_bits(settings.sources),
      .targets = particles::Kinds::from_bits(settings.targets),
      .theta = settings.theta,
      .order = settings.is_quadrupole ? particles::Order::quadrupole : particles::Order::monopole,
      .precision = settings.is_mixed ? particles::Precision::mixed : particles::Precision::full,
      .softening = settings.softening,
      .coupling = settings.coupling,
      .cutoff = settings.cutoff};
  if (settings.velocity) {
    options.velocity = store_->vector_field(*settings.velocity, "velocity");
  }
  const ParticleStore::Change change{*store_};
  state().system.add_long_range(std::move(options));
}

void ParticleSystem::update() {
  run([](particles::System& system) { system.update(); });
}

particles::StepResult ParticleSystem::step() {
  return run([](particles::System& system) { return system.step(); });
}

void ParticleSystem::run_until(double time) {
  run([time](particles::System& system) { system.run_until(time); });
}

void ParticleSystem::synchronise() {
  run([](particles::System& system) { system.synchronise(); });
}

void ParticleSystem::distribute() {
  run([](particles::System& system) { system.distribute(); });
}

double ParticleSystem::time() const {
  return state().system.time();
}

bool ParticleSystem::is_over() const {
  return state().system.is_over();
}

particles::Box ParticleSystem::domain() const {
  return state().system.domain().box();
}

void ParticleSystem::close() {
  if (std::shared_ptr<State> found = state_.lock()) {
    const ParticleStore::Change change{*store_};
    engine_->forget(found);
    engine_->run([&] { found.reset(); });
  }
}

}  // namespace plait::python
