// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/base/error.hpp"

namespace plait::net {

/// Gathers `mine` of each rank on every rank, by rank: how drivers exchange addresses before there is a network.
///
/// Collective over the ranks of the driver. Called while the driver is created, by the thread that creates it. Throws
/// what its implementation throws (`mpi_exchange` uses MPI, tests use memory).
using Exchange = std::function<std::vector<Bytes>(std::span<const std::byte> mine)>;

/// Calls `work` on this rank. Returns on every rank the error of the lowest rank whose `work` failed, or nothing.
/// `Error::rank` is that rank.
///
/// Collective. `work` must not wait for a rank whose `work` may fail first. Other exceptions become an `Error` with
/// `io` or `out_of_memory`. Throws: what `exchange` throws. Cost: one exchange.
[[nodiscard]] std::optional<Error> first_error(const Exchange& exchange, const std::function<void()>& work);

/// As `first_error`, but throws the error on every rank.
void agree(const Exchange& exchange, const std::function<void()>& work);

}  // namespace plait::net
