// SPDX-License-Identifier: Apache-2.0
#include "dns/program/run.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>

#include <fmt/format.h>
#include <mpi.h>

#include "plait/fft.hpp"
#include "plait/plait.hpp"

#include "dns/initial_field.hpp"
#include "dns/program/memory.hpp"
#include "dns/program/problems.hpp"
#include "dns/program/run_files.hpp"
#include "dns/program/time_steps.hpp"
#include "dns/solver.hpp"
#include "support/agree.hpp"
#include "support/choice.hpp"
#include "support/progress_bar.hpp"

namespace dns {
namespace {

using plait::Error;
using plait::ErrorCode;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t bar_units = 1000;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>{Clock::now() - start}.count();
}

/// One run, from the initial or restored flow.
class Run {
 public:
  Run(plait::Runtime& runtime, Solver& solver, RunFiles& files, const RunSettings& settings)
      : runtime_{runtime},
        solver_{solver},
        files_{files},
        settings_{settings},
        steps_{settings},
        is_first_{runtime.self() == plait::Rank{0}} {}

  /// `rate`: from the checkpoint, if the run was restarted.
  void operator()(std::optional<double> rate) {
    const bool goes_on = rate.has_value();
    rate_ = goes_on ? *rate : solver_.courant_rate();
    if (is_first_) {
      fmt::print(
          "{}\n\n"
          "    step       time         energy   dissipation     enstrophy  R_lambda  kmax eta  skewness     CFL\n",
          steps_.describe());
    }
    diagnose();
    if (!goes_on) {
      files_.write_fields();
    }
    solver_.reset_times();
    runtime_.scheduler().reset_worker_times();
    app::ProgressBar bar{bar_units, is_first_, "thousandths"};
    while (!steps_.is_over(solver_.step_count(), solver_.time())) {
      step(bar);
      const bool is_last = steps_.is_over(solver_.step_count(), solver_.time());
      if (is_last || is_due(settings_.diagnose_steps)) {
        bar.clear();
        diagnose();
      }
      if (is_last || is_due(settings_.output_steps)) {
        files_.write_fields();
      }
      if (is_due(settings_.checkpoint_steps)) {  // last: a restart does not repeat the output before it
        files_.write_checkpoint(rate_);
      }
      bar.update(static_cast<std::uint64_t>(static_cast<double>(bar_units) *
                                            std::min(1.0, steps_.done(solver_.step_count(), solver_.time()))));
    }
    bar.clear();
    files_.finish();
    print_times();
  }

 private:
  [[nodiscard]] bool is_due(std::uint64_t every) const { return every > 0 && solver_.step_count() % every == 0; }

  void step(app::ProgressBar& bar) {
    try {
      const TimeSteps::Choice choice = steps_.next(solver_.step_count(), solver_.time(), rate_);
      if (is_first_ && !choice.warning.empty()) {
        bar.clear();
        fmt::print("{}\n", choice.warning);
      }
      last_ = choice;
      const Clock::time_point start = Clock::now();
      solver_.step(choice.dt);
      seconds_ += seconds_since(start);
      rate_ = solver_.courant_rate();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::bad_argument) {
        throw;
      }
      bar.clear();
      const char* const kept = settings_.checkpoint_steps > 0 ? "; checkpoints so far are kept: --restart goes on" : "";
      throw app::AgreedError{Error{error.code(), std::string{error.what()} + kept}};
    }
  }

  void diagnose() {
    const Diagnostics now = solver_.diagnose();
    const double courant = last_.dt > 0 ? last_.courant : 0;
    files_.note(now, {.time_step = last_.dt, .courant = courant, .seconds = seconds_since(start_)});
    if (!is_first_) {
      return;
    }
    fmt::print("{:>8} {:>10.6g} {:>14.8e} {:>13.6e} {:>13.6e} {:>9.2f} {:>9.3f} {:>9.4f} {:>7.3f}\n",
               now.step,
               now.time,
               now.energy,
               now.dissipation,
               now.enstrophy,
               now.taylor_reynolds,
               now.k_max_eta,
               now.skewness,
               courant);
    std::fflush(stdout);
  }

