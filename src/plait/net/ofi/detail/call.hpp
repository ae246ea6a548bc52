// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include "plait/base/id.hpp"

namespace plait::net::detail::ofi {

/// Throws `Error` with `network` and libfabric's own words for `code`, which is negative as its functions return it.
/// `call` is the name of the function.
[[noreturn]] void ofi_failed(ssize_t code, const char* call, Rank peer = {});

/// Throws as `ofi_failed` does, unless the call went well.
inline void check_ofi(ssize_t code, const char* call, Rank peer = {}) {
  if (code < 0) [[unlikely]] {
    ofi_failed(code, call, peer);
  }
}

/// Throws `Error` with `network`: a peer has ended without notice. `words` describe how that was detected.
[[noreturn]] void peer_is_lost(Rank peer, const char* words);

}  // namespace plait::net::detail::ofi
