// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>

#include "plait/base/command_line.hpp"

#include "ring/program/run.hpp"
#include "support/common_options.hpp"
#include "support/mpi/run_on_ranks.hpp"
#include "support/option_group.hpp"

namespace {

using ring::Order;
using ring::Parameters;
using ring::RunSettings;

void add_shape(CLI::App& init, ring::RingShape& shape) {
  const auto option = [&init](const char* name, auto& value, const char* text) {
    init.add_option(name, value, text)->capture_default_str();
  };
  option("--n-radial", shape.radial, "Circles");
  option("--n-azimuthal", shape.azimuthal, "Bodies on each circle");
  option("--layers", shape.layers, "Copies above each other");
  option("--inner", shape.inner, "Radius of the inner circle");
  option("--width", shape.width, "From the inner circle to the outer");
  option("--thickness", shape.thickness, "From the lowest layer to the highest");
  option("--total-mass", shape.total_mass, "Of all bodies; the centre's is 1");
  option("--central-mass", shape.central_mass, "Of the centre");
  option("--velocity-scatter", shape.velocity_scatter, "Standard deviation of each component, in circular velocities");
  option("--seed", shape.seed, "Of the random velocities");
}

void add_run_options(CLI::App& run, RunSettings& settings) {
  run.add_option("snapshot", settings.input, "File to start from, HDF5 or .txt")->required();
  app::add_step_options(run, settings.steps, "one orbit of radius 1");
  const auto parameter = [&](const char* name, auto Parameters::* member, const char* text) {
    using Value = std::remove_reference_t<decltype(Parameters{}.*member)>;
    const auto note = [&settings, member](const Value& value) {
      settings.changes.emplace_back([member, value](Parameters& parameters) { parameters.*member = value; });
    };
    return run.add_option_function<Value>(name, note, text)->group("Physics (what is not given is the snapshot's)");
  };
  const std::map<std::string, Order> orders{{"monopole", Order::monopole}, {"quadrupole", Order::quadrupole}};
  parameter("--time-step", &Parameters::time_step, "Length of a step [1/1024]");
  CLI::Option* const theta = parameter("--theta", &Parameters::theta, "Opening angle; 0 sums directly [0.5]");
  theta->each([&settings](const std::string&) {
    settings.changes.emplace_back([](Parameters& parameters) { parameters.force_error = 0; });
  });
  parameter(
      "--force-error", &Parameters::force_error, "Error that forces may have (rms), instead of --theta; 0: none [0]")
      ->excludes(theta);
  parameter("--order", &Parameters::order, "Moments of cells [quadrupole]")
      ->type_name("TEXT")
      ->transform(CLI::CheckedTransformer(orders).description("{monopole,quadrupole}"));
  parameter("--softening", &Parameters::softening, "Plummer length [0]");
  parameter("--collision-radius", &Parameters::collision_radius, "Nearer bodies are in contact; 0: none [0]");
  parameter("--restitution", &Parameters::restitution, "Normal velocity after a contact over that before [0.5]");
  parameter("--contact-steps", &Parameters::contact_steps, "Steps of a contact's oscillation [32]");
  parameter("--central-mass", &Parameters::central_mass, "Of the centre [1]");
  const char* const tuning = "Parallel computing";
  parameter(
      "--leaf-bodies", &Parameters::leaf_bodies_max, "Bodies in a leaf of the tree at most; 0: by the processor [0]")
      ->group(tuning);
  parameter(
      "--group-bodies", &Parameters::group_bodies_max, "Bodies that share a list at most; 0: by the processor [0]")
      ->group(tuning);
  app::OptionGroup group{run, tuning};
  group.add_with_default("--radial-divisions", settings.sharing.radial, "Domains in radius; the rest is in azimuth");
  group.add_with_default("--vertical-divisions", settings.sharing.vertical, "Domains in height");
  group.add_with_default(
      "--decompose-every", settings.sharing.steps_between, "Steps between domain decompositions; 0: never");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "plait-ring: a self-gravitating planetary ring about a central mass.\n"
      "Units: G = 1, central mass 1, ring at radius 1, so an orbit takes 2 pi.\n\n"
      "  plait-ring init --n-azimuthal 500 -o ring.hdf5\n"
      "  plait run -n 2 plait-ring run ring.hdf5 --steps 100\n",
      "plait-ring"};
  app::add_common_options(app, "plait-ring");
  app.require_subcommand(1);
  ring::RingShape shape;
  RunSettings settings;
  std::filesystem::path input;
  std::filesystem::path output = "ring.hdf5";
  CLI::App* const init = app.add_subcommand("init", "Make a ring: circles of equally spaced bodies on circular orbits");
  init->add_option("-o,--output", output, "File to write; text if it ends in .txt")->capture_default_str();
  add_shape(*init, shape);
  CLI::App* const run = app.add_subcommand("run", "Integrate a ring; on several ranks with `plait run -n RANKS`");
  add_run_options(*run, settings);
  CLI::App* const convert = app.add_subcommand("convert", "Turn an HDF5 snapshot into text, or back");
  convert->add_option("input", input, "File to read")->required();
  convert->add_option("output", output, "File to write; one of both ends in .txt")->required();
  if (const auto status = plait::end_after_parsing<CLI::ParseError>(app, argc, argv)) {
    return *status;
  }
  if (run->parsed()) {
    return app::run_on_ranks({"plait-ring", argc, argv},
                             [&](plait::Runtime& runtime) { ring::run_ring(runtime, settings); });
  }
  return app::run_alone("plait-ring", [&] {
    init->parsed() ? ring::make_initial_condition(shape, output) : ring::convert(input, output);
  });
}
