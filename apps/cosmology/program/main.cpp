// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <string>

#include <CLI/CLI.hpp>

#include "plait/base/command_line.hpp"

#include "cosmology/program/run.hpp"
#include "support/common_options.hpp"
#include "support/mpi/run_on_ranks.hpp"
#include "support/option_group.hpp"

namespace {

using cosmology::InitialShape;
using cosmology::RunSettings;
using cosmology::RunState;

void add_initial_options(CLI::App& init, InitialShape& shape) {
  const auto option = [&init](const char* name, auto& value, const char* text) {
    return init.add_option(name, value, text)->capture_default_str();
  };
  option("--particles", shape.particles, "Along an axis: N^3 in all");
  option("--box", shape.box, "Edge of the box, in comoving Mpc");
  option("--redshift", shape.redshift, "At the begin");
  option("--matter", shape.universe.matter, "Share of matter today; the rest is a cosmological constant");
  option("--baryons", shape.universe.baryons, "Share of baryons today, for the shape of the spectrum");
  option("--hubble", shape.universe.hubble, "Rate of expansion today, in 100 km/s/Mpc");
  option("--sigma8", shape.power.sigma8, "Strength of disturbances today");
  option("--index", shape.power.index, "Of the primordial spectrum");
  init.add_option("--spectrum",
                  shape.power.file,
                  "File with the spectrum today: lines of k [1/Mpc] and power [Mpc^3], as of CAMB or CLASS "
                  "[the formula of Eisenstein and Hu, without oscillations]");
  const std::map<std::string, cosmology::Order> orders{{"zeldovich", cosmology::Order::zeldovich},
                                                       {"second", cosmology::Order::second}};
  init.add_option("--order", shape.order, "Of perturbation theory in displacements [second]")
      ->type_name("TEXT")
      ->transform(CLI::CheckedTransformer(orders).description("{zeldovich,second}"));
  option("--seed", shape.seed, "Of the random phases and strengths");
  init.add_flag("--fixed", shape.is_fixed, "Give each wave its mean strength: only phases are random");
  init.add_option(
      "--wave", shape.wave_crossing, "Instead, one plane wave, whose particles would meet at this scale factor");
}

void add_run_options(CLI::App& run, RunSettings& settings) {
  run.add_option(
         "file", settings.input, "Initial condition or snapshot of GADGET's or SWIFT's HDF5 layout, with dark matter")
      ->required();
  settings.steps.diagnose_steps = 16;
  app::add_step_options(run, settings.steps, "to the scale factor 1, today", "Scale factor to reach");
  const std::map<std::string, cosmology::StepKind> kinds{{"equal", cosmology::StepKind::equal},
                                                         {"individual", cosmology::StepKind::individual}};
  run.add_option("--time-steps",
                 settings.kind,
                 "equal: the longest for all particles; individual: for the mesh, each particle as long as it may "
                 "[equal]")
      ->type_name("TEXT")
      ->transform(CLI::CheckedTransformer(kinds).description("{equal,individual}"));
  const auto change = [&](const char* name, auto access, const char* text) {
    using Value = std::remove_reference_t<decltype(access(std::declval<RunState&>()))>;
    const auto note = [&settings, access](const Value& value) {
      settings.changes.emplace_back([access, value](RunState& state) { access(state) = value; });
    };
    return run.add_option_function<Value>(name, note, text)->group("Physics (what is not given is the file's)");
  };
  change(
      "--step",
      [](RunState& s) -> double& { return s.parameters.step_max; },
      "Longest step in the logarithm of the scale factor [0.01]");
  change(
      "--accuracy",
      [](RunState& s) -> double& { return s.parameters.accuracy; },
      "Of individual steps: at most sqrt(2 accuracy softening / acceleration) in time [0.025]");
  change(
      "--theta",
      [](RunState& s) -> double& { return s.parameters.theta; },
      "Opening angle of the tree; 0 sums directly [0.5]");
  change(
      "--softening",
      [](RunState& s) -> double& { return s.parameters.softening; },
      "Plummer length in comoving Mpc [a 25th of the mean distance of particles]");
  change(
      "--mesh",
      [](RunState& s) -> std::uint32_t& { return s.parameters.mesh; },
      "Points of the mesh along an axis [twice as many as particles]");
  change("--matter", [](RunState& s) -> double& { return s.universe.matter; }, "Share of matter today [0.3111]");
  change(
      "--hubble",
      [](RunState& s) -> double& { return s.universe.hubble; },
      "Rate of expansion today, in 100 km/s/Mpc [0.6766]");
  const char* const files = "Files that lack it";
  run.add_option("--redshift", settings.redshift, "At the begin")->group(files);
  run.add_option("--file-length",
                 settings.file_length,
                 "Unit of length in Mpc, or Mpc/h in GADGET's files; masses are in 1e10 solar masses, velocities in "
                 "km/s; 0.001 for kpc")
      ->group(files)
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "plait-cosmology: dark matter in a periodic box of an expanding universe.\n"
      "Units: comoving Mpc, 1e10 solar masses, km/s; none is over h.\n\n"
      "  plait run -n 2 plait-cosmology init --particles 64 --box 200 -o begin.hdf5\n"
      "  plait run -n 2 plait-cosmology run begin.hdf5 --snapshot-every 50\n"
      "  plait report        (draws the density and the power spectra beside linear theory)\n",
      "plait-cosmology"};
  app::add_common_options(app, "plait-cosmology");
  app.require_subcommand(1);
  InitialShape shape;
  RunSettings settings;
  std::filesystem::path output = "cosmology.hdf5";
  CLI::App* const init =
      app.add_subcommand("init", "Make an initial condition by perturbation theory, in SWIFT's layout");
  init->add_option("-o,--output", output, "File to write")->capture_default_str();
  add_initial_options(*init, shape);
  CLI::App* const run = app.add_subcommand("run", "Integrate a box; on several ranks with `plait run -n RANKS`");
  add_run_options(*run, settings);
  if (const auto status = plait::end_after_parsing<CLI::ParseError>(app, argc, argv)) {
    return *status;
  }
  return app::run_on_ranks({"plait-cosmology", argc, argv}, [&](plait::Runtime& runtime) {
    init->parsed() ? cosmology::write_initial_condition(runtime, shape, output)
                   : cosmology::run_cosmology(runtime, settings);
  });
}
