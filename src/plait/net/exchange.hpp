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

/// How drivers find each other before there is a network: gives every rank the bytes of each rank, by rank.
///
/// Collective over the ranks of the driver. Called by the thread that creates the driver, during its creation. Throws:
/// what its means of exchange throws (`mpi_exchange` uses MPI, tests use memory).
using Exchange = std::function<std::vector<Bytes>(std::span<const std::byte> mine)>;

/// Does `work` on this rank and returns on every rank the error of the lowest rank whose `work` failed, or nothing.
/// `Error::rank` is that rank.
///
/// Collective. `work` must not wait for a rank whose `work` may fail before. An exception that is no `Error` becomes
/// one with `io`, or with `out_of_memory`. Throws: what `exchange` throws. Cost: one exchange.
[[nodiscard]] std::optional<Error> first_error(const Exchange& exchange, const std::function<void()>& work);

/// As `first_error`, and throws the error on every rank.
void agree(const Exchange& exchange, const std::function<void()>& work);

}  // namespace plait::net
