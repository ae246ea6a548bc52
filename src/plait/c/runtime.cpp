// SPDX-License-Identifier: Apache-2.0
// Runtimes: their settings, creation and progress.
#include "plait/runtime/runtime.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "plait/c/detail/region_trace.hpp"
#include "plait/c/guard.hpp"
#include "plait/c/handles.hpp"

namespace plait::c {
namespace {

constexpr plait_options unset{.size = sizeof(plait_options),
                              .workers = 0,
                              .progression = PLAIT_PROGRESSION_UNSET,
                              .trace_folder = nullptr,
                              .network = nullptr,
                              .program = nullptr,
                              .stall_seconds = -1};

/// The first version of the options ends here: smaller ones were never initialised.
constexpr std::size_t smallest_options = offsetof(plait_options, stall_seconds) + sizeof(double);

/// Returns the settings that this version knows, from those of a program that may know fewer or more.
plait_options known_part(const plait_options& given) {
  require(given.size >= smallest_options,
          "the options have no valid size: call plait_options_init before setting their fields");
  plait_options known = unset;
  std::memcpy(&known, &given, std::min(given.size, sizeof known));
  return known;
}

comm::ProgressionMode mode_of(int progression) {
  using enum comm::ProgressionMode;
  constexpr std::array modes{automatic, none, timer, idle_cores, dedicated};
  if (progression < PLAIT_PROGRESSION_AUTOMATIC || progression > PLAIT_PROGRESSION_DEDICATED) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("the options have progression {}: use a value of plait_progression", progression)};
  }
  return modes[static_cast<std::size_t>(progression - PLAIT_PROGRESSION_AUTOMATIC)];
}

Options options_of(const plait_options* given) {
  Options options = Options::from_environment();
  const plait_options wanted = given != nullptr ? known_part(*given) : unset;
  require(wanted.workers >= 0, "the options have a negative number of workers: use 1 or more, or 0 for the default");
  if (wanted.workers > 0) {
    options.worker_count = static_cast<std::uint32_t>(wanted.workers);
  }
  if (wanted.progression != PLAIT_PROGRESSION_UNSET) {
    options.progression.mode = mode_of(wanted.progression);
  }
  if (wanted.trace_folder != nullptr) {
    options.trace_folder = wanted.trace_folder;
  }
  if (wanted.network != nullptr) {
    options.network.network = wanted.network;
  }
  if (wanted.program != nullptr) {
    options.command = {wanted.program};
  }
  if (wanted.stall_seconds >= 0) {
    options.stall_max = std::chrono::duration_cast<nanoseconds>(std::chrono::duration<double>{wanted.stall_seconds});
  }
  return options;
}

}  // namespace
}  // namespace plait::c

extern "C" {

int plait_options_init(plait_options* options, size_t size) {
  return plait::c::guarded([&] {
    plait::require(options != nullptr && size >= plait::c::smallest_options,
                   "the options have no valid size: give sizeof(plait_options)");
    std::memset(options, 0, size);  // fields of a later version: 0 is their default
    std::memcpy(options, &plait::c::unset, std::min(size, sizeof plait::c::unset));
    options->size = size;
  });
}

int plait_runtime_create(MPI_Comm communicator, const plait_options* options, plait_runtime** runtime) {
  return plait::c::create(runtime, [&] {
    auto made = std::make_unique<plait_runtime>(communicator, plait::c::options_of(options));
    plait::c::detail::record_regions(made->runtime);
    return made.release();
  });
}

int plait_runtime_create_f(MPI_Fint communicator, const plait_options* options, plait_runtime** runtime) {
  return plait_runtime_create(MPI_Comm_f2c(communicator), options, runtime);
}

int plait_runtime_free(plait_runtime** runtime) {
  if (runtime != nullptr && *runtime != nullptr) {
    plait::c::detail::end_regions((*runtime)->runtime);
  }
  return plait::c::destroy(runtime);
}

int plait_rank(const plait_runtime* runtime) {
  return static_cast<int>(runtime->runtime.self().value());
}

int plait_rank_count(const plait_runtime* runtime) {
  return static_cast<int>(runtime->runtime.rank_count());
}

int plait_worker_count(const plait_runtime* runtime) {
  return static_cast<int>(runtime->runtime.worker_count());
}

int plait_progress(plait_runtime* runtime) {
  return plait::c::guarded([&] {
    plait::comm::Endpoint& messages = runtime->runtime.messages();
    if (messages.progress() == 0) {
      if (const std::optional<plait::Error> failure = messages.failure()) {
        throw plait::Error{*failure};
      }
    }
  });
}
}
