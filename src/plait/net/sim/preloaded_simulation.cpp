// SPDX-License-Identifier: Apache-2.0
#include "plait/net/sim/preloaded_simulation.hpp"

#include <dlfcn.h>

#include "plait/base/error.hpp"

namespace plait::net {

namespace {

const PreloadedSimulation* find_preloaded_simulation() {
  const auto* const found = static_cast<const PreloadedSimulation*>(::dlsym(RTLD_DEFAULT, PreloadedSimulation::symbol));
  require(found == nullptr || (found->version == PreloadedSimulation::version_here &&
                               found->layout == PreloadedSimulation::layout_here),
          "the program and plait simulate were built from different sources of plait: build both again");
  return found;
}

}  // namespace

const PreloadedSimulation* preloaded_simulation() {
  static const PreloadedSimulation* const found = find_preloaded_simulation();
  return found;
}

}  // namespace plait::net
