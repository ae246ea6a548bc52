// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "plait/base/command_line.hpp"

#include "sph/program/run.hpp"
#include "support/choice.hpp"
#include "support/common_options.hpp"
#include "support/mpi/run_on_ranks.hpp"
#include "support/option_group.hpp"

namespace {

using sph::InitSettings;
using sph::RunSettings;

/// Accepts the names of a table.
template <class Table>
CLI::IsMember one_of(const Table& table) {
  std::vector<std::string> names;
  for (const auto& entry : table) {
    names.emplace_back(entry.name);
  }
  return CLI::IsMember{names};
}

void add_problem(CLI::App& app, std::string& problem, sph::ProblemOptions& options) {
  app.add_option("--problem", problem, "One of the problems with a known answer (listed by plait-sph --help)");
  app.add_option("--resolution",
                 options.resolution,
                 "Particles along the problem's box, or thousands of stars [one that takes some minutes]");
  app.add_option("--seed", options.seed, "Seed of random positions")->capture_default_str();
}

CLI::App* add_init(CLI::App& app, InitSettings& settings) {
  CLI::App* const init = app.add_subcommand("init", "Write a problem's initial condition to a file that SWIFT reads");
  add_problem(*init, settings.problem, settings.options);
  init->get_option("--problem")->required();
  init->add_option("-o,--output", settings.output, "File to write")->capture_default_str();
  return init;
}

CLI::App* add_run(CLI::App& app, RunSettings& settings) {
  CLI::App* const run =
      app.add_subcommand("run", "Run a problem or a file; on several ranks with `plait run -n RANKS`");
  run->add_option("file", settings.input, "HDF5 file of GADGET's or SWIFT's layout, or a snapshot to continue from");
  add_problem(*run, settings.problem, settings.options);
  run->add_option("--until", settings.until, "Time to reach [the problem's]");
  run->add_option("--steps", settings.steps, "Largest number of steps");
  run->add_option("-o,--output",
                  settings.output,
                  "Folder for snapshots and timesteps.txt [the run's folder under `plait run`, "
                  "else sph-output]");
  run->add_flag("--force,--overwrite", settings.overwrites, "Replace the snapshots of another run");
  run->add_option("--snapshots", settings.snapshots.count, "Number of snapshots after the first, evenly in time")
      ->capture_default_str();
  run->add_flag("--small-snapshots",
                settings.snapshots.are_small,
                "Leave out what only a bitwise equal continuation needs: a third of the size");
  run->add_option("--copy-every",
                  settings.copies.steps,
                  "Steps between copies in the memory of hosts, which outlive a rank; removed at the end [none]");
  run->add_option("--copy-folder", settings.copies.folder, "Where copies are: in memory, on each host")
      ->capture_default_str();
  run->add_flag("--restart",
                settings.copies.restarts,
                "Go on from the newest copy; begin where there is none. All other options must be the same")
      ->needs("--copy-every")
      ->excludes("--force");
  run->add_option(
         "--time-steps",
         settings.time_steps,
         "individual: each particle as long as it may; equal: the same for all; plain: equal, by the reference "
         "model, on one rank")
      ->check(CLI::IsMember({"individual", "equal", "plain"}))
      ->capture_default_str();
  run->add_option("--step-min", settings.step_min, "Shortest step, as a fraction of the run: a shorter one is an error")
      ->capture_default_str();

  app::OptionGroup physics{*run, "Physics (what is not given comes from the problem or the file)"};
  physics
      .add("--scheme",
           settings.scheme,
           "minimal: fixed viscosity with Balsara's switch; modern: viscosity and conduction per particle; "
           "reconstructed: the same, without viscosity where the flow is linear")
      ->check(one_of(sph::scheme_names));
  physics.add("--kernel", settings.kernel, "Smoothing kernel")->check(one_of(sph::kernel_traits));
  physics.add("--eta", settings.eta, "Smoothing length in mean distances [1.2348: 48 neighbours]");
  physics.add("--gamma", settings.gamma, "Ratio of specific heats [5/3]");
  physics.add("--courant", settings.courant, "Courant number of time steps [0.1]");
  physics.add("--viscosity", settings.viscosity, "Viscosity of the minimal scheme [0.8]");
  physics.add("--smoothing-max", settings.smoothing_max, "Largest smoothing length [none]");
  physics.add("--energy-min", settings.energy_min, "Lowest specific energy [0]");
  physics.add("--gravity", settings.gravity, "Gravitational constant; 0: none");
  physics.add("--softening", settings.softening, "Plummer softening length");
  physics.add("--accuracy", settings.accuracy, "Longest steps by gravity: sqrt(2 A softening / acceleration) [0.025]");
  physics.add("--theta", settings.theta, "Opening angle of the tree; 0: direct summation [0.5]");
  return run;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "plait-sph: gas by smoothed particles, with gravity and with time steps of each particle's own.\n\n"
      "  plait-sph run --problem sod --resolution 40      (a shock tube; prints its errors)\n"
      "  plait run -n 2 plait-sph run --problem sedov     (an explosion on two ranks)\n"
      "  plait-sph init --problem evrard -o evrard.hdf5   (a file to inspect, change and run)\n"
      "  plait run -n 2 plait-sph run evrard.hdf5 --snapshots 8\n"
      "  plait-sph run sph-output/sph-0004.hdf5 --output more  (goes on from there, on any number of ranks)\n\n" +
          app::list_named("Problems with known answers:", sph::problem_kinds()) + "\n",
      "plait-sph"};
  app::add_common_options(app, "plait-sph");
  app.require_subcommand(1);
  InitSettings init_settings;
  RunSettings run_settings;
  add_init(app, init_settings);
  CLI::App* const run = add_run(app, run_settings);
  if (const auto status = plait::end_after_parsing<CLI::ParseError>(app, argc, argv)) {
    return *status;
  }
  if (run->parsed()) {
    return app::run_on_ranks({"plait-sph", argc, argv},
                             [&](plait::Runtime& runtime) { sph::run_sph(runtime, run_settings); });
  }
  return app::run_alone("plait-sph", [&] { sph::write_initial_condition(init_settings); });
}
