// SPDX-License-Identifier: Apache-2.0
#include "plait/data/collections/detail/termination.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

namespace plait::data::detail {

Termination::Termination(Rank self, std::uint32_t rank_count, Post post)
    : self_{self}, parent_{self.value() == 0 ? Rank{} : Rank{(self.value() - 1) / arity}}, post_{std::move(post)} {
  const std::uint64_t first = std::uint64_t{arity} * self.value() + 1;
  for (std::uint64_t child = first; child < std::min<std::uint64_t>(first + arity, rank_count); ++child) {
    children_.emplace_back(static_cast<std::uint32_t>(child));
  }
  parts_.resize(children_.size());
}

void Termination::begin(std::uint64_t phase) {
  const std::lock_guard lock{mutex_};
  phase_ = phase;  // what children have reported of it already stays
  round_ = 0;
  reported_ = {};
}

void Termination::quiet(const Counts& own) {
  const std::lock_guard lock{mutex_};
  if (over_.load(std::memory_order_relaxed) == phase_) {  // written under this lock
    return;
  }
  own_ = {phase_, round_, own};
  advance();
}

void Termination::take(Rank source, const Note& note) {
  const std::lock_guard lock{mutex_};
  switch (note.kind) {
    case Kind::counted:
      parts_[source.value() - (std::uint64_t{arity} * self_.value() + 1)] = {note.phase, note.round, note.counts};
      if (note.phase == phase_) {
        advance();
      }
      break;
    case Kind::count_again:
      round_ = note.round;
      post_to_children(Kind::count_again);
      break;
    case Kind::over:
      end(note.counts.changes);
      break;
  }
}

/// With the lock held: reports to the parent what is new, once all ranks below have counted.
void Termination::advance() {
  if (own_.phase != phase_) {
    return;
  }
  Part whole = own_;
  for (const Part& part : parts_) {
    if (part.phase != phase_) {
      return;
    }
    whole.round = std::min(whole.round, part.round);
    whole.counts.sent += part.counts.sent;
    whole.counts.handled += part.counts.handled;
    whole.counts.changes += part.counts.changes;
  }
  if (!parent_) {
    decide(whole);
    return;
  }
  if (reported_.phase != phase_ || reported_.round != whole.round || reported_.counts != whole.counts) {
    reported_ = whole;
    post_(parent_, {Kind::counted, whole.round, phase_, whole.counts});
  }
}

void Termination::decide(const Part& whole) {
  if (whole.counts.sent != whole.counts.handled || whole.round != round_) {
    return;
  }
  const bool has_sent_nothing = whole.counts.sent == before_.sent;
  const bool is_as_before = round_ > 0 && whole.counts == reported_.counts;
  if (has_sent_nothing || is_as_before) {
    before_ = whole.counts;
    end(whole.counts.changes);
    return;
  }
  reported_ = whole;
  ++round_;
  post_to_children(Kind::count_again);
}

void Termination::end(std::uint64_t changes) {
  changes_ = changes;
  // Before the thread that waits for the end is released: it may block elsewhere, while this one has still to post.
  post_to_children(Kind::over, changes);
  over_.store(phase_, std::memory_order_release);  // with is_over()
}

void Termination::post_to_children(Kind kind, std::uint64_t changes) {
  for (const Rank child : children_) {
    post_(child, {kind, round_, phase_, {.changes = changes}});
  }
}

}  // namespace plait::data::detail
