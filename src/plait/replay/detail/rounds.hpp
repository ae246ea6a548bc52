// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "plait/replay/schedule.hpp"

namespace plait::replay::detail {

/// What one member of a collective does at once: it sends, receives, and waits for both.
struct Round {
  static constexpr std::uint32_t no_member = 0xffff'ffff;

  std::uint32_t to = no_member;    ///< Member that it sends to, if any.
  std::uint32_t from = no_member;  ///< Member that it receives from, if any.
  std::uint64_t bytes = 0;         ///< Sent.
  std::uint64_t added = 0;         ///< Bytes that it combines afterwards.
};

/// One member's part of a collective, as the messages of a usual algorithm. Both ends of a message have it in the round
/// of the same index.
///
/// Barrier: dissemination (Hensgen, Finkel, Manber 1988). Broadcast, reduce, gather, scatter: binomial trees;
/// broadcasts of 512 KiB and more as scatter and ring. All-reduce: recursive doubling below 10 KiB, above it a ring of
/// reduce-scatter and all-gather. All-gather: Bruck's below 80 KiB in all, above it a ring. All-to-all: pairwise
/// exchange. Reduce-scatter: pairwise. Scan: recursive doubling. (Thakur, Rabenseifner, Gropp, "Optimization of
/// collective communication operations in MPICH", 2005; the limits are those usual in MPI libraries, which differ.)
class Rounds {
 public:
  struct Part {
    Collective kind = Collective::barrier;
    std::uint32_t member = 0;
    std::uint32_t root = 0;  ///< Member.
    std::uint32_t members = 1;
    std::uint64_t given = 0;                ///< Bytes that this member contributes.
    std::uint64_t got = 0;                  ///< Bytes that this member gets.
    const std::uint64_t* shares = nullptr;  ///< Bytes given to each member, if they differ. Borrowed.
    bool has_rings = true;                  ///< Whether long messages go round rings.
  };

  explicit Rounds(const Part& part);

  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
  [[nodiscard]] Round round(std::uint32_t index) const;

 private:
  [[nodiscard]] Round broadcast(std::uint32_t index) const;
  [[nodiscard]] Round gather(std::uint32_t index) const;
  [[nodiscard]] Round scatter(std::uint32_t index) const;
  [[nodiscard]] Round doubling(std::uint32_t index) const;
  [[nodiscard]] Round ring(std::uint64_t bytes) const;
  [[nodiscard]] std::uint32_t relative() const noexcept {
    return (part_.member + part_.members - part_.root) % part_.members;
  }
  [[nodiscard]] std::uint32_t absolute(std::uint32_t relative) const noexcept {
    return (relative + part_.root) % part_.members;
  }
  [[nodiscard]] std::uint64_t block(std::uint64_t whole) const noexcept { return whole / part_.members; }

  Part part_;
  std::uint32_t steps_ = 0;  ///< Logarithm of the number of members, rounded up.
  std::uint32_t count_ = 0;
  bool is_long_ = false;
};

}  // namespace plait::replay::detail
