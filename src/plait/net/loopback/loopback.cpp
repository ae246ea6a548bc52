// SPDX-License-Identifier: Apache-2.0
#include "plait/net/loopback/loopback.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "plait/base/error.hpp"
#include "plait/net/detail/copy_buffers.hpp"
#include "plait/net/detail/driver_parts.hpp"

namespace plait::net {
namespace {

constexpr std::size_t pool_spare_max = 64;
constexpr std::size_t depot_batch = pool_spare_max / 2;

void copy_bulk(std::span<const std::byte> data, std::span<std::byte> buffer) {
  expect(data.size() == buffer.size(), "a bulk receive is exactly as long as the data");
  std::memcpy(buffer.data(), data.data(), std::min(data.size(), buffer.size()));
}

/// What other ranks leave for one rank.
struct Mailbox {
  std::mutex mutex;
  std::vector<Arrival> arrivals;
  std::vector<BulkDone> bulk;
  bool is_closed = false;
  /// Entries in both lists: lets `poll` see without the lock that there is nothing.
  std::atomic<std::size_t> entry_count = 0;
};

/// One bulk transfer. The second side to post copies with the lock held, so that the end of a driver waits for the
/// copy.
struct Slot {
  enum class Waiting : std::uint8_t { nothing, for_sender, for_receiver };

  std::mutex mutex;
  Waiting waiting = Waiting::nothing;
  Rank sender;
  std::span<const std::byte> data;
  std::span<std::byte> buffer;
  std::uint64_t cookie = 0;  ///< Of the side that waits.
};

struct RankState {
  explicit RankState(std::uint32_t slot_count) : slots(slot_count) {}

  Mailbox mailbox;
  std::vector<Slot> slots;
  bool is_taken = false;
};

}  // namespace

struct LoopbackNetwork::State {
  State(std::uint32_t rank_count, const LoopbackOptions& opts) : options{opts}, copies{rank_count, opts.shared_copies} {
    ranks.reserve(rank_count);
    for (std::uint32_t rank = 0; rank < rank_count; ++rank) {
      ranks.push_back(std::make_unique<RankState>(options.bulk_slot_count));
    }
  }

  RankState& of(Rank rank) {
    expect(rank.value() < ranks.size(), "a rank of this network");
    return *ranks[rank.value()];
  }

  LoopbackOptions options;
  detail::CopyMemory copies;
  std::vector<std::unique_ptr<RankState>> ranks;
  std::mutex mutex;  ///< Guards `is_taken` of all ranks, and `depot`.
  /// Packets on their way from ranks that mostly receive to ranks that mostly send.
  std::vector<Packet> depot;
};

namespace {

class LoopbackDriver final : public Driver {
 public:
  LoopbackDriver(std::shared_ptr<LoopbackNetwork::State> state, Rank self)
      : Driver{detail::traits_from(state->options, "loopback", self, state->ranks.size(), state->options.clock)},
        state_{std::move(state)},
        mine_{state_->of(self)},
        copies_{state_->copies.of(self)},
        pool_{packet_bytes_max(), pool_spare_max} {}
  LoopbackDriver(const LoopbackDriver&) = delete;
  LoopbackDriver& operator=(const LoopbackDriver&) = delete;

  ~LoopbackDriver() override {
    {
      const std::lock_guard lock{mine_.mailbox.mutex};
      mine_.mailbox.is_closed = true;
      mine_.mailbox.arrivals.clear();
      mine_.mailbox.bulk.clear();
    }
    for (const auto& rank : state_->ranks) {
      for (Slot& slot : rank->slots) {
        withdraw(slot, *rank);
      }
    }
  }

  bool passes_network(Rank /*peer*/) const noexcept override { return false; }
  SharedCopies* shared_copies() noexcept override {
    return state_->options.shared_copies.count > 0 ? &copies_ : nullptr;
  }

  Packet acquire() override {
    if (pool_.is_empty()) {
      const std::lock_guard lock{state_->mutex};
      auto& depot = state_->depot;
      for (std::size_t taken = 0; taken < depot_batch && !depot.empty(); ++taken) {
        pool_.recycle(std::move(depot.back()));
        depot.pop_back();
      }
    }
    return pool_.acquire();
  }

  void recycle(Packet&& packet) noexcept override {
    if (pool_.is_full()) {
      const std::lock_guard lock{state_->mutex};
      auto& depot = state_->depot;
      for (std::size_t moved = 0; moved < depot_batch && depot.size() < depot.capacity(); ++moved) {
        depot.push_back(pool_.acquire());  // below the reserved capacity: does not throw
      }
    }
    pool_.recycle(std::move(packet));
  }

  Post send(Rank to, Packet&& packet) override {
    detail::expect_valid(*this, to, packet.size());
    Mailbox& mailbox = state_->of(to).mailbox;
    const std::lock_guard lock{mailbox.mutex};
    if (mailbox.is_closed) {
      recycle(std::move(packet));
      return Post::done;
    }
    if (mailbox.arrivals.size() >= state_->options.mailbox_packets_max) {
      return Post::retry;
    }
    mailbox.arrivals.push_back({self(), std::move(packet)});
    mailbox.entry_count.fetch_add(1, std::memory_order_release);  // with acquire in collect_mail()
    return Post::done;
  }

