// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/comm/options.hpp"
#include "plait/comm/progression.hpp"
#include "plait/runtime/network_options.hpp"

namespace plait {

/// How a runtime is set up. The defaults serve; `plait run` sets the environment that `from_environment` reads.
struct Options {
  /// Computing threads of each rank, the caller of `run` included.
  std::uint32_t worker_count = 1;
  /// The folder of the run, in which the trace is written; empty = no trace.
  std::filesystem::path trace_folder;
  /// A run in which nothing has moved for so long ends with an error that names what waits; 0 = waits for ever.
  nanoseconds stall_max = std::chrono::seconds{300};
  /// Of the endpoint; its wait policy is the workers' too. When threads outnumber the cores that they may use, nobody
  /// spins, whatever it says.
  comm::EndpointOptions messages;
  /// Who looks at the network while the program computes. An MPI that allows calls from one thread only leaves it to
  /// the program, whatever this says. At MPI_THREAD_SERIALIZED the program's own MPI calls need `Endpoint::hold`.
  comm::ProgressionOptions progression;
  /// What messages travel by, for a runtime over an MPI communicator.
  NetworkOptions network;
  /// The program and its arguments, for the trace's meta.json.
  std::vector<std::string> command;
  /// The git revision of the program, for the same.
  std::string revision;

  /// The defaults, with what these variables say: PLAIT_WORKERS (a count), PLAIT_TRACE (a folder), PLAIT_STALL_SECONDS,
  /// PLAIT_EAGER_BYTES, PLAIT_SPIN_MICROSECONDS, PLAIT_PACKING (immediate, aggregate, priority), PLAIT_PROGRESS (none,
  /// timer, idle, dedicated), PLAIT_PROGRESS_MICROSECONDS (the timer's shortest pause).
  /// `NetworkOptions::from_environment` tells more.
  ///
  /// Throws: `Error` with `bad_input` that names the variable, when a value is not a number in its range.
  [[nodiscard]] static Options from_environment();

  /// The options as names and texts, for people and meta.json.
  [[nodiscard]] std::map<std::string, std::string> described() const;
};

}  // namespace plait
