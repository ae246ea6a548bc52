// SPDX-License-Identifier: Apache-2.0
#include "support/agree.hpp"

#include <fmt/format.h>

namespace app {

void agree(plait::Runtime& runtime, const std::function<void()>& work) {
  try {
    plait::agree(plait::Group{runtime.messages()}, work);
  } catch (const plait::Error& error) {
    if (runtime.messages().failure()) {
      throw;  // of this rank alone
    }
    throw AgreedError{error};
  }
}

void require(bool is_good, const char* option, const char* must_be) {
  if (!is_good) {
    throw plait::Error{plait::ErrorCode::bad_argument,
                       fmt::format("{}, given or from the snapshot, must be {}", option, must_be)};
  }
}

void refuse_too_few(plait::Runtime& runtime, const char* what, std::uint64_t mine, std::uint64_t least) {
  std::uint64_t count = 0;
  for (const std::uint64_t one : plait::all_gather_values(runtime.messages(), mine)) {
    count += one;
  }
  if (count < least) {
    throw AgreedError{plait::Error{
        plait::ErrorCode::bad_input,
        fmt::format(
            "{} {} are too few for {} ranks: at least {} are needed", count, what, runtime.rank_count(), least)}};
  }
}

}  // namespace app
