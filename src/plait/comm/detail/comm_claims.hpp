// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <source_location>
#include <string>

#include "plait/comm/status.hpp"

namespace plait::comm::detail {

/// The communicators that an endpoint has handed out, and how they are compared with those of other ranks.
///
/// Each claim has a digest of its place in the program, its size and all claims before it. In debug builds the first
/// message of a claimed communicator carries the sender's digest, and the receiver compares it with its own: ranks that
/// claim in different orders are then noticed before they wait for each other. Threads: one at a time.
class CommClaims {
 public:
  /// The first of `count` communicators that were never claimed before.
  /// Throws: `Error` with `bad_argument` when there are no more.
  [[nodiscard]] CommId claim(std::uint32_t count, const std::source_location& where);
  void release(CommId first) noexcept { claims_.erase(first.value()); }

  /// The digest of the claim that has `comm` or whose collectives use it; 0 when it is not claimed.
  [[nodiscard]] std::uint64_t digest(CommId comm) const noexcept;
  /// Where `comm` was claimed, for people; expects that it is.
  [[nodiscard]] std::string where(CommId comm) const;

 private:
  struct Claim {
    std::uint32_t count = 0;
    std::uint64_t digest = 0;
    std::source_location where;
  };
  [[nodiscard]] const Claim* find(CommId comm) const noexcept;

  std::uint32_t next_ = first_claimed_comm.value();
  std::uint64_t digest_ = 0;               ///< Of all claims so far.
  std::map<std::uint32_t, Claim> claims_;  ///< Not released ones, by their first communicator.
};

}  // namespace plait::comm::detail
