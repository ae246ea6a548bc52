// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>

#include "plait/base/command_line.hpp"
#include "plait/plait.hpp"

#include "dns/program/problems.hpp"
#include "dns/program/run.hpp"
#include "support/choice.hpp"
#include "support/common_options.hpp"
#include "support/mpi/run_on_ranks.hpp"
#include "support/option_group.hpp"

namespace {

void add_flow(CLI::App& app, dns::RunSettings& s) {
  app.add_option("--problem", s.problem, app::list_named("Initial flow:", dns::problem_kinds()))->capture_default_str();
  app.add_option("--points", s.points, "Points along each axis, or along x, y and z [the file's, or 64]")
      ->expected(1, 3);
  app.add_option("--reynolds", s.reynolds, "One over the viscosity [100]");
  app.add_option("--viscosity", s.viscosity, "Kinematic viscosity, 0 or more (instead of --reynolds)");
  app.add_option("--scalars", s.schmidt, "SC...: passive scalars with these Schmidt numbers");
  app.add_option("--scalar-gradient", s.scalar_gradient, "Mean gradient of scalars along x; 0: they start as cos x")
      ->capture_default_str();
  app.add_option("--field", s.field, "HDF5 file of the initial field: velocity/x, velocity/y and velocity/z");
  app.add_flag("--resample", s.resamples, "Interpolate a --field of another number of points");
  app.add_option("--energy", s.energy, "Initial energy <u . u> / 2 of isotropic")->capture_default_str();
  app.add_option("--peak", s.peak, "Wave number of the spectrum's peak, of isotropic")->capture_default_str();
  app.add_option("--seed", s.seed, "Seed of all random numbers")->capture_default_str();
}

void add_forcing(CLI::App& app, dns::RunSettings& s) {
  app::OptionGroup forcing{app, "Forcing"};
  forcing.add_with_default("--forcing",
                           s.forcing,
                           "Source of energy at low wave numbers: none, hold-energy (of each shell), constant-power or "
                           "stochastic (Eswaran and Pope)");
  forcing.add_with_default("--forcing-wavenumber", s.forcing_wavenumber, "Largest wave number that is forced");
  forcing.add_with_default("--forcing-power", s.forcing_power, "Energy per time of constant-power");
  forcing.add_with_default("--forcing-variance", s.forcing_variance, "Variance of each acceleration of stochastic");
  forcing.add_with_default("--forcing-time", s.forcing_time, "Correlation time of stochastic");
}

void add_numerics(CLI::App& app, dns::RunSettings& s) {
  app::OptionGroup numerics{app, "Time and numerics"};
  numerics.add("--steps", s.steps, "Time steps [100, or until --time-end]");
  numerics.add("--time-end", s.time_end, "Time of the end, reached exactly");
  numerics.add("--time-step", s.time_step, "Length of steps; with --cfl: the largest");
  numerics.add("--cfl", s.courant, "Courant number that steps are chosen by [half of the stability limit]");
  numerics.add_with_default(
      "--on-cfl",
      s.on_courant,
      "If a fixed step exceeds the stability limit: stop, warn and continue, or adapt (shorten it)");
  numerics.add_with_default(
      "--scheme", s.scheme, "Runge-Kutta of second or fourth order: rk2 or rk4; viscosity is exact");
  numerics.add_with_default("--dealias",
                            s.dealias,
                            "Against aliasing of products: truncation (2/3 of wave numbers), phase-shift (two grids), "
                            "phase-shift-step, phase-shift-random (grids alternate), none");
  numerics.add("--memory-limit", s.memory_limit_gib, "GiB per node [what the system has available]");
}

void add_parallel(CLI::App& app, dns::RunSettings& s) {
  app::OptionGroup parallel{app, "Parallel computing (results differ by rounding only)"};
  parallel.add("--grid", s.grid, "PrxPc: ranks in a row and in a column, as 2x3 [chosen]");
  parallel.add_with_default(
      "--variant",
      s.variant,
      "How transforms exchange: PLT (tasks: all fields in flight at once), PLB, PLN, those of MPI (MPI, MIB, MIN, "
      "MIT, ...), or automatic (measured at the start)");
  parallel.add("--pieces", s.pieces, "Messages per block of PLT [by size]");
  parallel.add_with_default("--effort", s.effort, "FFTW's planning: estimate, measure or patient");
}

void add_output(CLI::App& app, dns::RunSettings& s) {
  app::OptionGroup output{app, "Output (HDF5 files of fields, dns.xdmf for ParaView, diagnostics.h5)"};
  output.add_with_default(
      "--diagnose-every", s.diagnose_steps, "Steps between lines of measurements; 0: at start and end only");
  output.add("-o,--output", s.output, "Folder [the run's folder under `plait run`, else dns-output]");
  output.add(
      "--output-every", s.output_steps, "Steps between fields, also at start and end [with --output: these only]");
  output.add_with_default("--precision", s.precision, "Precision of fields: single or double");
  output.add_flag("--force,--overwrite", s.overwrites, "Replace the files and checkpoints of another run");
}

void add_checkpoints(CLI::App& app, dns::RunSettings& s) {
  app::OptionGroup checkpoints{app, "Checkpoints (to restart from, on any number of ranks)"};
  checkpoints.add("--checkpoint-every", s.checkpoint_steps, "Steps between checkpoints; the last two are kept [none]");
  checkpoints.add_with_default("--checkpoint-folder", s.checkpoint_folder, "Folder of checkpoints");
  checkpoints
      .add_flag(
          "--restart",
          s.restarts,
          "Continue from the newest complete checkpoint of the folder, if any. The flow's options must be the same")
      ->excludes("--force");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "plait-dns: incompressible turbulence in a periodic box of 2 pi, by Fourier modes (direct numerical "
      "simulation).\n\n"
      "  plait-dns --problem taylor-green --reynolds 100 --points 32 --time-end 5\n"
      "  plait run -n 2 plait-dns --problem isotropic --points 64 --steps 100 --output-every 50\n"
      "  plait-dns --problem isotropic --forcing hold-energy --viscosity 0.01 --scalars 0.7 1 --checkpoint-every 50 "
      "--restart\n",
      "plait-dns"};
  app::add_common_options(app, "plait-dns");
  dns::RunSettings settings;
  add_flow(app, settings);
  add_forcing(app, settings);
  add_numerics(app, settings);
  add_parallel(app, settings);
  add_output(app, settings);
  add_checkpoints(app, settings);
  if (const auto status = plait::end_after_parsing<CLI::ParseError>(app, argc, argv)) {
    return *status;
  }
  return app::run_on_ranks({"plait-dns", argc, argv}, [&](plait::Runtime& runtime) { dns::run(runtime, settings); });
}
