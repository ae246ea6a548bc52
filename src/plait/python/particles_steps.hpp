// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include "plait/particles/steps/system.hpp"
#include "plait/python/engine.hpp"
#include "plait/python/particles_store.hpp"

namespace plait::python {

/// The settings of a `ParticleSystem`.
struct SystemSettings {
  particles::Space space;
  std::array<std::uint32_t, 3> grid{};
  std::uint32_t steps_between_decompositions = 4;
  std::uint32_t steps_between_trees = 1;
  std::optional<std::string> cell_reach;
  std::uint64_t limited_kinds = ~std::uint64_t{0};
};

/// A program's integrator. Fields by name; `settle` may be None.
struct OwnIntegrator {
  std::string velocity;
  nanobind::object drift;  ///< Called with the first and the last place and the duration.
  nanobind::object kick;   ///< Called with places and durations, as `settle`.
  nanobind::object settle;
  std::vector<std::string> predicted;
  std::vector<std::string> forces;
};

/// A long-range interaction. Fields by name.
struct LongRangeSettings {
  std::string charge;
  std::string acceleration;
  std::string potential;
  std::optional<std::string> velocity;
  double theta = 0.5;
  double softening = 0;
  double coupling = 1;
  double cutoff = 0;
  bool is_quadrupole = true;
  bool is_mixed = false;
  bool has_both_signs = false;
  std::uint64_t sources = ~std::uint64_t{0};
  std::uint64_t targets = ~std::uint64_t{0};
};

/// A `particles::System` of a Python program, whose functions may be Python's.
///
/// Steps run without the GIL; workers take it for each call of a function. The exception of a function ends the step on
/// all ranks: on its own rank the step throws the exception itself, on others its sentence. The engine owns the system
/// until `close`. Threads: those that hold the GIL.
class ParticleSystem {
 public:
  /// Collective, as steps. Throws: as `particles::System`.
  ParticleSystem(std::shared_ptr<Engine> engine, std::shared_ptr<ParticleStore> store, const SystemSettings& settings);

  void integrate(const std::string& velocity,
                 const std::string& acceleration,
                 const std::optional<std::string>& velocity_now);
  void integrate_by(const OwnIntegrator& given);
  void take_steps(const particles::TimeSteps& steps);
  /// `criterion` is called with places, and returns a length for each.
  void limit_steps_by(const nanobind::object& criterion);
  /// `function` is called with places.
  void add_stage(const std::string& name,
                 std::uint64_t kinds,
                 const std::vector<std::string>& writes,
                 const nanobind::object& function);
  /// `function` is called with the first and the last place.
  void before(const std::string& name, const nanobind::object& function);
  void after(const std::string& name, const nanobind::object& function);
  void when_summed(const nanobind::object& function);
  void add_long_range(const LongRangeSettings& settings);

  void update();
  particles::StepResult step();
  void run_until(double time);
  void synchronise();
  void distribute();
  [[nodiscard]] double time() const;
  [[nodiscard]] bool is_over() const;
  [[nodiscard]] particles::Box domain() const;
  void close();

 private:
  struct State;

  [[nodiscard]] State& state() const;
  template <class Work>
  auto run(const Work& work);

  std::shared_ptr<Engine> engine_;
  std::shared_ptr<ParticleStore> store_;
  std::weak_ptr<State> state_;
};

}  // namespace plait::python
