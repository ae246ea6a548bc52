// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "plait/net/shm/shm_driver.hpp"

namespace plait {

/// Which drivers serve the peers of a rank.
enum class NetworkChoice : std::uint8_t {
  automatic,  ///< `shm` for ranks of the same host, `mpi` for the others.
  mpi,        ///< For all.
  shm,        ///< For all, which must be on one host.
  ofi,        ///< For all; only where plait was built with libfabric.
};

[[nodiscard]] const char* to_string(NetworkChoice choice) noexcept;

/// The same on all ranks, but for `host` and `ofi_address`.
struct NetworkOptions {
  NetworkChoice choice = NetworkChoice::automatic;
  /// Ranks with different names here count as being on different hosts, even if they share memory; with equal ones they
  /// are on one host only if they do share memory.
  std::string host;
  /// Address or interface at which other hosts reach this rank through libfabric; empty = libfabric's choice.
  std::string ofi_address;
  net::ShmOptions shm;

  /// The defaults, with what these variables say: PLAIT_NETWORK (automatic, mpi, shm, ofi), PLAIT_HOST (any text),
  /// PLAIT_OFI_ADDRESS, PLAIT_SINGLE_COPY (automatic, never).
  ///
  /// Throws: `Error` with `bad_input` that names the variable, for a word that it does not know.
  [[nodiscard]] static NetworkOptions from_environment();

  /// As `Options::described`.
  [[nodiscard]] std::map<std::string, std::string> described() const;
};

}  // namespace plait
