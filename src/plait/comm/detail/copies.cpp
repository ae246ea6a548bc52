// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/detail/copies.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "plait/base/error.hpp"

namespace plait::comm::detail {

namespace {

/// A smaller copy ends before a thread that sleeps has woken up.
constexpr std::size_t worth_waking_bytes = std::size_t{1} << 20U;

}  // namespace

Copies::Copies(const EndpointOptions& options, Activity& activity)
    : copiers_max_{options.copiers_max == 0 ? options.copiers_automatic : options.copiers_max},
      piece_bytes_{options.copy_piece_bytes},
      activity_{activity} {
  require(piece_bytes_ > 0, "copy_piece_bytes must be at least 1");
}

void Copies::move(const SegmentCopy& what, std::size_t offset, std::size_t bytes) {
  if (what.direction == CopyDirection::pack) {
    what.memory->gather(what.offset + offset, what.packed.subspan(offset, bytes));
  } else {
    what.memory->scatter(what.offset + offset, what.packed.subspan(offset, bytes));
  }
}

bool Copies::copy(const SegmentCopy& what) {
  if (copiers_max_.load(std::memory_order_relaxed) == 1 || what.packed.size() <= piece_bytes_) {
    move(what, 0, what.packed.size());
    return true;
  }
  const auto shared = std::make_shared<Shared>(
      Shared{.what = what, .queued_by = std::this_thread::get_id(), .left = what.packed.size()});
  new_bytes_ += what.packed.size();
  const std::lock_guard lock{mutex_};
  queue_.push_back(shared);
  activity_.note_copies(++open_);
  has_pieces_.store(true, std::memory_order_relaxed);  // published by the lock, as in all that follows
  return false;
}

/// A thread that finds nothing to take stops to count as a copier under the same lock: for a piece that is queued
/// later, there is either a free place among the copiers, or one that will come back.
Copies::Piece Copies::take() noexcept {
  if (queue_.empty()) {
    return {};
  }
  std::shared_ptr<Shared>& first = queue_.front();
  const std::size_t bytes = std::min(piece_bytes_, first->what.packed.size() - first->next);
  Piece piece{.of = first, .offset = first->next, .bytes = bytes};
  first->next += bytes;
  if (first->next == first->what.packed.size()) {
    queue_.pop_front();
    has_pieces_.store(!queue_.empty(), std::memory_order_relaxed);
  }
  return piece;
}

/// Returns whether that was the last piece of its copy.
bool Copies::end(const Piece& piece) noexcept {
  Shared& of = *piece.of;
  of.left -= piece.bytes;
  activity_.note_piece(of.queued_by != std::this_thread::get_id());
  if (of.left > 0) {
    return false;
  }
  ended_.push_back({of.what.direction, of.what.cookie});
  has_ended_.store(true, std::memory_order_relaxed);
  return true;
}

std::size_t Copies::help() noexcept {
  std::unique_lock lock{mutex_};
  if (copiers_ >= copiers_max_.load(std::memory_order_relaxed)) {
    return 0;
  }
  ++copiers_;
  std::size_t pieces = 0;
  for (Piece piece = take(); piece.of != nullptr; piece = take()) {
    lock.unlock();
    move(piece.of->what, piece.offset, piece.bytes);
    ++pieces;
    lock.lock();
    if (end(piece)) {
      break;
    }
  }
  --copiers_;
  return pieces;
}

std::vector<Copies::Ended> Copies::take_ended() {
  const std::lock_guard lock{mutex_};
  std::vector<Ended> ended = std::exchange(ended_, {});
  open_ -= ended.size();
  activity_.note_copies(open_);
  has_ended_.store(false, std::memory_order_relaxed);
  return ended;
}

std::uint32_t Copies::take_helpers_wanted() noexcept {
  const bool are_worth_waking = std::exchange(new_bytes_, 0) >= worth_waking_bytes;
  return are_worth_waking ? copiers_max_.load(std::memory_order_relaxed) - 1 : 0;
}

void Copies::set_copiers_max(std::uint32_t count) noexcept {
  copiers_max_.store(std::max(count, 1U), std::memory_order_relaxed);
}

void Copies::set_wake(const std::function<void(std::uint32_t)>* wake) {
  const std::lock_guard lock{wake_mutex_};
  wake_ = wake;
}

void Copies::wake(std::uint32_t count) {
  const std::lock_guard lock{wake_mutex_};
  if (count > 0 && wake_ != nullptr) {
    (*wake_)(count);
  }
}

}  // namespace plait::comm::detail
