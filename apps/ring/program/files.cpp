// SPDX-License-Identifier: Apache-2.0
// init and convert: one process, files only.
#include <fmt/format.h>

#include "ring/program/commands.hpp"
#include "ring/snapshot.hpp"
#include "ring/text_format.hpp"

namespace ring {

namespace {

bool is_text(const std::filesystem::path& file) {
  return file.extension() == ".txt";
}

void write(const std::filesystem::path& file, const RunState& state, std::span<const Body> bodies) {
  const std::uint64_t bytes =
      is_text(file) ? write_text(file, state.time, bodies).value() : write_snapshot(file, state, bodies).value();
  fmt::print("{}: {} bodies, {:.1f} MB\n", file.string(), bodies.size(), static_cast<double>(bytes) * 1e-6);
}

}  // namespace

void make_initial_condition(const InitSettings& settings) {
  const std::vector<Body> bodies = make_ring(settings.shape);
  RunState state;
  state.parameters.central_mass = settings.shape.central_mass;
  write(settings.output, state, bodies);
}

void convert(const ConvertSettings& settings) {
  if (is_text(settings.input) == is_text(settings.output)) {
    throw plait::Error{
        plait::ErrorCode::bad_argument,
        fmt::format(
            "{} and {} have the same format: one must end in .txt", settings.input.string(), settings.output.string())};
  }
  if (is_text(settings.input)) {
    const TextBodies text = read_text(settings.input).value();
    RunState state;
    state.time = text.time;
    write(settings.output, state, text.bodies);
  } else {
    const Snapshot snapshot = read_snapshot(settings.input).value();
    write(settings.output, snapshot.state, snapshot.bodies);
  }
}

}  // namespace ring