  Post send_bulk(const BulkSend& bulk) override {
    detail::expect_valid(*this, bulk);
    Slot& slot = state_->of(bulk.to).slots[bulk.slot.value()];
    const std::lock_guard lock{slot.mutex};
    if (slot.waiting == Slot::Waiting::for_receiver) {
      return Post::retry;
    }
    ++bulk_sends_in_flight_;
    if (slot.waiting == Slot::Waiting::nothing) {
      slot.waiting = Slot::Waiting::for_receiver;
      slot.sender = self();
      slot.data = bulk.data;
      slot.cookie = bulk.cookie;
      return Post::posted;
    }
    expect(slot.sender == self(), "the receive in this slot is for this sender");
    copy_bulk(bulk.data, slot.buffer);
    slot.waiting = Slot::Waiting::nothing;
    notify(bulk.to, {TransferDirection::received, slot.cookie});
    notify(self(), {TransferDirection::sent, bulk.cookie});
    return Post::posted;
  }

  Post receive_bulk(const BulkReceive& bulk) override {
    detail::expect_valid(*this, bulk);
    Slot& slot = mine_.slots[bulk.slot.value()];
    const std::lock_guard lock{slot.mutex};
    expect(slot.waiting != Slot::Waiting::for_sender, "a slot serves one receive at a time");
    if (slot.waiting == Slot::Waiting::nothing) {
      slot.waiting = Slot::Waiting::for_sender;
      slot.sender = bulk.from;
      slot.buffer = bulk.buffer;
      slot.cookie = bulk.cookie;
      return Post::posted;
    }
    expect(slot.sender == bulk.from, "the data in this slot is from this sender");
    copy_bulk(slot.data, bulk.buffer);
    slot.waiting = Slot::Waiting::nothing;
    notify(slot.sender, {TransferDirection::sent, slot.cookie});
    notify(self(), {TransferDirection::received, bulk.cookie});
    return Post::posted;
  }

  Polled poll(std::span<Arrival> arrivals, std::span<BulkDone> bulk) override {
    if (arrivals_.empty() || bulk_.empty()) {
      collect_mail();
    }
    Polled polled;
    polled.arrivals = detail::take(arrivals_, next_arrival_, arrivals);
    polled.bulk = detail::take(bulk_, next_bulk_, bulk);
    bulk_sends_in_flight_ -= static_cast<std::size_t>(
        std::ranges::count(bulk.first(polled.bulk), TransferDirection::sent, &BulkDone::direction));
    return polled;
  }

  bool is_idle() const noexcept override { return bulk_sends_in_flight_ == 0; }
  bool is_busy(Rank /*to*/) const noexcept override { return false; }  // a packet is there at once

 private:
  void notify(Rank rank, const BulkDone& done) {
    Mailbox& mailbox = state_->of(rank).mailbox;
    const std::lock_guard lock{mailbox.mutex};
    if (!mailbox.is_closed) {
      mailbox.bulk.push_back(done);
      mailbox.entry_count.fetch_add(1, std::memory_order_release);  // with acquire in collect_mail()
    }
  }

  /// Exchanges the lists that have been polled empty for those in the mailbox.
  void collect_mail() {
    Mailbox& mailbox = mine_.mailbox;
    if (mailbox.entry_count.load(std::memory_order_acquire) == 0) {  // with release in send(), notify()
      return;
    }
    const std::lock_guard lock{mailbox.mutex};
    std::size_t collected = 0;
    if (arrivals_.empty()) {
      arrivals_.swap(mailbox.arrivals);
      collected += arrivals_.size();
    }
    if (bulk_.empty()) {
      bulk_.swap(mailbox.bulk);
      collected += bulk_.size();
    }
    mailbox.entry_count.fetch_sub(collected, std::memory_order_relaxed);  // the lock orders it
  }

  /// Forgets what this rank has posted in a slot of `receiver`, once no copy is under way.
  void withdraw(Slot& slot, const RankState& receiver) {
    const std::lock_guard lock{slot.mutex};
    const bool is_my_receive = &receiver == &mine_ && slot.waiting == Slot::Waiting::for_sender;
    const bool is_my_send = slot.sender == self() && slot.waiting == Slot::Waiting::for_receiver;
    if (is_my_receive || is_my_send) {
      slot.waiting = Slot::Waiting::nothing;
    }
  }

  std::shared_ptr<LoopbackNetwork::State> state_;
  RankState& mine_;
  detail::CopyBuffers copies_;
  detail::PacketPool pool_;
  std::size_t bulk_sends_in_flight_ = 0;
  // What was collected from the mailbox and has not been polled yet.
  std::vector<Arrival> arrivals_;
  std::vector<BulkDone> bulk_;
  std::size_t next_arrival_ = 0;
  std::size_t next_bulk_ = 0;
};

}  // namespace

LoopbackNetwork::LoopbackNetwork(std::uint32_t rank_count, const LoopbackOptions& options) {
  require(rank_count > 0, "loopback network: at least one rank is needed");
  require(options.packet_bytes_max >= 1024, "loopback network: packet_bytes_max must be at least 1024 bytes");
  state_ = std::make_shared<State>(rank_count, options);
  state_->depot.reserve(std::size_t{rank_count} * pool_spare_max);
}

std::uint32_t LoopbackNetwork::rank_count() const noexcept {
  return static_cast<std::uint32_t>(state_->ranks.size());
}

std::unique_ptr<Driver> LoopbackNetwork::driver(Rank rank) {
  const std::lock_guard lock{state_->mutex};
  detail::take_rank(*state_, "loopback", rank);
  return std::make_unique<LoopbackDriver>(state_, rank);
}

}  // namespace plait::net
