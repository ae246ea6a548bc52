// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "plait/plait.hpp"

#include "dns/initial_field.hpp"
#include "dns/solver.hpp"

namespace dns::test {

using Lengths = std::array<plait::fft::Index, 3>;
using Grid = plait::fft::RankGrid;

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
  const std::uint32_t ranks = setup.grid.row * setup.grid.column;
  plait::net::LoopbackNetwork network{ranks};
  std::vector<std::exception_ptr> thrown(ranks);
  {
    plait::Options options;
    options.worker_count = setup.workers;
    std::vector<std::jthread> threads;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        try {
          plait::Runtime runtime{network.driver(plait::Rank{rank}), options};
          run_rank(runtime, setup, body);
        } catch (...) {
          thrown[rank] = std::current_exception();
        }
      });
    }
  }
  for (const std::exception_ptr& one : thrown) {
    if (one) {
      std::rethrow_exception(one);
    }
  }
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
