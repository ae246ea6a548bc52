// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plait/comm/collectives/all_to_all.hpp"
#include "plait/comm/collectives/detail/call.hpp"

namespace plait::comm::detail {

/// An all-to-all whose arguments are checked. Copied into what carries it out.
struct AllToAll {
  Call call;
  BlocksToSend to;
  BlocksToReceive from;
  AllToAllOptions options;

  /// Tells that the block of `member` is there; notes an exception.
  void tell(std::size_t member) noexcept {
    try {
      if (options.on_block) {
        options.on_block(member);
      }
    } catch (...) {
      call.note(ErrorCode::user_task);
    }
  }
  /// Moves this rank's own block.
  void copy_own() noexcept;
  void take_own() noexcept {
    copy_own();
    tell(call.self());
  }
};

// The ways, one a file.
Request direct_all_to_all(AllToAll exchange);
Request pairwise_all_to_all(AllToAll exchange);
Request random_all_to_all(AllToAll exchange);
Request chunked_all_to_all(AllToAll exchange);
Request two_level_all_to_all(AllToAll exchange);

}  // namespace plait::comm::detail
