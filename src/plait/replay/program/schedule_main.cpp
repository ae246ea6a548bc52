// SPDX-License-Identifier: Apache-2.0
/// plait-schedule: shows, changes and exports the exchange of a recorded run, or one generated from a description.
#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "plait/base/command_line.hpp"
#include "plait/replay/change.hpp"
#include "plait/replay/detail/places.hpp"
#include "plait/replay/fold.hpp"
#include "plait/replay/from_trace.hpp"
#include "plait/replay/goal.hpp"
#include "plait/replay/simgrid.hpp"
#include "plait/replay/synthetic.hpp"
#include "plait/version.hpp"

namespace {

using namespace plait;
using namespace plait::replay;

constexpr std::array action_names{"compute", "poll", "send", "receive", "collective", "wait", "after"};
static_assert(action_names.size() == static_cast<std::size_t>(Action::after) + 1, "a name for each action");

struct Arguments {
  std::string folder;
  std::string description;
  std::optional<std::uint32_t> step;
  std::optional<std::uint32_t> ranks;
  double scale = 1;
  double compute = 1;
  bool is_aggregated = false;
  std::string goal;
  std::string simgrid;
  std::string platform;
  bool is_described = false;
};

/// The machine of SimGrid's files without --platform: 10 Gbit/s Ethernet.
Platform default_platform() {
  Platform platform;
  platform.between_hosts = {.latency_ns = 20'000, .gap_per_byte_ns = 0.8};
  platform.within_host = {.latency_ns = 500, .gap_per_byte_ns = 0.1};
  return platform;
}

void describe(const Schedule& schedule) {
  std::array<std::uint64_t, action_names.size()> counts{};
  std::vector<std::uint64_t> sizes;
  std::uint64_t bytes = 0;
  nanoseconds computed{};
  std::size_t streams = 0;
  for (const RankSchedule& rank : schedule.ranks) {
    streams += rank.streams.size();
  }
  replay::detail::for_each_operation(schedule, [&](const auto& /*place*/, const Operation& operation) {
    ++counts[static_cast<std::size_t>(operation.action)];
    if (operation.action == Action::send) {
      sizes.push_back(operation.bytes);
      bytes += operation.bytes;
    } else if (operation.action == Action::compute) {
      computed += operation.took;
    }
  });
  fmt::print("{} ranks, {} streams, {:.6f} s as logged\n",
             schedule.ranks.size(),
             streams,
             std::chrono::duration<double>{schedule.length}.count());
  for (std::size_t i = 0; i < counts.size(); ++i) {
    fmt::print("  {:<10} {}\n", action_names[i], counts[i]);
  }
  if (!sizes.empty()) {
    const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
    std::ranges::nth_element(sizes, middle);
    fmt::print("  {} bytes in messages: mean {}, median {}, largest {}\n",
               bytes,
               bytes / sizes.size(),
               *middle,
               std::ranges::max(sizes));
  }
  fmt::print("  {:.6f} s of computing over all streams\n", std::chrono::duration<double>{computed}.count());
}

Schedule make(const Arguments& arguments) {
  auto made = arguments.description.empty() ? schedule_from_folder(arguments.folder, arguments.step)
                                            : synthetic_schedule(arguments.description);
  Schedule schedule = std::move(made).value();
  if (arguments.ranks) {
    schedule = onto_ranks(schedule, *arguments.ranks).value();
  }
  if (arguments.is_aggregated) {
    schedule = aggregated(schedule);
  }
  if (arguments.scale != 1) {
    scale_bytes(schedule, arguments.scale);
  }
  if (arguments.compute != 1) {
    scale_compute(schedule, arguments.compute);
  }
  return schedule;
}

void run(const Arguments& arguments) {
  Schedule schedule = make(arguments);
  if (!arguments.goal.empty()) {
    write_goal(schedule, std::filesystem::path{arguments.goal});
  }
  if (!arguments.simgrid.empty()) {
    const Platform platform =
        arguments.platform.empty() ? default_platform() : read_platform(arguments.platform).value();
    std::ranges::move(write_simgrid(schedule, platform, arguments.simgrid), std::back_inserter(schedule.notices));
  }
  for (const std::string& notice : schedule.notices) {
    fmt::print(stderr, "plait-schedule: {}\n", notice);
  }
  if (arguments.is_described || (arguments.goal.empty() && arguments.simgrid.empty())) {
    describe(schedule);
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "plait-schedule: shows, changes and exports the exchange of a recorded run, or a generated one.\n\n"
      "  plait-schedule runs/melt --ranks 64 --simgrid traces\n",
      "plait-schedule"};
  app.set_version_flag("--version", version_line("plait-schedule"));
  Arguments arguments;
  CLI::Option* const folder = app.add_option("RUN", arguments.folder, "Folder of the recorded run");
  app.add_option(
         "--synthetic", arguments.description, "An exchange generated from a description instead: " + synthetic_help())
      ->excludes(folder);
  app.add_option("--step", arguments.step, "Only this step of the run");
  app.add_option("-n,--ranks", arguments.ranks, "Fold or tile onto this many ranks");
  app.add_option("--scale", arguments.scale, "Factor for the sizes of messages")->check(CLI::NonNegativeNumber);
  app.add_option("--compute", arguments.compute, "Factor for the computing between messages; 0 drops it")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--aggregate", arguments.is_aggregated, "One message to each rank between waits");
  app.add_option("--goal", arguments.goal, "Write it to this file as GOAL text, for LogGOPSim");
  app.add_option("--simgrid", arguments.simgrid, "Write it to this folder as SimGrid's time-independent traces");
  app.add_option("--platform", arguments.platform, "Platform file, for SimGrid's platform.xml [10 Gbit/s Ethernet]");
  app.add_flag("--describe", arguments.is_described, "Print a summary, also with --goal or --simgrid");
  if (const auto status = plait::end_after_parsing<CLI::ParseError>(app, argc, argv)) {
    return *status;
  }
  if (arguments.folder.empty() && arguments.description.empty()) {
    fmt::print(
        stderr, "plait-schedule: give the folder of a run, or --synthetic with a description\n{}", synthetic_help());
    return 2;
  }
  try {
    run(arguments);
  } catch (const std::exception& error) {
    fmt::print(stderr, "plait-schedule: {}\n", error.what());
    return 1;
  }
  return 0;
}
