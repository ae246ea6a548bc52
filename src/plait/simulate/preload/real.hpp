// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ctime>
#include <dlfcn.h>

namespace plait::simulate {

/// The function behind this library's own of the same name. Cost: a search of the loaded libraries.
template <class Function>
[[nodiscard]] Function* real_function(const char* name) noexcept {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

/// The system's clock_gettime.
inline int real_clock_gettime(clockid_t clock, std::timespec* time) noexcept {
  static const auto real = real_function<int(clockid_t, std::timespec*) noexcept>("clock_gettime");
  return real(clock, time);
}

}  // namespace plait::simulate
