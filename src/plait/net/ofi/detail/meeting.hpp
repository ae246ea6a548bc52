// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plait/net/exchange.hpp"

namespace plait::net::detail::ofi {

/// Names the host and the namespaces that this process is in: equal for two processes that reach each other at
/// 127.0.0.1 and know each other by number.
[[nodiscard]] std::string describe_host();

/// What each rank has brought, by rank. Collective. Throws: what `exchange` throws, and `Error` with `bad_argument`
/// when it does not give `rank_count` answers.
[[nodiscard]] std::vector<Bytes> meet(const Exchange& exchange,
                                      std::uint32_t rank_count,
                                      std::span<const std::byte> mine);

}  // namespace plait::net::detail::ofi
