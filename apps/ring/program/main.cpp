// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <exception>

#include <CLI/CLI.hpp>

#include "ring/program/commands.hpp"
#include "support/agree.hpp"

namespace {

using ring::ConvertSettings;
using ring::InitSettings;
using ring::RunSettings;

CLI::App* add_init(CLI::App& app, InitSettings& settings) {
  CLI::App* const init = app.add_subcommand("init", "Make a ring: circles of equally spaced bodies on circular orbits");
  init->add_option("-o,--output", settings.output, "File to write; the seed code's text format if it ends in .txt")
      ->capture_default_str();
  init->add_option("--n-radial", settings.shape.radial, "Circles")->capture_default_str();
  init->add_option("--n-azimuthal", settings.shape.azimuthal, "Bodies on each circle")->capture_default_str();
  init->add_option("--layers", settings.shape.layers, "Copies above each other")->capture_default_str();
  init->add_option("--inner", settings.shape.inner, "Radius of the inner circle")->capture_default_str();
  init->add_option("--width", settings.shape.width, "From the inner circle to the outer")->capture_default_str();
  init->add_option("--thickness", settings.shape.thickness, "From the lowest layer to the highest")
      ->capture_default_str();
  init->add_option("--total-mass", settings.shape.total_mass, "Of all bodies; the centre's is 1")
      ->capture_default_str();
  init->add_option("--central-mass", settings.shape.central_mass, "Of the centre")->capture_default_str();
  init->add_option("--velocity-scatter",
                   settings.shape.velocity_scatter,
                   "Standard deviation of each component, in circular velocities")
      ->capture_default_str();
  init->add_option("--seed", settings.shape.seed, "Of the random velocities")->capture_default_str();
  return init;
}

CLI::App* add_run(CLI::App& app, RunSettings& settings) {
  CLI::App* const run =
      app.add_subcommand("run", "Integrate a ring; start it on several ranks with `plait run -n RANKS`");
  run->add_option("snapshot", settings.input, "File to start from, HDF5 or .txt")->required();
  run->add_option(
      "--output", settings.output, "Folder for snapshots [the run's folder under `plait run`, else ring-output]");
  run->add_flag("--overwrite", settings.overwrites, "Replace the snapshots of another run");
  auto* const steps = run->add_option("--steps", settings.steps, "Steps to make [one orbit of radius 1]");
  run->add_option("--until", settings.until, "Time to reach")->excludes(steps);
  run->add_option("--snapshot-every", settings.snapshot_steps, "Steps between snapshots; 0: at begin and end only")
      ->capture_default_str();
  run->add_option(
         "--diagnose-every", settings.diagnose_steps, "Steps between lines of energy; 0: at begin and end only")
      ->capture_default_str();

  const char* const physics = "Physics (what is not given comes from the snapshot)";
  run->add_option("--time-step", settings.time_step, "Length of a step [1/1024]")->group(physics);
  run->add_option("--theta", settings.theta, "Opening angle; 0 sums directly [0.5]")->group(physics);
  run->add_option("--order", settings.order, "Moments of cells [quadrupole]")
      ->check(CLI::IsMember({"monopole", "quadrupole"}))
      ->group(physics);
  run->add_option("--softening", settings.softening, "Plummer length [0]")->group(physics);
  run->add_option(
         "--collision-radius", settings.collision_radius, "Bodies nearer than this are in contact; 0: none [0]")
      ->group(physics);
  run->add_option("--restitution", settings.restitution, "Normal velocity after a contact over that before [0.5]")
      ->group(physics);
  run->add_option("--contact-steps", settings.contact_steps, "Steps of a contact's oscillation [32]")->group(physics);
  run->add_option("--central-mass", settings.central_mass, "Of the centre [1]")->group(physics);

  const char* const tuning = "Parallel computing";
  run->add_option("--leaf-bodies", settings.leaf_bodies_max, "Bodies in a leaf of the tree at most")->group(tuning);
  run->add_option("--group-bodies", settings.group_bodies_max, "Bodies that share a list of interactions at most")
      ->group(tuning);
  run->add_option("--radial-divisions", settings.radial_divisions, "Domains in radius; the rest is in azimuth")
      ->capture_default_str()
      ->group(tuning);
  run->add_option("--vertical-divisions", settings.vertical_divisions, "Domains in height")
      ->capture_default_str()
      ->group(tuning);
  run->add_option("--decompose-every", settings.decompose_steps, "Steps between domain decompositions; 0: never")
      ->capture_default_str()
      ->group(tuning);
  return run;
}

CLI::App* add_convert(CLI::App& app, ConvertSettings& settings) {
  CLI::App* const convert =
      app.add_subcommand("convert", "Turn an HDF5 snapshot into the seed code's text format, or back");
  convert->add_option("input", settings.input, "File to read")->required();
  convert->add_option("output", settings.output, "File to write; one of both ends in .txt")->required();
  return convert;
}

/// Runs on all ranks. Trouble that all ranks met alike is told by rank 0, other trouble by the rank that met it.
int run_on_ranks(const RunSettings& settings, int& argc, char**& argv) {
  plait::MpiSession session{argc, argv, true};  // HDF5 calls MPI, too
  try {
    plait::Options options = plait::Options::from_environment();
    options.command = settings.command;
    plait::Runtime runtime{MPI_COMM_WORLD, options};
    try {
      ring::run_ring(runtime, settings);
    } catch (const app::AgreedError& error) {
      if (runtime.self() == plait::Rank{0}) {
        std::fprintf(stderr, "plait-ring: %s\n", error.what());
      }
      return 1;
    }
    return 0;
  } catch (const std::exception& error) {
    session.fail("plait-ring", error);
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "plait-ring: a self-gravitating planetary ring about a central mass.\n"
      "Units: G = 1, central mass 1, ring at radius 1, so an orbit takes 2 pi.\n\n"
      "  plait-ring init --n-azimuthal 500 -o ring.hdf5\n"
      "  plait run -n 2 plait-ring run ring.hdf5 --steps 100\n",
      "plait-ring"};
  app.require_subcommand(1);
  InitSettings init_settings;
  RunSettings run_settings;
  ConvertSettings convert_settings;
  CLI::App* const init = add_init(app, init_settings);
  CLI::App* const run = add_run(app, run_settings);
  add_convert(app, convert_settings);
  CLI11_PARSE(app, argc, argv);
  run_settings.command.assign(argv, argv + argc);
  if (run->parsed()) {
    return run_on_ranks(run_settings, argc, argv);
  }
  try {
    init->parsed() ? ring::make_initial_condition(init_settings) : ring::convert(convert_settings);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "plait-ring: %s\n", error.what());
    return 1;
  }
}
