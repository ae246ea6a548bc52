// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <string>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/id.hpp"

namespace plait::net::conformance {

/// How each process has ended, as `waitpid` reports it.
using Endings = std::vector<int>;

/// What libfabric's shm leaves of a process that was killed: 16 MiB under its number.
inline void remove_shared_memory_of(pid_t process) {
  const std::string name = std::to_string(process) + ":";
  std::error_code ignored;
  for (const auto& file : std::filesystem::directory_iterator{"/dev/shm", ignored}) {
    if (file.path().filename().string().starts_with(name)) {
      std::filesystem::remove(file.path(), ignored);
    }
  }
}

/// Runs `part` in a process for each rank, forked from this one, and waits for all. What the checks in them find, and
/// what they throw, is on stderr, and their exit code is not 0.
inline Endings run_in_processes(std::uint32_t rank_count, const std::function<void(Rank)>& part) {
  std::vector<pid_t> children;
  std::fflush(nullptr);  // or each child would print what is printed already
  for (std::uint32_t rank = 0; rank < rank_count; ++rank) {
    const pid_t child = ::fork();
    if (child == 0) {
      int code = 0;
      try {
        part(Rank{rank});
      } catch (const std::exception& error) {
        std::fprintf(stderr, "rank %u threw: %s\n", rank, error.what());
        code = 2;
      }
      std::fflush(nullptr);
      ::_exit(testing::Test::HasFailure() ? 1 : code);  // not what follows the test
    }
    children.push_back(child);
  }
  Endings endings;
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    endings.push_back(status);
    if (WIFSIGNALED(status)) {
      remove_shared_memory_of(child);
    }
  }
  return endings;
}

}  // namespace plait::net::conformance
