// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "plait/fft/exchange.hpp"
#include "plait/fft/mpi/members.hpp"

namespace plait::fft::mpi {

/// When a variant that could go on while the program computes does so.
enum class When {
  at_once,     ///< All in `start`: what the others are compared with.
  meanwhile,   ///< Begun in `start`, ended in `wait`; `advance` does nothing.
  in_advance,  ///< As `meanwhile`, and `advance` moves it on.
};

using MembersPointer = std::shared_ptr<const Members>;

// Each is collective over the group; those with a window are called by all groups of the world at the same time. What
// they do is said in the table of variants. Throw: `Error` with `network`, on all ranks
// alike, where they cannot work here; it says why.
[[nodiscard]] std::unique_ptr<Exchange> make_blocking(MembersPointer members, const BlockBytes& bytes);
[[nodiscard]] std::unique_ptr<Exchange> make_nonblocking(MembersPointer members, const BlockBytes& bytes, When when);
[[nodiscard]] std::unique_ptr<Exchange> make_persistent(MembersPointer members, const BlockBytes& bytes, When when);
[[nodiscard]] std::unique_ptr<Exchange> make_gets(MembersPointer members, const BlockBytes& bytes, When when);
[[nodiscard]] std::unique_ptr<Exchange> make_chunked_gets(MembersPointer members,
                                                          const BlockBytes& bytes,
                                                          std::size_t chunk_bytes);
[[nodiscard]] std::unique_ptr<Exchange> make_shared_window(MembersPointer members, const BlockBytes& bytes);

/// Why this MPI has no persistent collectives; empty where it has.
[[nodiscard]] std::string why_no_persistent();

}  // namespace plait::fft::mpi
