// SPDX-License-Identifier: Apache-2.0
#pragma once

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

namespace plait::data::test {

/// As long as it lives, what this thread allocates is not looked for at the end. For ranks that an error ends in the
/// middle of a collective: what has come so far of it waits for messages that never come, as in a program that ends.
class LeaksAllowed {
 public:
#ifdef __SANITIZE_ADDRESS__
  LeaksAllowed() { __lsan_disable(); }
  ~LeaksAllowed() { __lsan_enable(); }
#else
  LeaksAllowed() {}
  ~LeaksAllowed() {}
#endif
  LeaksAllowed(const LeaksAllowed&) = delete;
  LeaksAllowed& operator=(const LeaksAllowed&) = delete;
};

}  // namespace plait::data::test
