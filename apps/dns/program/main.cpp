// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <exception>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <mpi.h>

#include "plait/plait.hpp"

#include "dns/program/problems.hpp"
#include "dns/program/run.hpp"
#include "support/agree.hpp"

namespace {

std::string list_problems() {
  std::string text = "What flow to begin with:";
  for (const dns::ProblemKind& kind : dns::problem_kinds()) {
    text += fmt::format("\n  {}: {}", kind.name, kind.help);
  }
  return text;
}

void add_flow(CLI::App& app, dns::RunSettings& s) {
  app.add_option("--problem", s.problem, list_problems())->capture_default_str();
  app.add_option("--points", s.points, "Points along each axis, or along x, y and z [64, or the file's]")
      ->expected(1, 3);
  app.add_option("--reynolds", s.reynolds, "One over the viscosity [100]");
  app.add_option("--viscosity", s.viscosity, "Kinematic; 0 is none (instead of --reynolds)");
  app.add_option("--scalars", s.schmidt, "SC...: so many passive scalars, with these Schmidt numbers");
  app.add_option("--scalar-gradient", s.scalar_gradient, "Mean gradient of scalars along x; 0: they begin as cos x")
      ->capture_default_str();
  app.add_option("--field", s.field, "HDF5 file with velocity/x, velocity/y and velocity/z to begin with");
  app.add_flag("--resample", s.resamples, "Take a --field of another number of points, between waves");
  app.add_option("--energy", s.energy, "Of isotropic: <u . u> / 2")->capture_default_str();
  app.add_option("--peak", s.peak, "Of isotropic: wave number where the spectrum is highest")->capture_default_str();
  app.add_option("--seed", s.seed, "Of all random numbers")->capture_default_str();
}

void add_forcing(CLI::App& app, dns::RunSettings& s) {
  const char* const forcing = "Forcing";
  app.add_option("--forcing",
                 s.forcing,
                 "What keeps the flow going at low wave numbers: none, hold-energy (of each shell), constant-power or "
                 "stochastic (Eswaran and Pope)")
      ->capture_default_str()
      ->group(forcing);
  app.add_option("--forcing-wavenumber", s.forcing_wavenumber, "Up to which modes are forced")
      ->capture_default_str()
      ->group(forcing);
  app.add_option("--forcing-power", s.forcing_power, "Of constant-power: energy a time")
      ->capture_default_str()
      ->group(forcing);
  app.add_option("--forcing-variance", s.forcing_variance, "Of stochastic: of each acceleration")
      ->capture_default_str()
      ->group(forcing);
  app.add_option("--forcing-time", s.forcing_time, "Of stochastic: of correlation")
      ->capture_default_str()
      ->group(forcing);
}

void add_numerics(CLI::App& app, dns::RunSettings& s) {
  const char* const numerics = "Time and numerics";
  app.add_option("--steps", s.steps, "Time steps [100, or until --time-end]")->group(numerics);
  app.add_option("--time-end", s.time_end, "Stop at this time, exactly")->group(numerics);
  app.add_option("--time-step", s.time_step, "Of a fixed length; with --cfl: at most")->group(numerics);
  app.add_option("--cfl", s.courant, "Steps as long as this Courant number allows [half of what is stable]")
      ->group(numerics);
  app.add_option("--on-cfl",
                 s.on_courant,
                 "When a fixed step is longer than is stable: stop, warn and go on, or adapt (make it shorter)")
      ->capture_default_str()
      ->group(numerics);
  app.add_option("--scheme", s.scheme, "Runge-Kutta of order two or four: rk2 or rk4; viscosity is exact")
      ->capture_default_str()
      ->group(numerics);
  app.add_option("--dealias",
                 s.dealias,
                 "Against false waves of products: truncation (2/3 of wave numbers), phase-shift (two grids), "
                 "phase-shift-step, phase-shift-random (grids alternate), none")
      ->capture_default_str()
      ->group(numerics);
  app.add_option("--memory-limit", s.memory_limit_gib, "GiB of each node [what the system says is there]")
      ->group(numerics);
}

void add_parallel(CLI::App& app, dns::RunSettings& s) {
  const char* const parallel = "Parallel computing (results differ by rounding only)";
  app.add_option("--grid", s.grid, "PrxPc: ranks in a row and in a column, as 2x3 [chosen]")->group(parallel);
  app.add_option(
         "--variant",
         s.variant,
         "How transforms exchange: PLT (tasks: all fields in flight at once), PLB, PLN, those of MPI (MPI, MIB, MIN, "
         "MIT, ...), or automatic (measured at the start)")
      ->capture_default_str()
      ->group(parallel);
  app.add_option("--pieces", s.pieces, "Of PLT: messages a block is cut into [by size]")->group(parallel);
  app.add_option("--effort", s.effort, "Of FFTW's planning: estimate, measure or patient")
      ->capture_default_str()
      ->group(parallel);
}

void add_output(CLI::App& app, dns::RunSettings& s) {
  const char* const output = "Output (HDF5 files of fields, dns.xdmf for ParaView, diagnostics.h5)";
  app.add_option("--diagnose-every", s.diagnose_steps, "Steps between lines of measurements; 0: at begin and end only")
      ->capture_default_str()
      ->group(output);
  app.add_option("--output", s.output, "Folder [the run's folder under `plait run`, else dns-output]")->group(output);
  app.add_option(
         "--output-every", s.output_steps, "Steps between fields, and at begin and end [with --output: these only]")
      ->group(output);
  app.add_option("--precision", s.precision, "Of fields: single or double")->capture_default_str()->group(output);
  app.add_flag("--overwrite", s.overwrites, "Replace the files and checkpoints of another run")->group(output);
}

void add_checkpoints(CLI::App& app, dns::RunSettings& s) {
  const char* const checkpoints = "Checkpoints (to go on from, on any number of ranks)";
  app.add_option("--checkpoint-every", s.checkpoint_steps, "Steps between checkpoints; the last two are kept [none]")
      ->group(checkpoints);
  app.add_option("--checkpoint-folder", s.checkpoint_folder, "Where they are")
      ->capture_default_str()
      ->group(checkpoints);
  app.add_flag("--restart",
               s.restarts,
               "Go on from the newest whole checkpoint of the folder; begin where it has none. The flow's options must "
               "be the same")
      ->excludes("--overwrite")
      ->group(checkpoints);
}

int run_on_ranks(const dns::RunSettings& settings, int& argc, char**& argv) {
  plait::MpiSession session{argc, argv, true};
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  try {
    try {
      return dns::run(settings);
    } catch (const app::AgreedError& error) {
      if (rank == 0) {
        std::fprintf(stderr, "plait-dns: %s\n", error.what());
      }
      return 1;
    }
  } catch (const std::exception& error) {
    session.fail(fmt::format("plait-dns: rank {}", rank).c_str(), error);
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "plait-dns: incompressible turbulence in a periodic box of 2 pi, by Fourier modes (direct numerical "
      "simulation).\n\n"
      "  plait-dns --problem taylor-green --reynolds 100 --points 32 --time-end 5\n"
      "  plait run -n 2 plait-dns --problem isotropic --points 64 --steps 100 --output-every 50\n"
      "  plait-dns --problem isotropic --forcing hold-energy --viscosity 0.01 --scalars 0.7 1 --checkpoint-every 50 "
      "--restart",
      "plait-dns"};
  dns::RunSettings settings;
  add_flow(app, settings);
  add_forcing(app, settings);
  add_numerics(app, settings);
  add_parallel(app, settings);
  add_output(app, settings);
  add_checkpoints(app, settings);
  CLI11_PARSE(app, argc, argv);
  settings.command.assign(argv, argv + argc);
  return run_on_ranks(settings, argc, argv);
}
