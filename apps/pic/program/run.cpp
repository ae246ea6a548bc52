// SPDX-License-Identifier: Apache-2.0
#include "pic/program/run.hpp"

#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <mpi.h>

#include "plait/plait.hpp"

#include "pic/mpi/mpi_ranks.hpp"
#include "pic/output/way_output.hpp"
#include "pic/parallel/checkpoint.hpp"
#include "pic/program/output_folder.hpp"
#include "pic/program/ways.hpp"
#include "support/agree.hpp"
#include "support/progress_bar.hpp"
#include "support/restart.hpp"

namespace pic {

namespace {

void print_header() {
  fmt::print("{:>8} {:>10} {:>12} {:>14} {:>14} {:>14} {:>14} {:>10}\n",
             "step",
             "time",
             "particles",
             "kinetic",
             "electric",
             "magnetic",
             "energy",
             "change");
}

/// The largest and the mean of each phase over the ranks.
void print_profile(const Way& way, Ranks& ranks) {
  const Profile& mine = way.profile();
  struct Row {
    const char* name;
    double seconds;
  };
  const std::array<Row, 4> rows{{{"move and deposit", mine.particles.count()},
                                 {"hand particles over", mine.migration.count()},
                                 {"hand fields and deposits over", mine.hand_over.count()},
                                 {"solve", mine.solve.count()}}};
  if (ranks.self() == 0) {
    fmt::print("\n{:<30} {:>12} {:>12} {:>10}\n", "seconds", "mean", "largest", "imbalance");
  }
  for (const Row& row : rows) {
    const double largest = ranks.max(row.seconds);
    std::array<std::int64_t, 1> nanoseconds{std::llround(row.seconds * 1e9)};
    ranks.sum(nanoseconds);
    const double mean = static_cast<double>(nanoseconds[0]) * 1e-9 / ranks.count();
    if (ranks.self() == 0) {
      fmt::print("{:<30} {:>12.4f} {:>12.4f} {:>9.1f}%\n",
                 row.name,
                 mean,
                 largest,
                 mean > 0 ? (largest / mean - 1) * 100 : 0.0);
    }
  }
}

void print_balancings(const Way& way) {
  if (way.balancings().empty()) {
    return;
  }
  fmt::print("\n{:>8} {:>12} {:>12} {:>8} {:>12} {:>12}\n",
             "balanced",
             "imbalance",
             "predicted",
             "moved",
             "decided (ms)",
             "moved (ms)");
  for (const BalanceNote& note : way.balancings()) {
    fmt::print("{:>8} {:>11.1f}% {:>11.1f}% {:>8} {:>12.3f} {:>12.3f}\n",
               note.step,
               note.imbalance_before * 100,
               note.imbalance_predicted * 100,
               note.moved,
               note.decided.count() * 1e3,
               note.migrated.count() * 1e3);
  }
}

/// One run, after the problem has been made.
class Run {
 public:
  /// What is written every few steps.
  struct Files {
    std::function<void()> write_output;
    std::function<void(double begin)> write_checkpoint;  ///< With the energy at the begin.
  };

  Run(Way& way, Ranks& ranks, double time_step, const RunSettings& settings, Files files)
      : way_{way},
        ranks_{ranks},
        time_step_{time_step},
        settings_{settings},
        files_{std::move(files)},
        is_first_{ranks.self() == 0} {}

  /// Of a run that goes on.
  void set_begin(double energy) { begin_ = energy; }

  int operator()() {
    if (is_first_) {
      print_header();
    }
    Totals now = diagnose();
    const std::uint64_t done_before = way_.steps_done();
    if (done_before == 0) {
      files_.write_output();
    }
    app::ProgressBar bar{settings_.problem.steps, is_first_, "steps"};
    for (std::uint64_t done = done_before + 1; done <= settings_.problem.steps; ++done) {
      way_.step();
      const bool is_last = done == settings_.problem.steps;
      if (is_last || is_due(done, settings_.diagnose_steps)) {
        bar.clear();
        now = diagnose();
      }
      if (is_last || is_due(done, settings_.output_steps)) {
        files_.write_output();
      }
      if (is_due(done, settings_.checkpoint_steps)) {  // last: what a restart does not write again is there
        files_.write_checkpoint(*begin_);
      }
      bar.update(done);
    }
    bar.clear();
    return finish(now);
  }

 private:
  [[nodiscard]] static bool is_due(std::uint64_t step, std::uint64_t every) { return every > 0 && step % every == 0; }

  Totals diagnose() {
    const Totals now = way_.totals();
    if (!begin_) {
      begin_ = now.energy();
    }
    if (!is_first_) {
      return now;
    }
    fmt::print("{:>8} {:>10.4f} {:>12} {:>14.6e} {:>14.6e} {:>14.6e} {:>14.6e} {:>+10.2e}\n",
               way_.steps_done(),
               static_cast<double>(way_.steps_done()) * time_step_,
               now.particles,
               now.kinetic,
               now.electric,
               now.magnetic,
               now.energy(),
               *begin_ > 0 ? now.energy() / *begin_ - 1 : 0.0);
    std::fflush(stdout);
    return now;
  }

