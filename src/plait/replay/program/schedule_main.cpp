// SPDX-License-Identifier: Apache-2.0
/// plait-schedule: shows the exchange of a recorded run, or one made up from a description.
#include <array>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "plait/replay/from_trace.hpp"
#include "plait/replay/synthetic.hpp"

namespace {

using plait::replay::Action;
using plait::replay::Schedule;

constexpr std::array<const char*, 6> action_names{"compute", "look", "send", "receive", "collective", "wait"};

void describe(const Schedule& schedule) {
  std::array<std::uint64_t, 6> counts{};
  std::uint64_t bytes = 0;
  std::size_t lanes = 0;
  for (const auto& rank : schedule.ranks) {
    lanes += rank.lanes.size();
    for (const auto& lane : rank.lanes) {
      for (const auto& operation : lane.operations) {
        ++counts[static_cast<std::size_t>(operation.action)];
        bytes += operation.action == Action::send ? operation.bytes : 0;
      }
    }
  }
  fmt::print("{} ranks, {} lanes, {} bytes sent, {:.6f} s as logged\n",
             schedule.ranks.size(),
             lanes,
             bytes,
             std::chrono::duration<double>{schedule.length}.count());
  for (std::size_t i = 0; i < counts.size(); ++i) {
    fmt::print("  {:<10} {}\n", action_names[i], counts[i]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Shows the exchange of a recorded run, or one made up from a description."};
  std::string folder;
  std::string description;
  plait::replay::FromTraceOptions options;
  app.add_option("RUN", folder, "Folder of the recorded run");
  app.add_option("--synthetic", description, plait::replay::synthetic_help());
  app.add_option("--step", options.step, "Only this step of the run");
  CLI11_PARSE(app, argc, argv);
  try {
    auto schedule = description.empty() ? plait::replay::schedule_from_folder(folder, options)
                                        : plait::replay::synthetic_schedule(description);
    for (const std::string& notice : schedule.value().notices) {
      fmt::print(stderr, "plait-schedule: {}\n", notice);
    }
    describe(schedule.value());
  } catch (const std::exception& error) {
    fmt::print(stderr, "plait-schedule: {}\n", error.what());
    return 1;
  }
  return 0;
}
