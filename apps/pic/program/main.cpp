// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <exception>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <mpi.h>

#include "plait/plait.hpp"

#include "pic/program/run.hpp"
#include "pic/program/ways.hpp"

namespace {

/// A line for each name of a table.
template <class Table>
std::string list(const char* what, const Table& table) {
  std::string text = what;
  for (const auto& kind : table) {
    std::string_view help;
    if constexpr (requires { kind.help; }) {
      help = kind.help;
    } else {
      help = kind.what;
    }
    text += fmt::format("\n  {}: {}", kind.name, help);
  }
  return text;
}

void add_problem(CLI::App& app, pic::RunSettings& s) {
  app.add_option("--problem", s.problem.name, list("What to compute:", pic::problem_kinds()))->capture_default_str();
  app.add_option("--cells", s.problem.cells, "Cells along x and y, or x, y and z; they decide on the dimensions")
      ->expected(2, 3)
      ->capture_default_str();
  app.add_option(
      "--particles-per-cell", s.problem.particles_per_cell, "Of all species; emitted a step, of a plate [16]");
  app.add_option("--steps", s.problem.steps, "Time steps")->capture_default_str();
  app.add_option("--seed", s.problem.seed, "Of random places and momenta")->capture_default_str();
  app.add_option("--diagnose-every", s.diagnose_steps, "Steps between lines of energy; 0: at begin and end only")
      ->capture_default_str();
}

void add_physics(CLI::App& app, pic::RunSettings& s) {
  const char* const physics = "Physics";
  app.add_option("--solver", s.solver, "electromagnetic or electrostatic [the problem's own]")->group(physics);
  app.add_option("--time-step", s.problem.time_step, "In plasma periods / 2 pi [0.95 of the limit, or 0.1]")
      ->group(physics);
  app.add_option("--order", s.problem.order, "Of the particles' shape: 1 or 2")->capture_default_str()->group(physics);
  app.add_option("--thermal", s.problem.thermal, "Standard deviation of momenta, in m c [the problem's own]")
      ->group(physics);
  app.add_option("--poisson", s.poisson, "cg (conjugate gradients) or fourier (FFTW, on rank 0)")
      ->capture_default_str()
      ->group(physics);
  app.add_option("--tolerance", s.tolerance, "Of conjugate gradients: residual over charges")
      ->capture_default_str()
      ->group(physics);
  app.add_option("--plate", s.plate, "Where the plate begins and ends, in heights of the box [0.375 0.625]")
      ->expected(2)
      ->group(physics);
}

void add_kernel(CLI::App& app, pic::RunSettings& s) {
  const char* const kernel = "The Parallel Research Kernels' problem (--problem kernel)";
  app.add_option("--particles", s.problem.kernel.particles, "About as many")->group(kernel);
  app.add_option("--distribution", s.distribution, "geometric, sinusoidal, linear or patch")
      ->capture_default_str()
      ->group(kernel);
  app.add_option("--rho", s.problem.kernel.rho, "Geometric: each column has so much of the one before")
      ->capture_default_str()
      ->group(kernel);
  app.add_option("--linear", s.linear, "ALPHA BETA: column x has BETA - ALPHA x / columns [1 3]")
      ->expected(2)
      ->group(kernel);
  app.add_option("--patch", s.patch, "X0 X1 Y0 Y1: first and last column and row that have particles")
      ->expected(4)
      ->group(kernel);
  app.add_option("--kernel-k", s.problem.kernel.k, "Particles cross 2 k + 1 cells a step along x")
      ->capture_default_str()
      ->group(kernel);
  app.add_option("--kernel-m", s.problem.kernel.m, "and m along y")->capture_default_str()->group(kernel);
}

void add_way(CLI::App& app, pic::RunSettings& s) {
  const char* const way = "Parallel computing (the result does not depend on it)";
  app.add_option("--way", s.way, list("How:", pic::way_kinds()))->capture_default_str()->group(way);
  app.add_option("--patches", s.patches_per_rank, "Patches on each rank at first")->capture_default_str()->group(way);
  app.add_option("--balancer", s.balancer, list("How patches are balanced:", plait::data::balance::balancer_entries()))
      ->group(way);
  app.add_option("--balance-every",
                 s.balance_every,
                 "Steps between balancings, or auto: with --way collection, when what it gains over the next 50 steps "
                 "exceeds what the ones before took")
      ->capture_default_str()
      ->group(way);
  app.add_option("--balance-loads",
                 s.balance_loads,
                 "With --way collection: write the loads of patches to PREFIX.RANK.json, for `plait balance`")
      ->group(way);
}

void add_output(CLI::App& app, pic::RunSettings& s) {
  const char* const output = "Output (openPMD files of particles and fields)";
  app.add_option("--output", s.output, "Folder [the run's folder under `plait run`, else pic-output]")->group(output);
  app.add_option(
         "--output-every", s.output_steps, "Steps between files, and at begin and end [with --output: these only]")
      ->group(output);
  app.add_flag("--overwrite", s.overwrites, "Replace the files and checkpoints of another run")->group(output);
}

void add_checkpoints(CLI::App& app, pic::RunSettings& s) {
  const char* const checkpoints =
      "Checkpoints (particles and fields, to go on from in any way, on any number of ranks)";
  app.add_option("--checkpoint-every", s.checkpoint_steps, "Steps between checkpoints; the last two are kept [none]")
      ->group(checkpoints);
  app.add_option("--checkpoint-folder", s.checkpoint_folder, "Where they are")
      ->capture_default_str()
      ->group(checkpoints);
  app.add_flag("--restart",
               s.restarts,
               "Go on from the newest whole checkpoint of the folder; begin where it has none. The problem's options "
               "must be the same")
      ->excludes("--overwrite")
      ->group(checkpoints);
}

int run_on_ranks(const pic::RunSettings& settings, int& argc, char**& argv) {
  plait::MpiSession session{argc, argv, true};
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  try {
    try {
      return pic::run(settings);
    } catch (const pic::SettingsError& error) {
      if (rank == 0) {
        std::fprintf(stderr, "plait-pic: %s\n", error.what());
      }
      return 1;
    }
  } catch (const std::exception& error) {
    session.fail(fmt::format("plait-pic: rank {}", rank).c_str(), error);
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "plait-pic: charged particles in the fields that they make (particle in cell), in two or three dimensions.\n"
      "Units: speed of light, electron charge and mass and the plasma frequency are 1.\n\n"
      "  plait-pic --problem two-stream --cells 64 2 --steps 400 --diagnose-every 20\n"
      "  plait run -n 2 plait-pic --problem plate --cells 128 64 --steps 200 --way collection --patches 8\n"
      "  plait-pic --problem kernel --cells 1000 1000 --particles 1000000 --kernel-k 1 --kernel-m 2 --steps 10",
      "plait-pic"};
  pic::RunSettings settings;
  add_problem(app, settings);
  add_physics(app, settings);
  add_kernel(app, settings);
  add_way(app, settings);
  add_output(app, settings);
  add_checkpoints(app, settings);
  CLI11_PARSE(app, argc, argv);
  settings.command.assign(argv, argv + argc);
  return run_on_ranks(settings, argc, argv);
}
