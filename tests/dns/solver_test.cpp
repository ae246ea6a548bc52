// SPDX-License-Identifier: Apache-2.0
#include "dns/solver.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dns/flow.hpp"

namespace dns::test::solver_test {
namespace {

/// What must be exact but for rounding.
constexpr double rounding = 2e-13;

TEST(TaylorGreen, reaches_the_known_energy_and_enstrophy_on_any_grid_of_ranks) {
  for (const std::string variant : {"PLT", "PLN"}) {
    for (const Grid grid : {Grid{1, 1}, Grid{1, 2}, Grid{2, 1}, Grid{2, 2}, Grid{1, 3}, Grid{3, 2}, Grid{5, 1}}) {
      const FlowSetup setup{.grid = grid, .physics = {.viscosity = 1.0 / 1600}, .variant = variant};
      const Diagnostics after = diagnose_after(setup, start_taylor_green, 10, 0.01);
      EXPECT_NEAR(after.energy, 0.12495311751674, 1e-14) << grid.row << " x " << grid.column << variant;
      EXPECT_NEAR(after.enstrophy, 0.3752499311141, 1e-12) << grid.row << " x " << grid.column << variant;
    }
  }
}

TEST(TaylorGreen, does_not_depend_on_workers_or_empty_ranks) {
  for (const FlowSetup& setup : {FlowSetup{.workers = 3},
                                 FlowSetup{.grid = {1, 2}, .variant = "PLB", .workers = 2},
                                 FlowSetup{.lengths = {32, 36, 30}, .grid = {17, 1}}}) {
    FlowSetup thin = setup;
    thin.physics.viscosity = 1.0 / 1600;
    EXPECT_NEAR(diagnose_after(thin, start_taylor_green, 10, 0.01).energy, 0.12495311751674, 1e-14);
  }
}

/// Energy after 10 steps over that before, of flows that decay as exp(-rate t) whatever else happens.
struct Decay {
  const char* name;
  Lengths lengths;
  Grid grid;
  double rate;
  std::function<void(plait::Runtime&, Solver&)> start;
};

TEST(ExactFlows, decay_as_they_must) {
  const double nu = 0.05;
  const auto plane = [](plait::Runtime&, Solver& s) { set_taylor_green_2d(s.plan().spectral(), s.fields(), 2); };
  const auto abc = [](plait::Runtime&, Solver& s) { set_abc(s.plan().spectral(), s.fields(), {1, 0.7, 0.4}, 2); };
  const std::vector<Decay> cases{{"plane", {16, 15, 1}, {1, 3}, 2 * nu * 8, plane},
                                 {"plane in space", {13, 16, 12}, {2, 2}, 2 * nu * 8, plane},
                                 {"ABC", {16, 16, 16}, {1, 2}, 2 * nu * 4, abc}};
  for (const Decay& one : cases) {
    for (const Integrator integrator : {Integrator::rk2, Integrator::rk4}) {
      for (const Dealiasing dealiasing :
           {Dealiasing::truncation, Dealiasing::phase_shift, Dealiasing::phase_shift_random}) {
        const FlowSetup setup{
            .lengths = one.lengths, .grid = one.grid, .physics = {.viscosity = nu}, .scheme = {integrator, dealiasing}};
        const double before = diagnose_after(setup, one.start, 0, 0.1).energy;
        const double after = diagnose_after(setup, one.start, 10, 0.05).energy;
        EXPECT_NEAR(after / before, std::exp(-one.rate * 0.5), rounding) << one.name;
      }
    }
  }
}

void start_random(plait::Runtime& runtime, Solver& solver) {
  set_random(runtime, solver.plan().spectral(), solver.fields(), peaked_spectrum(0.5, 3), 7);
}

TEST(InviscidFlow, loses_no_energy_and_helicity_but_by_the_integrator) {
  for (const Integrator integrator : {Integrator::rk2, Integrator::rk4}) {
    for (const Dealiasing dealiasing : {Dealiasing::truncation, Dealiasing::phase_shift}) {
      const FlowSetup setup{
          .lengths = {24, 24, 20}, .grid = {1, 2}, .physics = {.viscosity = 0}, .scheme = {integrator, dealiasing}};
      const Diagnostics before = diagnose_after(setup, start_random, 0, 1);
      const Diagnostics coarse = diagnose_after(setup, start_random, 10, 0.02);
      const Diagnostics fine = diagnose_after(setup, start_random, 20, 0.01);
      // Energy is lost one order beyond that of the scheme: 2^3, 2^5 between the two.
      const double least = integrator == Integrator::rk4 ? 24 : 6;
      const double lost = std::abs(coarse.energy - before.energy);
      EXPECT_GT(lost, least * std::abs(fine.energy - before.energy));
      EXPECT_LT(lost, integrator == Integrator::rk4 ? 1e-7 : 1e-3);
      EXPECT_LT(std::abs(fine.helicity - before.helicity), std::abs(coarse.helicity - before.helicity) / least);
      EXPECT_NEAR(std::accumulate(before.transfer.begin(), before.transfer.end(), 0.0), 0, 1e-14);
    }
  }
}

TEST(Dealiasing, by_phase_shifts_transfers_as_a_grid_that_is_large_enough) {
  const auto transfer = [](plait::fft::Index points, Dealiasing dealiasing) {
    const FlowSetup setup{.lengths = {points, points, points}, .scheme = {Integrator::rk2, dealiasing}};
    const auto start = [](plait::Runtime& runtime, Solver& solver) {
      set_random(runtime, solver.plan().spectral(), solver.fields(), [](double k) { return k < 7.5 ? 0.1 : 0; }, 3);
    };
    return diagnose_after(setup, start, 0, 1).transfer;
  };
  const std::vector<double> right = transfer(32, Dealiasing::truncation);
  const auto error = [&](Dealiasing dealiasing) {
    const std::vector<double> found = transfer(16, dealiasing);
    double worst = 0;
    for (std::size_t k = 0; k <= 7; ++k) {
      worst = std::max(worst, std::abs(found[k] - right[k]) / *std::max_element(right.begin(), right.end()));
    }
    return worst;
  };
  EXPECT_LT(error(Dealiasing::phase_shift), 1e-13);
  EXPECT_GT(error(Dealiasing::none), 1e-3) << "this flow shows no aliasing, so the other showed nothing";
}

TEST(Dealiasing, by_steps_comes_close_to_that_by_two_grids_as_steps_shorten) {
  const auto energy = [](Dealiasing dealiasing, double dt) {
    const FlowSetup setup{.lengths = {16, 16, 16},
                          .grid = {1, 3},
                          .physics = {.viscosity = 0.01},
                          .scheme = {Integrator::rk2, dealiasing}};
    const auto start = [](plait::Runtime& runtime, Solver& solver) {
      set_random(runtime, solver.plan().spectral(), solver.fields(), [](double k) { return k > 0 ? 0.05 / k : 0; }, 3);
    };
    return diagnose_after(setup, start, static_cast<int>(0.2 / dt + 0.5), dt).energy;
  };
  for (const Dealiasing dealiasing : {Dealiasing::phase_shift_step, Dealiasing::phase_shift_random}) {
    const double coarse = std::abs(energy(dealiasing, 0.02) - energy(Dealiasing::phase_shift, 0.02));
    const double fine = std::abs(energy(dealiasing, 0.005) - energy(Dealiasing::phase_shift, 0.005));
    EXPECT_LT(fine, coarse / 2);
    EXPECT_GT(coarse, 1e-12);
  }
}

TEST(Scalars, decay_and_are_carried_along) {
  Physics physics{.viscosity = 0.02};
  physics.scalars = {{.name = "still", .schmidt = 0.5}, {.name = "sloped", .schmidt = 2, .mean_gradient = {0, 0, 1}}};
  for (const Dealiasing dealiasing : {Dealiasing::truncation, Dealiasing::phase_shift, Dealiasing::phase_shift_step}) {
    for (const std::string variant : {"PLT", "PLB"}) {
      const FlowSetup setup{.lengths = {18, 16, 14},
                            .grid = {1, 3},
                            .physics = physics,
                            .scheme = {Integrator::rk4, dealiasing},
                            .variant = variant};
      const auto at_rest = [](plait::Runtime&, Solver& s) {
        set_single_mode(s.plan().spectral(), s.fields().scalars[0], {2, -1, 3}, 0.6);
      };
      const Diagnostics rest = diagnose_after(setup, at_rest, 10, 0.05);
      EXPECT_NEAR(rest.scalars[0].variance, 0.18 * std::exp(-2 * 14 * 0.04 * 0.5), rounding);
      EXPECT_EQ(rest.scalars[1].variance, 0);

      // A sheet u_z = sin x in a mean gradient: theta = -sin x (exp(-nu t) - exp(-d t)) / (d - nu), d: diffusivity.
      const auto sheet = [](plait::Runtime&, Solver& s) {
        set_single_mode(s.plan().spectral(), s.fields().u[2], {1, 0, 0}, 1);
      };
      const double d = 0.01;
      const double size = (std::exp(-0.02 * 0.5) - std::exp(-d * 0.5)) / (d - 0.02);
      EXPECT_NEAR(diagnose_after(setup, sheet, 10, 0.05).scalars[1].variance, size * size / 2, 1e-12);
    }
  }
}

TEST(Scalars, keep_mean_and_variance_when_nothing_diffuses) {
  Physics physics{.viscosity = 0};
  physics.scalars = {{.name = "dye"}};
  const FlowSetup setup{.lengths = {16, 16, 18}, .grid = {2, 1}, .physics = physics};
  const auto start = [](plait::Runtime& runtime, Solver& solver) {
    start_random(runtime, solver);
    set_single_mode(solver.plan().spectral(), solver.fields().scalars[0], {1, 1, 0});
    if (solver.plan().spectral().box.low == std::array<plait::fft::Index, 3>{}) {
      solver.fields().scalars[0][0] = 3;
    }
  };
  const Diagnostics after = diagnose_after(setup, start, 20, 0.005);
  EXPECT_NEAR(after.scalars[0].variance, 0.5, 1e-9);
  EXPECT_NEAR(after.scalars[0].mean, 3, 1e-14);
}

TEST(RandomField, is_the_same_on_any_grid_and_has_the_spectrum_asked_for) {
  std::vector<Diagnostics> all;
  for (const Grid grid : {Grid{1, 1}, Grid{2, 3}}) {
    const FlowSetup setup{.lengths = {24, 20, 16}, .grid = grid, .physics = {.viscosity = 0.01}};
    all.push_back(diagnose_after(setup, start_random, 3, 0.01));
    const Diagnostics at_first = diagnose_after(setup, start_random, 0, 0.01);
    const auto spectrum = peaked_spectrum(0.5, 3);
    for (std::size_t k = 1; k <= 4; ++k) {  // shells that are on the grid as a whole
      EXPECT_NEAR(at_first.spectrum[k], spectrum(static_cast<double>(k)), 1e-14);
    }
    EXPECT_LT(at_first.divergence, 1e-14);
  }
  EXPECT_NEAR(all[0].energy, all[1].energy, 1e-14);
  EXPECT_NEAR(all[0].skewness, all[1].skewness, 1e-12);
  EXPECT_NEAR(all[0].u_max, all[1].u_max, 1e-12);
  EXPECT_NEAR(all[0].taylor_reynolds, all[1].taylor_reynolds, 1e-11);
}

TEST(Forcing, keeps_what_it_promises) {
  for (const Grid grid : {Grid{1, 1}, Grid{3, 1}}) {
    FlowSetup setup{.lengths = {16, 16, 16}, .grid = grid, .physics = {.viscosity = 0.05}};
    setup.physics.forcing = {.kind = ForcingKind::hold_energy, .wavenumber_max = 2.5};
    const Diagnostics before = diagnose_after(setup, start_random, 0, 0.01);
    const Diagnostics held = diagnose_after(setup, start_random, 10, 0.01);
    EXPECT_NEAR(held.spectrum[1], before.spectrum[1], 1e-14);
    EXPECT_NEAR(held.spectrum[2], before.spectrum[2], 1e-14);

    // All energy is in one eigenfunction of the curl: what is not dissipated has come from the forcing.
    setup.physics.forcing = {.kind = ForcingKind::constant_power, .wavenumber_max = 1, .power = 0.3};
    const auto abc = [](plait::Runtime&, Solver& s) { set_abc(s.plan().spectral(), s.fields()); };
    double expected = 1.5;
    for (int i = 0; i < 10; ++i) {
      expected = expected * std::exp(-2 * 0.05 * 0.01) + 0.3 * 0.01;
    }
    EXPECT_NEAR(diagnose_after(setup, abc, 10, 0.01).energy, expected, rounding);
  }
}

TEST(Forcing, by_chance_is_the_same_on_any_grid_and_goes_on_after_a_restart) {
  FlowSetup setup{.lengths = {16, 16, 16}, .physics = {.viscosity = 0.05}};
  setup.physics.forcing = {.kind = ForcingKind::stochastic, .variance = 0.5, .seed = 5};
  const auto rest = [](plait::Runtime&, Solver&) {};
  const Diagnostics one = diagnose_after(setup, rest, 8, 0.02);
  EXPECT_GT(one.energy, 1e-3);
  EXPECT_LT(one.divergence, 1e-14);
  setup.grid = {2, 2};
  EXPECT_NEAR(diagnose_after(setup, rest, 8, 0.02).energy, one.energy, 1e-14);
  const auto halfway = [&](plait::Runtime&, Solver& solver) {
    for (int i = 0; i < 4; ++i) {
      solver.step(0.02);
    }
    const std::vector<double> kept = solver.forcing_state();
    solver.set_forcing_state(std::vector<double>(kept.size(), 1.0));
    solver.set_time(0.08, 4);
    solver.set_forcing_state(kept);
  };
  EXPECT_NEAR(diagnose_after(setup, halfway, 4, 0.02).energy, one.energy, 1e-14);
}

TEST(Points, hold_the_field) {
  Physics physics{.viscosity = 0.01};
  physics.scalars = {{.name = "dye"}};
  const FlowSetup setup{.lengths = {16, 18, 20}, .grid = {1, 2}, .physics = physics};
  run_flow(setup, [](plait::Runtime&, Solver& solver) {
    set_taylor_green(solver.plan().spectral(), solver.fields());
    set_single_mode(solver.plan().spectral(), solver.fields().scalars[0], {0, 1, 0});
    const double rate = solver.courant_rate();
    solver.to_points();
    const plait::fft::ArrayLayout& points = solver.plan().physical();
    const auto x = [&](int axis, plait::fft::Index i) {
      return 2 * M_PI * static_cast<double>(i) / static_cast<double>(points.lengths[axis]);
    };
    double error = 0;
    double largest = 0;
    for (plait::fft::Index i = points.box.low[0]; i < points.box.high[0]; ++i) {
      for (plait::fft::Index j = points.box.low[1]; j < points.box.high[1]; ++j) {
        for (plait::fft::Index k = points.box.low[2]; k < points.box.high[2]; ++k) {
          const auto place = static_cast<std::size_t>(points.offset(i, j, k));
          const double u = std::sin(x(0, i)) * std::cos(x(1, j)) * std::cos(x(2, k));
          const double w = 2 * std::sin(x(0, i)) * std::sin(x(1, j)) * std::cos(x(2, k));
          error = std::max({error,
                            std::abs(solver.velocity(0)[place] - u),
                            std::abs(solver.vorticity(2)[place] - w),
                            std::abs(solver.scalar(0)[place] - std::cos(x(1, j)))});
          largest = std::max(largest, std::abs(u));
        }
      }
    }
    EXPECT_LT(error, 1e-14);
    EXPECT_GT(rate, 0.9);
  });
}

TEST(Projection, removes_what_has_divergence) {
  const FlowSetup setup{.lengths = {16, 18, 20}, .grid = {1, 2}};
  run_flow(setup, [](plait::Runtime&, Solver& solver) {
    set_taylor_green(solver.plan().spectral(), solver.fields());
    set_single_mode(solver.plan().spectral(), solver.fields().u[2], {0, 0, 1});  // cos z has the energy 1/4
    EXPECT_NEAR(solver.project(), 0.25 / (0.25 + 0.125), 1e-13);
    const Diagnostics now = solver.diagnose();
    EXPECT_NEAR(now.energy, 0.125, 1e-14);
    EXPECT_LT(now.divergence, 1e-14);
  });
}

TEST(Trouble, is_told_on_all_ranks) {
  for (const std::string variant : {"PLT", "PLB"}) {
    const FlowSetup setup{.lengths = {12, 12, 12}, .grid = {1, 3}, .physics = {.viscosity = 0}, .variant = variant};
    run_flow(setup, [](plait::Runtime& runtime, Solver& solver) {
      start_taylor_green(runtime, solver);
      if (runtime.self() == plait::Rank{0}) {
        solver.fields().u[0][0] = std::numeric_limits<double>::quiet_NaN();
      }
      EXPECT_THROW(solver.step(0.01), plait::Error);
    });
    run_flow(setup, [](plait::Runtime& runtime, Solver& solver) {
      start_random(runtime, solver);
      std::string sentence;
      try {
        for (int i = 0; i < 100; ++i) {
          solver.step(100 / solver.courant_rate());
        }
      } catch (const plait::Error& error) {
        sentence = error.what();
      }
      EXPECT_NE(sentence.find("the Courant number was 100,"), std::string::npos) << sentence;
      EXPECT_NE(sentence.find("take shorter steps"), std::string::npos) << sentence;
    });
  }
  for (const double step : {0.0, -1.0, std::nan("")}) {
    run_flow({.lengths = {4, 4, 4}}, [&](plait::Runtime&, Solver& s) { EXPECT_THROW(s.step(step), plait::Error); });
  }
  const FlowSetup negative{.lengths = {4, 4, 4}, .physics = {.viscosity = -1}};
  EXPECT_THROW(run_flow(negative, [](plait::Runtime&, Solver&) {}), plait::Error);
}

TEST(Memory, is_known_before) {
  const FlowSetup setup{.lengths = {16, 16, 16}};
  const plait::fft::PlanOptions options = plan_options(setup);
  const Scheme rk4{};
  const Memory one = Solver::memory_needed(setup.lengths, options, 1, {}, rk4);
  EXPECT_EQ(one.points, 6 * sizeof(double) * 16 * 16 * 16);
  EXPECT_EQ(one.modes, 12 * 2 * sizeof(double) * 16 * 16 * 9) << "state, input, sum: 3 each; and 3 transformed";
  Physics dyed;
  dyed.scalars.resize(2);
  EXPECT_EQ(Solver::memory_needed(setup.lengths, options, 1, dyed, rk4).points, 2 * one.points);
  const Scheme two_grids{Integrator::rk2, Dealiasing::phase_shift};
  EXPECT_EQ(Solver::memory_needed(setup.lengths, options, 1, {}, two_grids).modes, one.modes);
}

}  // namespace
}  // namespace dns::test::solver_test
