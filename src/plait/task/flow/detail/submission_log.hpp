// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plait/task/flow/detail/datum.hpp"
#include "plait/task/run/kinds.hpp"

namespace plait::task::detail {

/// The submissions of one rank as a chain of hashes. The last ones are kept with their descriptions.
///
/// Two ranks whose chains agree at a number have submitted the same tasks up to there. Threads: one at a time. Cost: a
/// few nanoseconds a submission; up to 3 MB, as far as needed.
class SubmissionLog {
 public:
  static constexpr std::uint64_t kept = std::uint64_t{1} << 15U;
  /// Numbers at which the chain is kept for ever: the multiples of this.
  static constexpr std::uint64_t checkpoint_every = 1024;

  /// Throws: `std::bad_alloc`.
  void add(const KindName& kind, Rank executes, std::span<const AccessNote> accesses) {
    std::uint64_t chain = mix(chain_ ^ kind.hash) + executes.value();
    Entry& entry = count_ < kept ? entries_.emplace_back() : entries_[count_ % kept];
    entry.kind = &kind;
    entry.executes = executes;
    entry.access_count = static_cast<std::uint32_t>(accesses.size());
    for (std::size_t i = 0; i < accesses.size(); ++i) {
      const std::uint64_t access =
          std::uint64_t{accesses[i].datum->id} << 3U | static_cast<std::uint64_t>(accesses[i].mode);
      chain = mix(chain ^ access);
      if (i < described_max) {
        entry.accesses[i] = accesses[i];
      }
    }
    chain_ = chain;
    entry.chain = chain;
    if (++count_ % checkpoint_every == 0) {
      checkpoints_.push_back(chain);
    }
  }

  /// How many submissions there were; they have the numbers from 1 on.
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  /// The chain after submission `number`, if it is still known.
  [[nodiscard]] std::optional<std::uint64_t> chain_at(std::uint64_t number) const;
  [[nodiscard]] std::uint64_t oldest_kept() const noexcept { return count_ > kept ? count_ - kept + 1 : 1; }
  /// In words: kind, data, rank. Also of numbers that are not kept, or not reached.
  [[nodiscard]] std::string describe(std::uint64_t number) const;

 private:
  static constexpr std::size_t described_max = 4;
  struct Entry {
    std::uint64_t chain = 0;
    const KindName* kind = nullptr;
    Rank executes;
    std::uint32_t access_count = 0;
    std::array<AccessNote, described_max> accesses{};
  };

  /// One multiplication and a shift, as in Daniel Lemire's and others' "fast" hashes; the constant is 2^64 / the golden
  /// ratio, made odd.
  [[nodiscard]] static std::uint64_t mix(std::uint64_t value) noexcept {
    value *= 0x9e37'79b9'7f4a'7c15U;
    return value ^ value >> 29U;
  }

  std::vector<Entry> entries_;
  std::vector<std::uint64_t> checkpoints_;
  std::uint64_t chain_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace plait::task::detail
