// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include <mpi.h>

#include "plait/net/mpi/detail/call.hpp"
#include "plait/net/packet.hpp"

namespace plait::net::detail {

/// Tests all requests. Returns the indices in `over` of those that have ended, from the highest, so that the last
/// request, which fills the gap of each, has not ended itself. `call` is for errors.
[[nodiscard]] inline std::span<int> test_some(std::vector<MPI_Request>& requests,
                                              std::vector<int>& over,
                                              const char* call) {
  int count = 0;
  check_mpi(MPI_Testsome(static_cast<int>(requests.size()), requests.data(), &count, over.data(), MPI_STATUSES_IGNORE),
            call);
  const std::span<int> ended{over.data(), static_cast<std::size_t>(std::max(count, 0))};  // MPI_UNDEFINED is negative
  std::ranges::sort(ended, std::greater{});
  return ended;
}

/// How long an ending driver waits for what is still in flight.
inline constexpr std::chrono::seconds give_up_after{1};
using GiveUpTime = std::chrono::steady_clock::time_point;

/// Waits for `request` until `deadline`. False when it has not ended: it is freed, but MPI may use its buffer for ever.
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
