// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "plait/replay/play_options.hpp"
#include "plait/replay/schedule.hpp"

namespace plait::replay {

/// The command line of plait-replay; the same on all ranks.
struct ReplaySettings {
  std::filesystem::path log;
  std::string synthetic;
  std::optional<std::uint32_t> step;
  std::uint32_t ranks = 0;  ///< 0: as many as logged.
  std::string backend = "mpi";
  std::string threads = "one";
  double scale = 1;
  double delay_microseconds = 0;
  std::string rate = "max";
  std::string computing = "keep";
  std::uint32_t repetitions = 1;
  bool is_checked = false;
  double stall_seconds = 30;
  std::filesystem::path output;  ///< Empty: no log is written.
  std::vector<std::string> command;
};

/// Has `app` fill `settings` when it parses.
void add_options(CLI::App& app, ReplaySettings& settings);

/// Throws: `Error` with `bad_argument` for words that make no sense.
[[nodiscard]] PlayOptions play_options(const ReplaySettings& settings);

/// The exchange that is to be replayed on so many ranks, read or made up, and scaled. Throws: `Error` with `bad_input`
/// for a log that cannot be read or replayed.
[[nodiscard]] Schedule load_schedule(const ReplaySettings& settings, std::uint32_t rank_count);

}  // namespace plait::replay
