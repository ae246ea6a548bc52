// SPDX-License-Identifier: Apache-2.0
#include "pic/program/run.hpp"

#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <mpi.h>

#include "plait/files/hdf5/mpi/mpi_ranks.hpp"
#include "plait/plait.hpp"

#include "pic/mpi/mpi_ranks.hpp"
#include "pic/output/way_output.hpp"
#include "pic/parallel/checkpoint.hpp"
#include "pic/parallel/collection_way.hpp"
#include "pic/parallel/plain_way.hpp"
#include "support/agree.hpp"
#include "support/choice.hpp"
#include "support/mpi/host_copies.hpp"
#include "support/output_folder.hpp"
#include "support/progress_bar.hpp"
#include "support/restart.hpp"

namespace pic {

namespace {

constexpr std::array<WayKind, 3> kinds{{
    {.name = "static",
     .help = "plain MPI: every rank keeps its part of the box, with all particles in it",
     .can_balance = false},
    {.name = "synchronous",
     .help = "plain MPI: all stop every so many steps to divide the patches anew, by bisection or --balancer",
     .default_balancer = "bisection"},
    {.name = "collection",
     .help = "patches are elements of a collection, and move between ranks with --balancer",
     .is_collection = true},
}};

constexpr const char* begin_key = "energy at the begin";

/// The mean and the largest time of each activity over the ranks. Collective.
void print_profile(const Profile& mine, Ranks& ranks) {
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

void print_balancings(std::span<const BalanceNote> notes) {
  if (notes.empty()) {
    return;
  }
  fmt::print("\n{:>8} {:>12} {:>12} {:>8} {:>10} {:>12} {:>12}\n",
             "balanced",
             "imbalance",
             "predicted",
             "moved",
             "moved (kB)",
             "decided (ms)",
             "moved (ms)");
  for (const BalanceNote& note : notes) {
    fmt::print("{:>8} {:>11.1f}% {:>11.1f}% {:>8} {:>10.1f} {:>12.3f} {:>12.3f}\n",
               note.step,
               note.imbalance_before * 100,
               note.imbalance_predicted * 100,
               note.moved,
               note.bytes_moved * 1e-3,
               note.decided.count() * 1e3,
               note.migrated.count() * 1e3);
  }
}

/// Where checkpoints are written, and how often.
struct Keeping {
  app::CheckpointWriter writer;
  std::uint64_t steps = 0;  ///< Between two; 0: none.
};

/// The time loop of a run.
template <int D>
class Run {
 public:
  /// Borrows all. `output`: the folder for openPMD files; empty: none. `keepings` may be empty.
  Run(GridWay<D>& way,
      Ranks& ranks,
      const RunSettings& settings,
      const std::filesystem::path& output,
      std::vector<Keeping>& keepings)
      : way_{way},
        ranks_{ranks},
        settings_{settings},
        output_{output},
        keepings_{keepings},
        is_first_{ranks.self() == 0} {}

  void go_on(const plait::data::Checkpoint& checkpoint) {
    pic::go_on(way_, checkpoint, ranks_);
    begin_ = checkpoint.template value<double>(begin_key);
  }

  int operator()() {
    if (is_first_) {
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
    Totals now = diagnose();
    if (way_.steps_done() == 0) {
      write_output();
    }
    app::ProgressBar bar{settings_.problem.steps, is_first_, "steps"};
    for (std::uint64_t done = way_.steps_done() + 1; done <= settings_.problem.steps; ++done) {
      way_.step();
      const bool is_last = done == settings_.problem.steps;
      if (is_last || is_due(done, settings_.diagnose_steps)) {
        bar.clear();
        now = diagnose();
      }
      if (is_last || is_due(done, settings_.output_steps)) {
        write_output();
      }
      keep(done);  // last, so that a restart need not write this step's output
      bar.update(done);
    }
    bar.clear();
    return finish(now);
  }

 private:
  [[nodiscard]] static bool is_due(std::uint64_t step, std::uint64_t every) { return every > 0 && step % every == 0; }

  void keep(std::uint64_t done) {
    std::optional<plait::data::Checkpoint> checkpoint;
    for (Keeping& one : keepings_) {
      if (!is_due(done, one.steps)) {
        continue;
      }
      if (!checkpoint) {
        checkpoint = to_checkpoint(way_, settings_.poisson_options());
        checkpoint->values[begin_key] = begin_;
      }
      one.writer.write(*checkpoint);
    }
  }

  void write_output() {
    if (output_.empty()) {
      return;
    }
    const plait::Result<std::uint64_t> written = pic::write_output(way_, output_, MPI_COMM_WORLD);
    if (!written) {
      // All ranks have the error, and one reports it and aborts: MPI_Finalize ends HDF5, and version 1.10 then reads
      // memory that it freed when it could not close the file.
      if (is_first_) {
        throw written.error();
      }
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }

  Totals diagnose() {
    const Totals now = way_.totals();
    if (std::isnan(begin_)) {
      begin_ = now.energy();
    }
    if (!is_first_) {
      return now;
    }
    fmt::print("{:>8} {:>10.4f} {:>12} {:>14.6e} {:>14.6e} {:>14.6e} {:>14.6e} {:>+10.2e}\n",
               way_.steps_done(),
               static_cast<double>(way_.steps_done()) * way_.problem().physics.time_step,
               now.particles,
               now.kinetic,
               now.electric,
               now.magnetic,
               now.energy(),
               begin_ > 0 ? now.energy() / begin_ - 1 : 0.0);
    std::fflush(stdout);
    return now;
  }

  int finish(const Totals& end) {
    print_profile(way_.profile(), ranks_);
    const double gauss = way_.gauss_error();
    if (is_first_) {
      print_balancings(way_.balancings());
      fmt::print("\nabsorbed by walls {}\n", end.absorbed);
      if (settings_.problem.name == "kernel") {
        fmt::print("particles that are not where they belong {} of {}\n", end.misplaced, end.particles);
      } else {
        fmt::print("Gauss's law holds to {:.1e} of the largest charge density\n", gauss);
      }
      fmt::print("checksum {:016x}\n", end.checksum);
    }
    for (const Keeping& one : keepings_) {
      one.writer.report();
    }
    return end.misplaced == 0 ? 0 : 1;
  }

  GridWay<D>& way_;
  Ranks& ranks_;
  const RunSettings& settings_;
  const std::filesystem::path& output_;
  std::vector<Keeping>& keepings_;
  bool is_first_;
  double begin_ = std::numeric_limits<double>::quiet_NaN();  ///< Energy at the begin; NaN: not known yet.
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

app::Existing treatment_of_existing(const RunSettings& settings) {
  return settings.restarts     ? app::Existing::kept
         : settings.overwrites ? app::Existing::removed
                               : app::Existing::refused;
}

constexpr const char* remedy = "--force, or go on from its checkpoints with --restart";

/// Creates a folder that is writable and without files of another run. Collective. Throws: `app::AgreedError`.
std::filesystem::path prepare_folder(app::OutputFolder folder, const RunSettings& settings, int rank) {
  folder.existing = treatment_of_existing(settings);
  folder.remedy = remedy;
  const auto on_first = [&] {
    if (rank == 0) {
      app::prepare_output(folder);
    }
  };
  if (const auto trouble = plait::net::first_error(plait::files::MpiRanks{MPI_COMM_WORLD}.exchange(), on_first)) {
    throw app::AgreedError{*trouble};
  }
  return folder.path;
}

/// The checkpoint to continue from, if there is one: the newest of files and `copies`, which may be null. Collective.
/// Throws: `app::AgreedError`.
template <int D>
std::optional<plait::data::Checkpoint> find_checkpoint(plait::data::CheckpointStore& files,
                                                       plait::data::CheckpointStore* copies,
                                                       const RunSettings& settings,
                                                       const Problem<D>& problem,
                                                       bool is_first) {
  std::optional<plait::data::NewestCheckpoint> newest;
  if (copies != nullptr) {
    newest = app::find_readable(*copies, "plait-pic", is_first);
  }
  if (!newest) {
    newest = app::find_checkpoint(files, "plait-pic", {}, settings.checkpoint_folder, is_first);
  } else if (std::optional<plait::data::NewestCheckpoint> file = app::find_readable(files, "plait-pic", is_first);
             file && file->checkpoint.step > newest->checkpoint.step) {
    newest = std::move(file);
  }
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
std::unique_ptr<GridWay<D>> make_way(
    const WayKind& kind, Problem<D> problem, const RunSettings& settings, Ranks& ranks, plait::Runtime* runtime) {
  BalanceOptions options = settings.balance_options();
  if (options.balancer.empty()) {
    options.balancer = kind.default_balancer;
  }
  const PoissonOptions poisson = settings.poisson_options();
  if (kind.is_collection) {
    return std::make_unique<CollectionWay<D>>(std::move(problem), options, *runtime, ranks, poisson);
  }
  return std::make_unique<PlainWay<D>>(std::move(problem), options, ranks, poisson);
}

template <int D>
int run_in(const RunSettings& settings, const WayKind& kind, Ranks& ranks, plait::Runtime* runtime) {
  Problem<D> problem = prepare<D>(settings, ranks.count());
  std::filesystem::path output;
  if (!settings.output.empty() || settings.output_steps > 0) {
    output = prepare_folder({.path = app::choose_output(settings.output, "fields", "pic-output"), .prefix = "pic-"},
                            settings,
                            ranks.self());
  }
  std::unique_ptr<plait::data::CheckpointStore> store;
  std::unique_ptr<plait::data::BuddyFiles> copies;
  std::vector<Keeping> keepings;
  const bool is_first = ranks.self() == 0;
  if (settings.copy_steps > 0) {
    copies = app::open_host_copies(*runtime, settings.copy_folder, treatment_of_existing(settings), remedy);
    keepings.push_back({{*copies, "plait-pic", is_first}, settings.copy_steps});
  }
  std::optional<plait::data::Checkpoint> checkpoint;
  if (settings.checkpoint_steps > 0 || settings.restarts) {
    const app::OutputFolder folder{
        .path = settings.checkpoint_folder, .option = "--checkpoint-folder", .prefix = "checkpoint-"};
    store =
        plait::make_checkpoints(*runtime, {.folder = prepare_folder(folder, settings, ranks.self())}, MPI_COMM_WORLD);
    keepings.push_back({{*store, "plait-pic", is_first}, settings.checkpoint_steps});
    checkpoint =
        settings.restarts ? find_checkpoint<D>(*store, copies.get(), settings, problem, is_first) : std::nullopt;
  }
  problem.starts_empty = checkpoint.has_value();
  const std::unique_ptr<GridWay<D>> way = make_way(kind, std::move(problem), settings, ranks, runtime);
  Run<D> run{*way, ranks, settings, output, keepings};
  if (checkpoint) {
    run.go_on(*checkpoint);
    checkpoint.reset();
  }
  const int status = run();
  if (copies) {
    copies->remove();
  }
  return status;
}

}  // namespace

std::span<const WayKind> way_kinds() noexcept {
  return kinds;
}

int run(const RunSettings& settings, const std::vector<std::string>& command) {
  const WayKind& kind = *app::as_agreed([&] {
    const WayKind& named = app::find_named("--way", settings.way, kinds);
    if (!named.can_balance && !(settings.balancer.empty() && settings.balance_loads.empty())) {
      throw plait::Error{plait::ErrorCode::bad_argument,
                         fmt::format("--way {} has no balancing: choose another, or leave out --balancer and "
                                     "--balance-loads",
                                     settings.way)};
    }
    return &named;
  });
  MpiRanks ranks{MPI_COMM_WORLD};
  std::optional<plait::Runtime> runtime;
  if (kind.is_collection || settings.has_checkpoints()) {
    plait::Options options = plait::Options::from_environment();
    options.command = command;
    runtime.emplace(MPI_COMM_WORLD, options);
  }
  plait::Runtime* const on = runtime ? &*runtime : nullptr;
  return settings.problem.cells.size() == 3 ? run_in<3>(settings, kind, ranks, on)
                                            : run_in<2>(settings, kind, ranks, on);
}

}  // namespace pic
