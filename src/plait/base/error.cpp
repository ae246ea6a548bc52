// SPDX-License-Identifier: Apache-2.0
#include "plait/base/error.hpp"

#include <cstdio>
#include <cstdlib>

namespace plait {

const char* to_string(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::bad_argument:
      return "bad argument";
    case ErrorCode::bad_input:
      return "bad input";
    case ErrorCode::io:
      return "input/output";
    case ErrorCode::truncated:
      return "truncated message";
    case ErrorCode::out_of_memory:
      return "out of memory";
    case ErrorCode::network:
      return "network";
    case ErrorCode::peer_failed:
      return "another rank failed";
    case ErrorCode::timeout:
      return "timeout";
    case ErrorCode::user_task:
      return "task failed";
  }
  return "unknown";
}

namespace detail {

void expectation_failed(const char* why, const std::source_location& where) noexcept {
  std::fprintf(stderr,
               "plait: expectation failed: %s (%s:%u, %s)\n",
               why,
               where.file_name(),
               where.line(),
               where.function_name());
  std::abort();
}

}  // namespace detail
}  // namespace plait
