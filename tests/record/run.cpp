// SPDX-License-Identifier: Apache-2.0
#include "record/run.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace plait::record::test {
namespace {

std::filesystem::path new_folder() {
  static int made = 0;
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("plait-record-{}-{}", ::getpid(), made++);
  std::filesystem::remove_all(folder);
  return folder;
}

}  // namespace

Ran run(std::string_view program, int ranks, std::string_view arguments) {
  Ran ran{.folder = new_folder()};
  const std::string output = ran.folder.string() + ".out";
  const std::string command = fmt::format(
      "OMPI_MCA_osc=^ucx LD_PRELOAD='{}' PLAIT_RECORD_FOLDER='{}' timeout 60 '{}' {} '{}/{}' {} >'{}' 2>&1 </dev/null",
      PLAIT_TEST_RECORDER,
      ran.folder.string(),
      PLAIT_TEST_MPIEXEC,
      ranks,
      PLAIT_TEST_PROGRAMS,
      program,
      arguments,
      output);
  ran.status = std::system(command.c_str());
  std::ifstream file{output};
  ran.output.assign(std::istreambuf_iterator<char>{file}, {});
  std::filesystem::remove(output);
  return ran;
}

trace::RunTrace recorded(std::string_view program, int ranks, std::string_view arguments) {
  const Ran ran = run(program, ranks, arguments);
  EXPECT_EQ(ran.status, 0) << ran.output;
  EXPECT_EQ(ran.output.find("plait:"), std::string::npos) << ran.output;
  Result<trace::RunTrace> trace = trace::read_run(ran.folder);
  if (!trace) {
    ADD_FAILURE() << trace.error().what() << "\n" << ran.output;
    return {};
  }
  for (const trace::RankTrace& rank : trace.value().ranks) {
    for (const std::string& notice : rank.notices) {
      ADD_FAILURE() << notice;
    }
  }
  std::filesystem::remove_all(ran.folder);
  return std::move(trace).value();
}

std::vector<trace::CallEvent> calls_of(const trace::RankTrace& rank, std::string_view function) {
  std::vector<trace::CallEvent> calls;
  for (const auto& call : rank.calls) {
    if (rank.name(trace::Role::function, call.event.function) == function &&
        call.event.what != trace::CallClass::begun_collective) {
      calls.push_back(call.event);
    }
  }
  std::ranges::sort(calls, {}, &trace::CallEvent::number);
  return calls;
}

std::vector<trace::MessageEvent> messages_of(const trace::RankTrace& rank, trace::MessageDirection direction) {
  std::vector<trace::MessageEvent> messages;
  for (const auto& message : rank.messages) {
    if (message.event.direction == direction) {
      messages.push_back(message.event);
    }
  }
  std::ranges::sort(messages, {}, &trace::MessageEvent::sequence);
  return messages;
}

}  // namespace plait::record::test
