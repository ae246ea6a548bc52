// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plait/base/error.hpp"

namespace plait::trace {

/// What ran, as it is in a trace's meta.json; docs/reference/trace-format.md explains each field.
struct Meta {
  using Time = std::chrono::system_clock::time_point;

  std::string program;
  std::vector<std::string> command;
  std::uint32_t ranks = 0;
  std::uint32_t workers = 0;       ///< Computing threads of a rank.
  std::vector<std::string> hosts;  ///< Of each rank.
  Time started;
  std::optional<Time> ended;  ///< Nothing while it runs, and when it did not end in good order.
  std::string mpi;            ///< `Driver::name()` will do.
  std::string revision;
  std::map<std::string, std::string> options;
  std::string recorder = "plait";  ///< Who recorded it: docs/reference/trace-format.md names them.
};

/// Writes `folder`/meta.json, for rank 0 at the start and again at a clean end; makes the folder if
/// it is not there. A reader meanwhile finds the old file or the new one, whole. Times are kept
/// to the millisecond. Throws: `Error` with `io`.
void write_meta(const std::filesystem::path& folder, const Meta& meta);

/// Reads `folder`/meta.json. Unknown keys are ignored, missing ones left as they are by default,
/// apart from `format`, `version` and `ranks`.
[[nodiscard]] Result<Meta> read_meta(const std::filesystem::path& folder);

}  // namespace plait::trace
