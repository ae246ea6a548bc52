// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/comm/options.hpp"
#include "plait/comm/progression.hpp"
#include "plait/net/shm/shm_driver.hpp"
#include "plait/net/transfer_options.hpp"
#include "plait/trace/profile_options.hpp"

namespace plait {

/// Sizes of the largest packets of each network. All ranks must use the same. 0: what was measured to be better on this
/// machine, else the driver's own, 8 KiB. Larger messages use rendezvous.
struct PacketBytes {
  std::size_t shm = 0;            ///< Over shared memory.
  std::size_t mpi = 0;            ///< Through MPI, if all ranks are on one host.
  std::size_t between_hosts = 0;  ///< Through MPI, if they are on several.
};

/// How a runtime over an MPI communicator selects drivers. Equal on all ranks, except `host` and `ofi_address`.
struct NetworkOptions {
  /// The network: shared memory within hosts and MPI between them ("automatic"), or for all ranks MPI ("mpi"), shared
  /// memory ("shm") or libfabric ("ofi").
  std::string network = "automatic";
  /// Ranks with different names count as being on different hosts, even if they share memory. Ranks with equal names
  /// are on one host if they share memory.
  std::string host;
  /// Address or interface at which other hosts reach this rank through libfabric; empty: libfabric chooses. Several,
  /// separated by commas, are rails that share bulk data (net/rails/rails_driver.hpp): as many on all ranks, in the
  /// same order, each on a network of its own.
  std::string ofi_address;
  /// `packet_bytes` has the size of its packets, unless that is 0.
  net::ShmOptions shm;
  PacketBytes packet_bytes;
  /// Bulk data in flight at once from a rank of another host, through MPI: urgent packets wait behind it.
  std::size_t bulk_between_hosts_max = net::TransferOptions{}.bulk_in_flight_max;

  /// The defaults, overridden by these variables: PLAIT_NETWORK, PLAIT_HOST (any text), PLAIT_OFI_ADDRESS,
  /// PLAIT_SINGLE_COPY (automatic, never), PLAIT_PACKET_BYTES (of shared memory and MPI).
  ///
  /// Throws: `Error` with `bad_input` for invalid values of the last two; `make_network` refuses an unknown network.
  [[nodiscard]] static NetworkOptions from_environment();
};

/// The settings of a runtime. `plait run` sets the environment that `from_environment` reads.
struct Options {
  /// Computing threads of each rank, the caller of `run` included.
  std::uint32_t worker_count = 1;
  /// The folder to which the trace is written; empty: no trace.
  std::filesystem::path trace_folder;
  /// If given, the trace has sums in bounded memory in the place of each event.
  std::optional<trace::ProfileOptions> profile;
  /// A run without progress for this time ends with an error that names the waiting tasks; 0: no limit.
  nanoseconds stall_max = std::chrono::seconds{300};
  /// Settings of the endpoint. Workers use its wait policy too; no thread spins when threads outnumber the available
  /// cores.
  comm::EndpointOptions messages;
  /// Which threads poll the network while the program computes. With MPI_THREAD_FUNNELED only the program's calls do,
  /// whatever the setting. With MPI_THREAD_SERIALIZED the program's own MPI calls need `Endpoint::hold`.
  comm::ProgressionOptions progression;
  /// The drivers of a runtime over an MPI communicator.
  NetworkOptions network;
  /// The program and its arguments, for the trace's meta.json.
  std::vector<std::string> command;
  /// The git revision of the program, for meta.json.
  std::string revision;
  /// What replaces options that are "automatic": the defaults ("default"), what `plait doctor --measure` has found on
  /// this machine ("measured"), or what such a file contains (its path). Rank 0's is used by all. See strategy.hpp.
  std::string strategy = "default";
  /// Whether rank 0 writes to stderr what was chosen at the start.
  bool is_verbose = false;

  /// The defaults, overridden by these variables: PLAIT_WORKERS (a count), PLAIT_TRACE (a folder),
  /// PLAIT_RECORD_PROFILE (1), PLAIT_RECORD_WINDOW (`trace::read_window_options`), PLAIT_STALL_SECONDS,
  /// PLAIT_EAGER_BYTES, PLAIT_COPIERS (a count), PLAIT_SPIN_MICROSECONDS, PLAIT_PACKING (automatic, immediate,
  /// aggregate, priority), PLAIT_PROGRESS (automatic, none, timer, idle, dedicated), PLAIT_PROGRESS_MICROSECONDS (the
  /// timer's shortest pause; it selects the timer where PLAIT_PROGRESS is not set), PLAIT_STRATEGY (measured, which is
  /// the default here; default; a file), PLAIT_VERBOSE (1). `NetworkOptions::from_environment` reads more.
  ///
  /// Throws: `Error` with `bad_input` that names the variable, if a value is not a number in its range.
  [[nodiscard]] static Options from_environment();

  /// The options as names and texts, for output and meta.json.
  [[nodiscard]] std::map<std::string, std::string> described() const;
};

}  // namespace plait
