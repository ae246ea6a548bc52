// SPDX-License-Identifier: Apache-2.0
#include "plait/simulate/settings.hpp"

#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace plait::simulate {

namespace {

FaultSettings parse_faults(const nlohmann::json& file) {
  FaultSettings faults;
  faults.seed = file.at("seed").get<std::uint64_t>();
  for (const nlohmann::json& name : file.at("kinds")) {
    faults.kinds.push_back(fault_kind(name.get<std::string>()));
  }
  faults.run_length = nanoseconds{file.at("run_length_ns").get<std::int64_t>()};
  faults.disk = file.value("disk", std::string{});
  return faults;
}

SimulationSettings parse(const nlohmann::json& file) {
  SimulationSettings settings;
  settings.ranks = file.at("ranks").get<std::uint32_t>();
  settings.stack_bytes = file.value("stack_bytes", settings.stack_bytes);
  settings.is_progress_shown = file.value("progress", true);
  settings.report = file.value("report", std::string{});
  TaskCostSettings& costs = settings.costs;
  costs.scale = file.value("scale", costs.scale);
  costs.overhead = nanoseconds{file.value("overhead_ns", std::int64_t{0})};
  costs.bodies = file.value("skip_bodies", false) ? BodyUse::skipped : BodyUse::runs;
  const std::string outside = file.value("outside", std::string{"none"});
  if (outside != "none" && outside != "measured") {
    throw Error{ErrorCode::bad_input, fmt::format("outside is {}: it must be none or measured", outside)};
  }
  settings.outside = outside == "measured" ? OutsideCost::measured : OutsideCost::none;
  if (file.contains("kinds")) {
    for (const auto& [kind, time_ns] : file.at("kinds").items()) {
      costs.kinds.emplace(kind, nanoseconds{time_ns.get<std::int64_t>()});
    }
  }
  if (file.contains("other_kinds_ns")) {
    costs.other_kinds = nanoseconds{file.at("other_kinds_ns").get<std::int64_t>()};
  }
  if (file.contains("faults")) {
    settings.faults = parse_faults(file.at("faults"));
  }
  return settings;
}

}  // namespace

Result<SimulationSettings> read_settings(const std::filesystem::path& file) {
  std::ifstream in{file};
  if (!in) {
    return Error{ErrorCode::io, fmt::format("{}: cannot be read; start the program by plait simulate", file.string())};
  }
  try {
    const nlohmann::json parsed = nlohmann::json::parse(in);
    SimulationSettings settings = parse(parsed);
    if (parsed.contains("platform")) {
      Result<replay::Platform> platform = replay::read_platform(parsed.at("platform").get<std::string>());
      if (!platform) {
        return platform.error();
      }
      settings.platform = std::move(platform).value();
    }
    return settings;
  } catch (const std::exception& error) {
    return Error{ErrorCode::bad_input, fmt::format("{}: {}", file.string(), error.what())};
  }
}

}  // namespace plait::simulate
