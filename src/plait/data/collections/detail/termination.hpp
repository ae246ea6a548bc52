// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "plait/base/id.hpp"
#include "plait/base/spin_lock.hpp"

namespace plait::data::detail {

/// What one rank, or several together, have counted since the beginning.
struct Counts {
  std::uint64_t sent = 0;     ///< Messages.
  std::uint64_t handled = 0;  ///< Messages.
  std::uint64_t changes = 0;  ///< Of anything whose sum all ranks know when a phase is over.
  friend constexpr bool operator==(const Counts&, const Counts&) = default;
};

/// Detects that all ranks are quiet and no message is in flight.
///
/// Each quiet rank reports to its parent in a tree what it and the ranks below it have sent and handled, once, and
/// again when that has changed. When the sums at the root agree, it asks all ranks to count again: if the sums are
/// unchanged, nothing was in flight when it asked (the four counters of Mattern, "Algorithms for distributed
/// termination detection", 1987, section 6). When nothing was sent at all, the first count is enough. While nothing
/// changes, no message is sent. Threads: any.
class Termination {
 public:
  enum class Kind : std::uint32_t { counted, count_again, over };
  struct Note {
    Kind kind = Kind::counted;
    std::uint32_t round = 0;
    std::uint64_t phase = 0;
    Counts counts;
  };
  using Post = std::function<void(Rank to, const Note& note)>;

  Termination(Rank self, std::uint32_t rank_count, Post post);

  /// Phases are numbered alike on all ranks, rising.
  void begin(std::uint64_t phase);
  /// This rank has nothing to do unless messages arrive, and its counts are `own`.
  void quiet(const Counts& own);
  /// Takes a note that another rank has posted.
  void take(Rank source, const Note& note);
  /// The sum of `Counts::changes` of all ranks when the last phase was over. Of the thread that begins phases.
  [[nodiscard]] std::uint64_t changes() const noexcept { return changes_; }
  [[nodiscard]] bool is_over() const noexcept {
    return over_.load(std::memory_order_acquire) == phase_;  // with end()
  }

 private:
  static constexpr std::uint32_t arity = 4;

  struct Part {
    std::uint64_t phase = 0;
    std::uint32_t round = 0;
    Counts counts;
  };
  void advance();
  void decide(const Part& whole);
  void end(std::uint64_t changes);
  void post_to_children(Kind kind, std::uint64_t changes = 0);

  const Rank self_;
  const Rank parent_;
  std::vector<Rank> children_;
  Post post_;

  SpinLock mutex_;  ///< Guards all below, but `phase_` is read by the thread that writes it.
  std::uint64_t phase_ = 0;
  std::uint32_t round_ = 0;
  Part own_;
  std::vector<Part> parts_;  ///< By child.
  Part reported_;            ///< To the parent; of the root: when it asked last.
  Counts before_;            ///< Of the root: when the last phase was over.
  std::uint64_t changes_ = 0;
  std::atomic<std::uint64_t> over_ = 0;
};

}  // namespace plait::data::detail
