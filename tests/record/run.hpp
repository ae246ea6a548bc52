// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "plait/trace/reader.hpp"

/// Runs programs under MPI with the recorder before them, and reads what it wrote.
namespace plait::record::test {

struct Ran {
  int status = 0;      ///< As `std::system` reports it: 0 when every rank ended well.
  std::string output;  ///< Of the program, both streams.
  std::filesystem::path folder;
};

/// Runs tests/record/programs/`program` on `ranks` ranks; a new folder each time, in the test's own.
[[nodiscard]] Ran run(std::string_view program, int ranks, std::string_view arguments = "");

/// As `run`, and reads the trace; a test failure when the program or the recorder failed.
[[nodiscard]] trace::RunTrace recorded(std::string_view program, int ranks, std::string_view arguments = "");

/// Calls of a function, in the order of their numbers.
[[nodiscard]] std::vector<trace::CallEvent> calls_of(const trace::RankTrace& rank, std::string_view function);
[[nodiscard]] std::vector<trace::MessageEvent> messages_of(const trace::RankTrace& rank,
                                                           trace::MessageDirection direction);

}  // namespace plait::record::test
