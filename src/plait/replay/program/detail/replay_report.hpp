// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/replay/player.hpp"
#include "plait/replay/program/detail/replay_settings.hpp"

namespace plait::replay {

/// The figures of a replay, for people and programs: of each repetition the length, of each function how long its calls
/// took.
struct ReplayReport {
  std::string text;
  std::string json;
};

/// `ranks`: of each its `Played` of all repetitions, packed by `data::pack`.
[[nodiscard]] ReplayReport make_report(const ReplaySettings& settings,
                                       const std::string& backend,
                                       const std::vector<Bytes>& ranks,
                                       nanoseconds logged);

/// Throws: `Error` with `io`.
void write_text(const std::filesystem::path& file, const std::string& text);

}  // namespace plait::replay
