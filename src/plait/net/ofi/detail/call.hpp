// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rdma/fi_errno.h>
#include <sys/types.h>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/base/id.hpp"

namespace plait::net::detail::ofi {

/// Throws `Error` with `network` and libfabric's message for `code`, a negative result of the function `call`.
[[noreturn]] inline void ofi_failed(ssize_t code, const char* call, Rank peer = {}) {
  const char* const words = fi_strerror(static_cast<int>(-code));
  if (peer) {
    throw Error{ErrorCode::network, fmt::format("{} with rank {} failed: {}", call, peer.value(), words), peer};
  }
  throw Error{ErrorCode::network, fmt::format("{} failed: {}", call, words)};
}

/// Throws as `ofi_failed` does, unless the call went well.
inline void check_ofi(ssize_t code, const char* call, Rank peer = {}) {
  if (code < 0) [[unlikely]] {
    ofi_failed(code, call, peer);
  }
}

/// Throws `Error` with `network` for a peer that has ended without notice. `words` describes how this was detected.
[[noreturn]] inline void peer_is_lost(Rank peer, const char* words) {
  throw Error{
      ErrorCode::network,
      fmt::format(
          "the connection with rank {} is lost ({}); its own output may show why it ended", peer.value(), words),
      peer};
}

}  // namespace plait::net::detail::ofi
