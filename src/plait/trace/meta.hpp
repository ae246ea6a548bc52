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

/// The contents of a trace's meta.json; docs/reference/trace-format.md explains each field.
struct Meta {
  using Time = std::chrono::system_clock::time_point;

  std::string program;
  std::vector<std::string> command;
  std::uint32_t ranks = 0;
  std::uint32_t workers = 0;       ///< Computing threads of a rank.
  std::vector<std::string> hosts;  ///< Of each rank.
  std::uint32_t cores = 0;         ///< Of the host of rank 0; 0: not known.
  Time started;
  std::optional<Time> ended;  ///< Nothing while it runs, and after a run that failed.
  std::string mpi;            ///< For example `Driver::name()`.
  std::string revision;
  std::map<std::string, std::string> options;
  std::string recorder = "plait";  ///< Who recorded it: docs/reference/trace-format.md names them.
};

/// Writes `folder`/meta.json atomically, on rank 0 at the start and at a clean end; creates the folder if it is
/// missing. Times are stored to the millisecond. Throws: `Error` with `io`.
void write_meta(const std::filesystem::path& folder, const Meta& meta);

/// Reads `folder`/meta.json. Ignores unknown keys; only `format`, `version` and `ranks` are required.
[[nodiscard]] Result<Meta> read_meta(const std::filesystem::path& folder);

}  // namespace plait::trace