  /// The mean over ranks of where the time went.
  void print_times() {
    const StepTimes& times = solver_.times();
    double busy = 0;
    double whole = 0;
    for (const plait::WorkerTimes& worker : runtime_.scheduler().worker_times()) {
      busy += std::chrono::duration<double>{worker.busy}.count();
      whole += std::chrono::duration<double>{worker.total}.count();
    }
    std::array<double, 5> sum{std::chrono::duration<double>{times.total}.count(),
                              std::chrono::duration<double>{times.transforms}.count(),
                              std::chrono::duration<double>{times.pointwise}.count(),
                              busy,
                              whole};
    plait::all_reduce(plait::Group{runtime_.messages()}, std::span{sum}).wait();
    if (!is_first_ || times.steps == 0) {
      return;
    }
    fmt::print("\n{} steps, {:.4g} s a step\n", times.steps, seconds_ / static_cast<double>(times.steps));
    if (solver_.plan().variant() != "PLT") {
      fmt::print("of that {:.1f} % in transforms with their exchanges, {:.1f} % in the work on points and modes\n",
                 100 * sum[1] / sum[0],
                 100 * sum[2] / sum[0]);
    } else if (sum[4] > 0) {
      fmt::print(
          "workers computed in {:.1f} % of that, {:.1f} % on points and modes; in the rest they waited for messages "
          "or for tasks\n",
          100 * sum[3] / sum[4],
          100 * sum[2] / sum[4]);
    }
  }

  plait::Runtime& runtime_;
  Solver& solver_;
  RunFiles& files_;
  const RunSettings& settings_;
  TimeSteps steps_;
  bool is_first_;
  double rate_ = 0;
  TimeSteps::Choice last_;
  double seconds_ = 0;
  Clock::time_point start_ = Clock::now();
};

std::uint64_t memory_of(const RunSettings& settings,
                        const std::array<Index, 3>& points,
                        const plait::fft::PlanOptions& options,
                        const plait::Runtime& runtime) {
  const Memory memory =
      Solver::memory_needed(points, options, runtime.rank_count(), settings.physics(), settings.numerics());
  std::uint64_t needed = memory.total();
  const auto one_field =
      static_cast<std::uint64_t>(points[0] * points[1] * points[2]) * sizeof(double) / runtime.rank_count();
  if (settings.has_output() || settings.problem == "file") {
    needed += one_field;  // transposed for the file, or read
  }
  if (settings.has_checkpoints()) {
    needed += one_field * (3 + settings.schmidt.size());  // a copy of all modes
  }
  return needed;
}

}  // namespace

void run(plait::Runtime& runtime, const RunSettings& settings) {
  const bool is_first = runtime.self() == plait::Rank{0};
  std::array<Index, 3> points{};
  const ProblemKind* kind = nullptr;
  app::agree(runtime, [&] {
    settings.check();
    kind = &app::find_named("--problem", settings.problem, problem_kinds());
    points = choose_points(settings);
  });
  plait::fft::PlanOptions plan_options = settings.plan_options();
  plan_options.more = plait::fft::mpi::variants(MPI_COMM_WORLD);
  std::uint64_t needed = 0;
  app::agree(runtime, [&] { needed = memory_of(settings, points, plan_options, runtime); });
  check_memory(runtime, needed, settings.memory_limit_gib);
  const plait::fft::Plan plan =
      app::as_agreed([&] { return plait::fft::Plan{runtime.messages(), runtime.scheduler(), points, plan_options}; });
  if (is_first) {
    fmt::print("{}", plan.describe());
  }
  std::optional<Solver> solver;
  app::as_agreed([&] { solver.emplace(runtime, plan, settings.physics(), settings.numerics()); });
  RunFiles files{runtime, settings, *solver};
  const std::optional<double> rate = files.go_on();
  if (!rate) {
    kind->begin(runtime, settings, *solver);
    for (std::size_t i = 0; i < solver->fields().scalars.size(); ++i) {
      if (settings.problem != "file" && settings.scalar_gradient == 0) {
        set_single_mode(plan.spectral(), solver->fields().scalars[i], {1, 0, 0});
      }
    }
  }
  Run{runtime, *solver, files, settings}(rate);
}

}  // namespace dns
