// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <utility>

#include <mpi.h>

#include "plait/net/packet.hpp"

namespace plait::net::detail {

/// How long an ending driver waits for what is still in flight.
inline constexpr std::chrono::seconds give_up_after{1};
using GiveUpTime = std::chrono::steady_clock::time_point;

/// Lets `request` end, if it does before `deadline`. False when it did not: MPI has forgotten the
/// request, but may still use its buffer, which must stay for ever.
[[nodiscard]] inline bool ends_before(MPI_Request& request, GiveUpTime deadline) noexcept {
  int is_over = 0;
  do {
    if (MPI_Test(&request, &is_over, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
      is_over = 1;  // failed, which is an end, too
    }
  } while (is_over == 0 && std::chrono::steady_clock::now() < deadline);
  if (request != MPI_REQUEST_NULL) {
    MPI_Request_free(&request);
  }
  return is_over != 0;
}

/// Keeps a packet that MPI may still use until the process ends.
inline void leave_behind(Packet&& packet) noexcept {
  new Packet{std::move(packet)};  // NOLINT(bugprone-unhandled-exception-at-new): nothing to mend
}

}  // namespace plait::net::detail
