// SPDX-License-Identifier: Apache-2.0
#include "plait/accelerate/enter.hpp"

#include <cstdlib>
#include <string_view>

namespace plait::accelerate {

[[gnu::tls_model("initial-exec")]] constinit thread_local bool is_inside = false;
constinit std::atomic<int> calls_of_library = 0;

void load_engine() noexcept {
  static const bool once = [] {
    const char* const wish = std::getenv("PLAIT_ACCELERATE");
    if (wish == nullptr || std::string_view{wish} != "off") {
      start_engine({entries(), [] { return &is_inside; }, &calls_of_library});
    }
    return true;
  }();
  (void)once;
}

}  // namespace plait::accelerate
