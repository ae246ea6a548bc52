// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "plait/net/shm/shm_driver.hpp"

namespace plait {

/// The same on all ranks, but for `host` and `ofi_address`.
struct NetworkOptions {
  /// Which drivers serve the peers of a rank: the name of a `NetworkEntry`.
  std::string network = "automatic";
  /// Ranks with different names count as being on different hosts, even if they share memory. Ranks with equal names
  /// are on one host if they share memory.
  std::string host;
  /// Address or interface at which other hosts reach this rank through libfabric; empty: libfabric chooses.
  std::string ofi_address;
  net::ShmOptions shm;

  /// The defaults, overridden by these variables: PLAIT_NETWORK, PLAIT_HOST (any text), PLAIT_OFI_ADDRESS,
  /// PLAIT_SINGLE_COPY (automatic, never).
  ///
  /// Throws: `Error` with `bad_input` for an unknown word in the last; `make_network` refuses an unknown network.
  [[nodiscard]] static NetworkOptions from_environment();

  /// As `Options::described`.
  [[nodiscard]] std::map<std::string, std::string> described() const;
};

}  // namespace plait
