// SPDX-License-Identifier: Apache-2.0
#include "plait/trace/preloaded_recorder.hpp"

#include <dlfcn.h>

namespace plait::trace {

namespace {

const PreloadedRecorder* find_preloaded_recorder() noexcept {
  const auto* const found = static_cast<const PreloadedRecorder*>(::dlsym(RTLD_DEFAULT, PreloadedRecorder::symbol));
  return found != nullptr && found->version == PreloadedRecorder::version_here ? found : nullptr;
}

}  // namespace

const PreloadedRecorder* preloaded_recorder() noexcept {
  static const PreloadedRecorder* const found = find_preloaded_recorder();
  return found;
}

}  // namespace plait::trace
