// SPDX-License-Identifier: Apache-2.0
// Which MPI the program has, and whether the engine comes before it.
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <string>

#include "plait/accelerate/enter.hpp"
#include "plait/preload/real.hpp"

namespace plait::accelerate {

namespace {

/// The engine's library, beside this one.
std::string engine_path() {
  Dl_info own{};
  ::dladdr(reinterpret_cast<void*>(&engine_path), &own);
  const std::string path = own.dli_fname;
  return path.substr(0, path.rfind('/') + 1) + "libplait-accelerate-engine.so";
}

void step_aside(const char* reason) noexcept {
  std::fprintf(stderr, "plait: the program's messages are not accelerated: %s\n", reason);
}

}  // namespace

void start_engine(const Preload& offered) noexcept {
  if (preload::has_other_mpi()) {
    const std::string reason = std::string{"this library is for "} + preload::compiled_for() +
                               ", and the program uses another MPI; choose with plait accelerate --mpi";
    step_aside(reason.c_str());
    return;
  }
  for (const char* const name : unknown_functions()) {
    if (preload::find_real(name) != nullptr) {
      const std::string reason = std::string{"this library is for an older version of the program's MPI, without "} +
                                 (name + 1) + "; build plait with the program's MPI";
      step_aside(reason.c_str());
      return;
    }
  }
  void* const engine = ::dlopen(engine_path().c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const start = engine != nullptr ? ::dlsym(engine, start_engine_name) : nullptr;
  if (start == nullptr) {
    step_aside(::dlerror());
    return;
  }
  reinterpret_cast<StartEngine*>(start)(offered);
}

void* find(Entry& entry) noexcept {
  void* const found = preload::find_real(entry.name);
  if (found == nullptr) {
    std::fprintf(stderr,
                 "plait: the program calls %s, which no MPI library in this process has; run it without plait\n",
                 entry.name + 1);
    std::abort();
  }
  entry.real.store(found, std::memory_order_relaxed);  // any finder gets the same value
  return found;
}

}  // namespace plait::accelerate
