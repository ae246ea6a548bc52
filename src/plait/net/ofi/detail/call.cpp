// SPDX-License-Identifier: Apache-2.0
#include "plait/net/ofi/detail/call.hpp"

#include <rdma/fi_errno.h>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace plait::net::detail::ofi {

void ofi_failed(ssize_t code, const char* call, Rank peer) {
  const char* const words = fi_strerror(static_cast<int>(-code));
  if (peer) {
    throw Error{ErrorCode::network, fmt::format("{} with rank {} failed: {}", call, peer.value(), words), peer};
  }
  throw Error{ErrorCode::network, fmt::format("{} failed: {}", call, words)};
}

void peer_is_lost(Rank peer, const char* words) {
  throw Error{
      ErrorCode::network,
      fmt::format(
          "the connection with rank {} is lost ({}); its own output may show why it ended", peer.value(), words),
      peer};
}

}  // namespace plait::net::detail::ofi
