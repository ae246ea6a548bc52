// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "plait/fft.hpp"
#include "plait/plait.hpp"
#include "plait/testing/run_program.hpp"

#include "dns/initial_field.hpp"
#include "dns/solver.hpp"

namespace dns::test {

using Lengths = std::array<plait::fft::Index, 3>;
using Grid = plait::fft::TransformGrid;

/// How a flow is computed.
struct FlowSetup {
  Lengths lengths{32, 32, 32};
  Grid grid{1, 1};
  Physics physics;
  Scheme scheme;
  std::string variant = "PLT";
  std::uint32_t workers = 1;
};

inline plait::fft::PlanOptions plan_options(const FlowSetup& setup) {
  plait::fft::PlanOptions options;
  options.grid = setup.grid;
  options.effort = plait::fft::Effort::estimate;
  options.variant = setup.variant;
  return options;
}

/// Runs `body(runtime, solver)` on one rank of `setup.grid`.
inline void run_rank(plait::Runtime& runtime,
                     const FlowSetup& setup,
                     const std::function<void(plait::Runtime&, Solver&)>& body) {
  const plait::fft::Plan plan{runtime.messages(), runtime.scheduler(), setup.lengths, plan_options(setup)};
  Solver solver{runtime, plan, setup.physics, setup.scheme};
  body(runtime, solver);
}

/// Runs `body` on all ranks of `setup.grid`, threads of this process. Throws again what the lowest rank threw.
inline void run_flow(const FlowSetup& setup, const std::function<void(plait::Runtime&, Solver&)>& body) {
  plait::Options options;
  options.worker_count = setup.workers;
  plait::test::run_program({.ranks = setup.grid.row * setup.grid.column}, options, [&](plait::Runtime& runtime) {
    run_rank(runtime, setup, body);
  });
}

/// Steps of `dt`, and what is measured then, on rank 0.
inline Diagnostics diagnose_after(const FlowSetup& setup,
                                  const std::function<void(plait::Runtime&, Solver&)>& start,
                                  int steps,
                                  double dt) {
  Diagnostics result;
  run_flow(setup, [&](plait::Runtime& runtime, Solver& solver) {
    start(runtime, solver);
    for (int i = 0; i < steps; ++i) {
      solver.step(dt);
    }
    const Diagnostics mine = solver.diagnose();
    if (runtime.self() == plait::Rank{0}) {
      result = mine;
    }
  });
  return result;
}

inline void start_taylor_green(plait::Runtime& /*runtime*/, Solver& solver) {
  set_taylor_green(solver.plan().spectral(), solver.fields());
}

}  // namespace dns::test
