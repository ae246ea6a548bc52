// SPDX-License-Identifier: Apache-2.0
#include "support/agree.hpp"

#include <exception>
#include <span>
#include <string>

namespace app {

void agree(plait::Runtime& runtime, const std::function<void()>& work) {
  std::string trouble;
  try {
    work();
  } catch (const std::exception& error) {
    trouble = error.what();
  }
  for (const plait::Bytes& bytes : plait::all_gather(runtime.messages(), std::as_bytes(std::span{trouble}))) {
    if (!bytes.empty()) {
      throw AgreedError{plait::Error{plait::ErrorCode::bad_input,
                                     std::string{reinterpret_cast<const char*>(bytes.data()), bytes.size()}}};
    }
  }
}

}  // namespace app
