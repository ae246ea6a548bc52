// SPDX-License-Identifier: Apache-2.0
#include "plait/base/error.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>

namespace plait {

const char* to_string(ErrorCode code) noexcept {
  constexpr std::array texts{"bad argument",
                             "bad input",
                             "input/output",
                             "truncated message",
                             "out of memory",
                             "network",
                             "another rank failed",
                             "timeout",
                             "task failed"};
  const auto index = static_cast<std::size_t>(code);
  return index < texts.size() ? texts[index] : "unknown";
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
