// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "plait/base/command_line.hpp"
#include "plait/data/balance/zoltan/entries.hpp"
#include "plait/plait.hpp"

#include "pic/program/run.hpp"
#include "support/choice.hpp"
#include "support/common_options.hpp"
#include "support/mpi/run_on_ranks.hpp"
#include "support/option_group.hpp"

namespace {

void add_problem(CLI::App& app, pic::RunSettings& s) {
  app.add_option("--problem", s.problem.name, app::list_named("What to compute:", pic::problem_kinds()))
      ->capture_default_str();
  app.add_option("--cells", s.problem.cells, "Cells along x and y, or x, y and z; they decide on the dimensions")
      ->expected(2, 3)
      ->capture_default_str();
  app.add_option("--particles-per-cell", s.problem.particles_per_cell, "Of all species; emitted a step, of a plate")
      ->capture_default_str();
  app.add_option("--steps", s.problem.steps, "Time steps")->capture_default_str();
  app.add_option("--seed", s.problem.seed, "Of random places and momenta")->capture_default_str();
  app.add_option("--diagnose-every", s.diagnose_steps, "Steps between lines of energy; 0: at begin and end only")
      ->capture_default_str();
}

void add_physics(CLI::App& app, pic::RunSettings& s) {
  app::OptionGroup physics{app, "Physics"};
  physics.add("--solver", s.solver, "electromagnetic or electrostatic [the problem's own]");
  physics.add("--time-step", s.problem.time_step, "In plasma periods / 2 pi [0.95 of the limit, or 0.1]");
  physics.add_with_default("--order", s.problem.order, "Of the particles' shape: 1 or 2");
  physics.add("--thermal", s.problem.thermal, "Standard deviation of momenta, in m c [the problem's own]");
  physics.add_with_default("--poisson", s.poisson, "cg (conjugate gradients) or fourier (FFTW, on rank 0)");
  physics.add_with_default("--tolerance", s.tolerance, "Of conjugate gradients: residual over charges");
  physics.add("--plate", s.plate, "Where the plate begins and ends, in heights of the box [0.375 0.625]")->expected(2);
}

void add_kernel(CLI::App& app, pic::RunSettings& s) {
  app::OptionGroup kernel{app, "The Parallel Research Kernels' problem (--problem kernel)"};
  kernel.add("--particles", s.problem.kernel.particles, "About as many");
  kernel.add_with_default("--distribution", s.distribution, "geometric, sinusoidal, linear or patch");
  kernel.add_with_default("--rho", s.problem.kernel.rho, "Geometric: each column has so much of the one before");
  kernel.add("--linear", s.linear, "ALPHA BETA: column x has BETA - ALPHA x / columns [1 3]")->expected(2);
  kernel.add("--patch", s.patch, "X0 X1 Y0 Y1: first and last column and row that have particles")->expected(4);
  kernel.add_with_default("--kernel-k", s.problem.kernel.k, "Particles cross 2 k + 1 cells a step along x");
  kernel.add_with_default("--kernel-m", s.problem.kernel.m, "and m along y");
}

void add_way(CLI::App& app, pic::RunSettings& s) {
  app::OptionGroup way{app, "Parallel computing (the result does not depend on it)"};
  way.add_with_default("--way", s.way, app::list_named("How:", pic::way_kinds()));
  way.add_with_default("--patches", s.patches_per_rank, "Patches on each rank at first");
  way.add("--balancer",
          s.balancer,
          app::list_named("How patches are balanced:", plait::data::balance::entries_with_zoltan()));
  way.add_with_default(
      "--balance-every",
      s.balance_every,
      "Steps between balancings, or auto: with --way collection, when what it gains over the next 50 steps "
      "exceeds what the ones before took");
  way.add("--balance-loads",
          s.balance_loads,
          "With --way collection: write the loads of patches to PREFIX.RANK.json, for `plait balance`");
}

void add_output(CLI::App& app, pic::RunSettings& s) {
  app::OptionGroup output{app, "Output (openPMD files of particles and fields)"};
  output.add("-o,--output", s.output, "Folder [the run's folder under `plait run`, else pic-output]");
  output.add("--output-every", s.output_steps, "Steps between files, and at begin and end [with --output: these only]");
  output.add_flag("--force,--overwrite", s.overwrites, "Replace the files and checkpoints of another run");
}

void add_checkpoints(CLI::App& app, pic::RunSettings& s) {
  app::OptionGroup checkpoints{app,
                               "Checkpoints (particles and fields, to go on from in any way, on any number of ranks)"};
  checkpoints.add("--checkpoint-every", s.checkpoint_steps, "Steps between checkpoints; the last two are kept [none]");
  checkpoints.add_with_default("--checkpoint-folder", s.checkpoint_folder, "Where they are");
  checkpoints.add("--copy-every",
                  s.copy_steps,
                  "Steps between copies in the memory of hosts, which outlive a rank; removed at the end [none]");
  checkpoints.add_with_default("--copy-folder", s.copy_folder, "Where copies are: in memory, on each host");
  checkpoints
      .add_flag("--restart",
                s.restarts,
                "Go on from the newest whole checkpoint or copy; begin where there is none. The problem's options "
                "must be the same")
      ->excludes("--force");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "plait-pic: charged particles in the fields that they make (particle in cell), in two or three dimensions.\n"
      "Units: speed of light, electron charge and mass and the plasma frequency are 1.\n\n"
      "  plait-pic --problem two-stream --cells 64 2 --steps 400 --diagnose-every 20\n"
      "  plait run -n 2 plait-pic --problem plate --cells 128 64 --steps 200 --way collection --patches 8\n"
      "  plait-pic --problem kernel --cells 1000 1000 --particles 1000000 --kernel-k 1 --kernel-m 2 --steps 10\n",
      "plait-pic"};
  app::add_common_options(app, "plait-pic");
  pic::RunSettings settings;
  add_problem(app, settings);
  add_physics(app, settings);
  add_kernel(app, settings);
  add_way(app, settings);
  add_output(app, settings);
  add_checkpoints(app, settings);
  if (const auto status = plait::end_after_parsing<CLI::ParseError>(app, argc, argv)) {
    return *status;
  }
  const std::vector<std::string> command{argv, argv + argc};
  return app::run_with_mpi({"plait-pic", argc, argv}, [&] { return pic::run(settings, command); });
}
