// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "plait/fft/detail/blocks.hpp"
#include "plait/fft/exchange.hpp"
#include "plait/fft/mpi/members.hpp"

namespace plait::fft::mpi {

/// The functions in which a non-blocking exchange advances.
enum class When {
  at_once,     ///< In `start` only: the reference for the others.
  meanwhile,   ///< In `start` and `wait`; `advance` does nothing.
  in_advance,  ///< As `meanwhile`, and in `advance`.
};

using MembersPointer = std::shared_ptr<const Members>;

/// An exchange that receives into its own memory.
class ReceivingExchange : public Exchange {
 public:
  [[nodiscard]] std::span<const std::byte> from(std::size_t member) final { return received_[member]; }

 protected:
  ReceivingExchange(MembersPointer members, const BlockBytes& bytes)
      : members_{std::move(members)}, received_{detail::Places{bytes.from}} {}

  const MembersPointer members_;
  const detail::Blocks received_;
};

// The exchanges of the table of variants. Each is collective over the group; those with a window are called by all
// groups of the world at the same time. Throw: `Error` with `network` and the reason, on all ranks, if they do not work
// here.
[[nodiscard]] std::unique_ptr<Exchange> make_blocking(MembersPointer members, const BlockBytes& bytes);
[[nodiscard]] std::unique_ptr<Exchange> make_nonblocking(MembersPointer members, const BlockBytes& bytes, When when);
[[nodiscard]] std::unique_ptr<Exchange> make_persistent(MembersPointer members, const BlockBytes& bytes, When when);
[[nodiscard]] std::unique_ptr<Exchange> make_gets(MembersPointer members, const BlockBytes& bytes, When when);
[[nodiscard]] std::unique_ptr<Exchange> make_chunked_gets(MembersPointer members,
                                                          const BlockBytes& bytes,
                                                          std::size_t chunk_bytes);
[[nodiscard]] std::unique_ptr<Exchange> make_shared_window(MembersPointer members, const BlockBytes& bytes);

}  // namespace plait::fft::mpi
