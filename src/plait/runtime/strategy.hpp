// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "plait/base/clock.hpp"
#include "plait/base/error.hpp"
#include "plait/comm/progression.hpp"
#include "plait/runtime/options.hpp"

#ifdef PLAIT_WITH_MPI
#include <mpi.h>
#endif

namespace plait {

/// A machine and the libraries on it: what a measurement is valid for. Machines of one type are equal.
struct MeasuredSystem {
  std::string processor;    ///< Its model, as the system names it.
  std::uint32_t cores = 0;  ///< Of the machine.
  std::string mpi;          ///< The library with its version; "none" where plait was built without.
  std::string plait;        ///< The version of this library.

  bool operator==(const MeasuredSystem&) const = default;
};

/// Describes this process's machine and libraries.
[[nodiscard]] MeasuredSystem this_system();

/// What was measured to be better than the defaults; each option without a value was not.
struct Strategy {
  PacketBytes packet_bytes;  ///< 0: the default.
  std::string packing;       ///< Empty: the default.
  std::optional<comm::ProgressionMode> progress;
  std::optional<nanoseconds> progress_period;  ///< The timer's `period_min`.
  std::uint32_t copiers = 0;                   ///< `EndpointOptions::copiers_automatic`; 0: the default.
};

/// The file in which `plait doctor --measure` keeps the strategy of a system: in the folder `plait/strategy` of
/// $XDG_CACHE_HOME, else of ~/.cache. Empty where the environment names neither.
[[nodiscard]] std::filesystem::path strategy_file(const MeasuredSystem& system);

/// Reads such a file (docs/reference/formats.md). Error: `io` if it cannot be read; `bad_input` if it is malformed, has
/// a choice that is not valid, or was measured on another system.
[[nodiscard]] Result<Strategy> read_strategy(const std::filesystem::path& file, const MeasuredSystem& system);

/// Replaces what is automatic in `options` by the choices of `strategy`. What the program or the environment has set
/// remains: all sizes but 0, all names but "automatic", and shared-memory packets that are not of the default size.
void apply(const Strategy& strategy, Options& options);

#ifdef PLAIT_WITH_MPI
/// Returns `options` with the strategy of rank 0 applied, which rank 0 reads as its `Options::strategy` demands. There,
/// `strategy` is then the path of the file that was used, or "default". If a file cannot be used, rank 0 writes the
/// reason to stderr in one sentence, and the defaults are used; without a file for this system, they are used silently.
///
/// Collective over `communicator`, which is borrowed: one broadcast. Changes nothing while MPI is not usable.
[[nodiscard]] Options with_strategy(MPI_Comm communicator, Options options);
#endif

}  // namespace plait
