// SPDX-License-Identifier: Apache-2.0
#include "plait/net/shm/detail/bulk_mover.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstring>

#include "plait/base/error.hpp"

namespace plait::net::detail::shm {
namespace {

using Word = std::atomic_ref<std::uint64_t>;

/// Steps without a byte copied, between two questions whether the peer still lives.
constexpr std::uint32_t idle_steps_max = 1024;
constexpr std::chrono::seconds give_up_after{1};
/// Pieces of a transfer, within the limits of their size: both sides copy some, and wait briefly for the other's last.
constexpr std::size_t pieces_wanted = 16;
constexpr std::size_t piece_bytes_min = std::size_t{64} * 1024;
constexpr std::size_t page_bytes = 4096;
/// Without single copy, so that one side takes out while the other puts in.
constexpr std::size_t parts_of_buffer = 4;

}  // namespace

BulkMover::BulkMover(const Segment& segment, std::uint32_t self, Peers& peers, const Settings& settings)
    : segment_{segment}, self_{self}, peers_{peers}, settings_{settings} {}

/// The same on both sides.
std::size_t BulkMover::piece_bytes(std::size_t bytes) const {
  const std::size_t wanted = round_up(bytes / pieces_wanted + 1, page_bytes);
  return std::min(std::max(wanted, piece_bytes_min), settings_.piece_bytes_max);
}

Post BulkMover::send(const BulkSend& bulk) {
  BulkPlace& place = segment_.place(bulk.to.value(), bulk.slot.value());
  const std::uint64_t claim = Word{place.claim}.load(std::memory_order_acquire);  // with release in receive()
  if (BulkPlace::piece_in(claim) != BulkPlace::awaits_sender) {
    if (BulkPlace::piece_in(claim) == BulkPlace::given_up || peers_.has_left(bulk.to.value())) {
      peers_.fail(bulk.to.value(), "it has ended its driver while bulk data was on its way to it");
    }
    return Post::retry;
  }
  expect(place.from == self_, "the receive in this slot is for this sender");
  expect(place.bytes == bulk.data.size(), "a bulk receive is exactly as long as the data");
  const std::uint32_t number = BulkPlace::number_in(claim);
  place.data = std::bit_cast<std::uintptr_t>(bulk.data.data());
  transfers_.push_back({.place = &place,
                        .buffer = segment_.buffer(bulk.to.value(), bulk.slot.value()),
                        .direction = TransferDirection::sent,
                        .peer = bulk.to.value(),
                        .number = number,
                        .ours = const_cast<std::byte*>(bulk.data.data()),
                        .theirs = place.buffer,
                        .bytes = bulk.data.size(),
                        .cookie = bulk.cookie});
  ++send_count_;
  // The sender copies the first piece now: a short transfer has ended when the receiver next polls. With acquire in
  // copy_piece().
  const bool is_single = settings_.single_copy == SingleCopy::automatic;
  Word{place.claim}.store(BulkPlace::claim_of(number, is_single ? 1 : 0), std::memory_order_release);
  Transfer& transfer = transfers_.back();
  if (is_single) {
    const std::size_t bytes = std::min(piece_bytes(transfer.bytes), transfer.bytes);
    copy(transfer, 0, bytes);
    Word{place.moved}.fetch_add(bytes, std::memory_order_acq_rel);  // with acquire in copy_piece()
  } else {
    // progress() reports the end: it finds that nothing is left to put in.
    static_cast<void>(put_in(transfer));
  }
  return Post::posted;
}

Post BulkMover::receive(const BulkReceive& bulk) {
  BulkPlace& place = segment_.place(self_, bulk.slot.value());
  const std::uint32_t number = BulkPlace::number_in(Word{place.claim}.load(std::memory_order_relaxed)) + 1;
  place.from = bulk.from.value();
  place.bytes = bulk.buffer.size();
  place.buffer = std::bit_cast<std::uintptr_t>(bulk.buffer.data());
  Word{place.moved}.store(0, std::memory_order_relaxed);  // all before the release below
  Word{place.taken}.store(0, std::memory_order_relaxed);
  Word{place.claim}.store(BulkPlace::claim_of(number, BulkPlace::awaits_sender),
                          std::memory_order_release);  // with acquire in send(), and in copy_piece() of who was before
  transfers_.push_back({.place = &place,
                        .buffer = segment_.buffer(self_, bulk.slot.value()),
                        .direction = TransferDirection::received,
                        .peer = bulk.from.value(),
                        .number = number,
                        .ours = bulk.buffer.data(),
                        .bytes = bulk.buffer.size(),
                        .cookie = bulk.cookie});
  return Post::posted;
}

void BulkMover::progress(std::vector<BulkDone>& done) {
  std::size_t copied = 0;
  const std::size_t count = transfers_.size();
  next_ = next_ < count ? next_ : 0;
  const std::size_t done_before = done.size();
  for (std::size_t looked = 0; looked < count && copied < settings_.piece_bytes_max; ++looked) {
    Transfer& transfer = transfers_[next_];
    next_ = next_ + 1 < count ? next_ + 1 : 0;
    const Step now = step(transfer);
    copied += now.bytes;
    if (now.is_over) {
      done.push_back({transfer.direction, transfer.cookie});
      send_count_ -= transfer.direction == TransferDirection::sent ? 1 : 0;
      transfer.place = nullptr;
    }
  }
  if (done.size() > done_before) {
    std::erase_if(transfers_, [](const Transfer& transfer) { return transfer.place == nullptr; });
  }
  idle_count_ = copied > 0 ? 0 : idle_count_ + 1;
  if (idle_count_ >= idle_steps_max && is_active()) {
    idle_count_ = 0;
    wait_for(transfers_[std::min(next_, transfers_.size() - 1)]);
  }
}

BulkMover::Step BulkMover::step(Transfer& transfer) {
  if (settings_.single_copy == SingleCopy::automatic) {
    return copy_piece(transfer);
  }
  return transfer.direction == TransferDirection::sent ? put_in(transfer) : take_out(transfer);
}

BulkMover::Step BulkMover::copy_piece(Transfer& transfer) {
  BulkPlace& place = *transfer.place;
  Word word{place.claim};
  const std::size_t piece_size = piece_bytes(transfer.bytes);
  // With release in send() and receive(), and acq_rel below.
  std::uint64_t claim = word.load(std::memory_order_acquire);
  std::size_t begin = 0;
  do {
    if (BulkPlace::number_in(claim) != transfer.number) {
      return {.is_over = true};  // the receiver had it all, and uses the place again
    }
    const std::uint32_t piece = BulkPlace::piece_in(claim);
    if (piece == BulkPlace::awaits_sender) {
      return {};
    }
    require_not_given_up(transfer, claim);
    begin = piece * piece_size;
    if (begin >= transfer.bytes) {
      // With acq_rel where it is added to.
      return {.is_over = Word{place.moved}.load(std::memory_order_acquire) == transfer.bytes};
    }
  } while (!word.compare_exchange_weak(claim, claim + 1, std::memory_order_acq_rel, std::memory_order_acquire));
  if (transfer.direction == TransferDirection::received) {
    transfer.theirs = place.data;
  }
  const std::size_t bytes = std::min(piece_size, transfer.bytes - begin);
  copy(transfer, begin, bytes);
  const std::uint64_t before = Word{place.moved}.fetch_add(bytes, std::memory_order_acq_rel);
  return {.bytes = bytes, .is_over = before + bytes == transfer.bytes};
}

void BulkMover::require_not_given_up(const Transfer& transfer, std::uint64_t claim) const {
  if (BulkPlace::piece_in(claim) == BulkPlace::given_up) {
    peers_.fail(transfer.peer, "it has ended its driver in the midst of bulk data");
  }
}

void BulkMover::copy(const Transfer& transfer, std::size_t begin, std::size_t bytes) {
  std::byte* const ours = transfer.ours + begin;
  const std::uint64_t theirs = transfer.theirs + begin;
  const bool is_sent = transfer.direction == TransferDirection::sent;
  if (peers_.is_in_this_process(transfer.peer)) {
    auto* const there = reinterpret_cast<std::byte*>(theirs);  // NOLINT(performance-no-int-to-ptr): sent as a number
    std::memcpy(is_sent ? there : ours, is_sent ? ours : there, bytes);
    return;
  }
  const ProcessId& process = peers_.process(transfer.peer);
  const int code = is_sent ? write_to(process, theirs, {ours, bytes}) : read_from(process, theirs, {ours, bytes});
  if (code != 0) {
    peers_.fail(transfer.peer, system_words(code).c_str());
  }
}

BulkMover::Step BulkMover::put_in(Transfer& transfer) {
  const std::size_t capacity = segment_.layout().buffer_bytes;
  BulkPlace& place = *transfer.place;
  if (transfer.moved == transfer.bytes) {
    return {.is_over = true};
  }
  require_not_given_up(transfer, Word{place.claim}.load(std::memory_order_relaxed));
  Step now;
  while (transfer.moved < transfer.bytes && now.bytes < settings_.piece_bytes_max) {
    const std::size_t taken = Word{place.taken}.load(std::memory_order_acquire);  // with release in take_out()
    const std::size_t begin = transfer.moved % capacity;
    const std::size_t bytes = std::min({transfer.bytes - transfer.moved,
                                        capacity - (transfer.moved - taken),
                                        capacity - begin,
                                        std::max(capacity / parts_of_buffer, line_bytes)});
    if (bytes == 0) {
      break;
    }
    std::memcpy(transfer.buffer + begin, transfer.ours + transfer.moved, bytes);
    transfer.moved += bytes;
    now.bytes += bytes;
    Word{place.moved}.store(transfer.moved, std::memory_order_release);  // with acquire in take_out()
  }
  now.is_over = transfer.moved == transfer.bytes;
  return now;
}

BulkMover::Step BulkMover::take_out(Transfer& transfer) {
  const std::size_t capacity = segment_.layout().buffer_bytes;
  BulkPlace& place = *transfer.place;
  Step now;
  while (transfer.moved < transfer.bytes && now.bytes < settings_.piece_bytes_max) {
    const std::size_t put = Word{place.moved}.load(std::memory_order_acquire);  // with release in put_in()
    const std::size_t begin = transfer.moved % capacity;
    const std::size_t bytes =
        std::min({put - transfer.moved, capacity - begin, std::max(capacity / parts_of_buffer, line_bytes)});
    if (bytes == 0) {
      require_not_given_up(transfer, Word{place.claim}.load(std::memory_order_relaxed));
      break;
    }
    std::memcpy(transfer.ours + transfer.moved, transfer.buffer + begin, bytes);
    transfer.moved += bytes;
    now.bytes += bytes;
    Word{place.taken}.store(transfer.moved, std::memory_order_release);  // with acquire in put_in()
  }
  now.is_over = transfer.moved == transfer.bytes;
  return now;
}

/// Asks whether the peer of a transfer that does not move can still move it.
void BulkMover::wait_for(const Transfer& transfer) {
  peers_.watch(transfer.peer);
  if (!peers_.has_left(transfer.peer)) {
    return;
  }
  // Read after `has_left`, so that what the peer did before is visible.
  const std::uint64_t claim = Word{transfer.place->claim}.load(std::memory_order_acquire);
  if (transfer.direction == TransferDirection::received &&
      claim == BulkPlace::claim_of(transfer.number, BulkPlace::awaits_sender)) {
    peers_.fail(transfer.peer, "it has ended its driver before it sent the bulk data that was asked of it");
  }
}

void BulkMover::withdraw(const Transfer& transfer) noexcept {
  Word word{transfer.place->claim};
  std::uint64_t claim = word.load(std::memory_order_acquire);
  do {
    if (BulkPlace::number_in(claim) != transfer.number || BulkPlace::piece_in(claim) == BulkPlace::given_up) {
      return;
    }
  } while (!word.compare_exchange_weak(claim,
                                       BulkPlace::claim_of(transfer.number, BulkPlace::given_up),
                                       std::memory_order_acq_rel,
                                       std::memory_order_acquire));
  if (settings_.single_copy == SingleCopy::never || BulkPlace::piece_in(claim) == BulkPlace::awaits_sender) {
    return;
  }
  // Pieces that were taken are being copied, from or into memory that the caller is about to free.
  const std::size_t taken = std::min(BulkPlace::piece_in(claim) * piece_bytes(transfer.bytes), transfer.bytes);
  const auto deadline = std::chrono::steady_clock::now() + give_up_after;
  while (Word{transfer.place->moved}.load(std::memory_order_acquire) < taken &&
         std::chrono::steady_clock::now() < deadline && !peers_.has_gone(transfer.peer)) {
  }
}

void BulkMover::close() noexcept {
  for (const Transfer& transfer : transfers_) {
    if (!(transfer.direction == TransferDirection::sent && transfer.moved == transfer.bytes)) {
      withdraw(transfer);
    }
  }
  transfers_.clear();
  send_count_ = 0;
}

}  // namespace plait::net::detail::shm