  int finish(const Totals& end) {
    print_profile(way_, ranks_);
    if (is_first_) {
      print_balancings(way_);
    }
    const double gauss = way_.gauss_error();
    if (!is_first_) {
      return end.misplaced == 0 ? 0 : 1;
    }
    fmt::print("\nabsorbed by walls {}\n", end.absorbed);
    if (settings_.problem.name == "kernel") {
      fmt::print("particles that are not where they belong {} of {}\n", end.misplaced, end.particles);
    } else {
      fmt::print("Gauss's law holds to {:.1e} of the largest charge density\n", gauss);
    }
    fmt::print("checksum {:016x}\n", end.checksum);
    return end.misplaced == 0 ? 0 : 1;
  }

  Way& way_;
  Ranks& ranks_;
  double time_step_;
  const RunSettings& settings_;
  Files files_;
  bool is_first_;
  std::optional<double> begin_;
};

template <int D>
Problem<D> prepare(const RunSettings& settings, int ranks) {
  return app::as_agreed([&] {
    Problem<D> problem = make_problem<D>(settings.problem_options());
    (void)settings.poisson_options();
    (void)settings.balance_options();
    (void)Layout<D>{problem.physics.grid, ranks, settings.patches_per_rank};
    return problem;
  });
}

constexpr const char* begin_key = "energy at the begin";

/// The checkpoint that a run goes on from; nothing when it begins. Throws: `app::AgreedError`.
template <int D>
std::optional<plait::data::Checkpoint> find_checkpoint(plait::data::CheckpointStore& store,
                                                       const RunSettings& settings,
                                                       const Problem<D>& problem,
                                                       bool is_first) {
  std::optional<plait::data::NewestCheckpoint> newest =
      app::find_checkpoint(store, "plait-pic", {}, settings.checkpoint_folder, is_first);
  if (!newest) {
    return {};
  }
  app::as_agreed([&] {
    app::throw_unless_same(newest->checkpoint, description(problem, settings.poisson_options()));
    if (newest->checkpoint.step > settings.problem.steps) {
      throw plait::Error{plait::ErrorCode::bad_argument,
                         fmt::format("{} is of step {}, after the last of --steps {}: give more steps",
                                     newest->file.string(),
                                     newest->checkpoint.step,
                                     settings.problem.steps)};
    }
  });
  if (is_first) {
    fmt::print("restarted from step {} of {}\n", newest->checkpoint.step, newest->file.string());
  }
  return std::move(newest->checkpoint);
}

template <int D>
int run_in(const RunSettings& settings, WayMaker<D> make, const WayContext& context) {
  const bool is_first = context.ranks.self() == 0;
  Problem<D> problem = prepare<D>(settings, context.ranks.count());
  const PoissonOptions poisson = settings.poisson_options();
  const double time_step = problem.physics.time_step;
  const bool has_output = !settings.output.empty() || settings.output_steps > 0;
  const std::filesystem::path folder = has_output ? prepare_output(settings, context.ranks.self()) : "";
  std::unique_ptr<plait::data::CheckpointStore> store;
  std::optional<plait::data::Checkpoint> checkpoint;
  if (settings.has_checkpoints()) {
    store = plait::make_checkpoints(
        *context.runtime, {.folder = prepare_checkpoints(settings, context.ranks.self())}, MPI_COMM_WORLD);
    checkpoint = settings.restarts ? find_checkpoint<D>(*store, settings, problem, is_first) : std::nullopt;
  }
  problem.starts_empty = checkpoint.has_value();
  const std::unique_ptr<GridWay<D>> way = make(std::move(problem), settings, context);
  const auto write_output = [&] {
    if (has_output) {
      (void)pic::write_output(*way, folder, MPI_COMM_WORLD).value();
    }
  };
  const auto write_checkpoint = [&](double begin) {
    plait::data::Checkpoint now = to_checkpoint(*way, poisson);
    now.values[begin_key] = begin;
    store->write(now);
  };
  Run run{*way, context.ranks, time_step, settings, {write_output, write_checkpoint}};
  if (checkpoint) {
    go_on(*way, *checkpoint, context.ranks);
    run.set_begin(checkpoint->template value<double>(begin_key));
    checkpoint.reset();
  }
  return run();
}

}  // namespace

int run(const RunSettings& settings, const std::vector<std::string>& command) {
  const WayKind* kind = nullptr;
  app::as_agreed([&] {
    kind = &find_way(settings.way);
    if (!kind->can_balance && !(settings.balancer.empty() && settings.balance_loads.empty())) {
      throw plait::Error{plait::ErrorCode::bad_argument,
                         fmt::format("--way {} balances nothing: choose another, or leave out --balancer and "
                                     "--balance-loads",
                                     settings.way)};
    }
  });
  MpiRanks ranks{MPI_COMM_WORLD};
  std::optional<plait::Runtime> runtime;
  if (kind->needs_runtime || settings.has_checkpoints()) {
    plait::Options options = plait::Options::from_environment();
    options.command = command;
    runtime.emplace(MPI_COMM_WORLD, options);
  }
  const WayContext context{ranks, runtime ? &*runtime : nullptr};
  return settings.problem.cells.size() == 3 ? run_in<3>(settings, kind->make_3, context)
                                            : run_in<2>(settings, kind->make_2, context);
}

}  // namespace pic
