// SPDX-License-Identifier: Apache-2.0
#include "plait/net/shm/shm_driver.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "plait/base/error.hpp"
#include "plait/net/detail/copy_buffers.hpp"
#include "plait/net/detail/driver_parts.hpp"
#include "plait/net/shm/detail/bulk_mover.hpp"
#include "plait/net/shm/detail/meeting.hpp"
#include "plait/net/shm/detail/peers.hpp"
#include "plait/net/shm/detail/ring.hpp"
#include "plait/net/shm/detail/wake_up.hpp"

namespace plait::net {
namespace {

using detail::shm::RingReader;
using detail::shm::RingWriter;
using detail::shm::Showing;

constexpr std::uint32_t ranks_max = 16384;
constexpr std::uint32_t slots_max = 32767;
constexpr std::size_t bytes_max = std::size_t{1} << 42U;
constexpr std::uint32_t copies_max = 4096;
constexpr std::uint32_t flags_in_word = 64;
/// Polls without a packet, or refused sends to one rank, between two readings of the clock.
constexpr std::uint32_t quiet_polls_max = 256;
constexpr std::uint32_t refusals_max = 256;

void check(Rank self, std::uint32_t rank_count, const ShmOptions& options) {
  require(rank_count > 0 && rank_count <= ranks_max && self.value() < rank_count,
          "shm driver: a rank is below the number of ranks, of which there are at most 16384");
  require(options.packet_bytes_max >= 1024 && options.packet_bytes_max <= bytes_max,
          "shm driver: packet_bytes_max must be at least 1024 bytes and at most 4 TiB");
  require(options.ring_bytes_max > 0 && options.ring_bytes_max <= bytes_max && options.ring_memory_bytes_max > 0 &&
              options.ring_memory_bytes_max <= bytes_max,
          "shm driver: ring_bytes_max and ring_memory_bytes_max must be at least 1 byte and at most 4 TiB");
  require(options.bulk_slot_count > 0 && options.bulk_slot_count <= slots_max,
          "shm driver: bulk_slot_count must be between 1 and 32767");
  require(options.bulk_piece_bytes_max >= detail::shm::line_bytes && options.bounce_bytes >= detail::shm::line_bytes &&
              options.bounce_bytes <= bytes_max,
          "shm driver: bulk_piece_bytes_max and bounce_bytes must be at least 64 bytes");
  require(options.shared_copies.count <= copies_max && options.shared_copies.bytes_max <= bytes_max / copies_max,
          "shm driver: there are at most 4096 shared copies, each of at most 1 GiB");
  require(options.called.empty() || options.called.size() == rank_count,
          "shm driver: `called` must have a name for each rank, or none");
}

class ShmDriver final : public detail::PooledDriver {
 public:
  ShmDriver(Rank self, detail::shm::Meeting&& met, const ShmOptions& options)
      : PooledDriver{
            {.name = met.single_copy == SingleCopy::automatic ? "shm" : "shm (two copies)",
             .self = self,
             .rank_count = met.layout.rank_count,
             .packet_bytes_max = options.packet_bytes_max,
             .packets_in_flight_max = static_cast<std::uint32_t>(met.layout.ring_bytes / detail::shm::line_bytes),
             .bulk_slot_count = options.bulk_slot_count}},
        rank_{self.value()},
        mapping_{std::move(met.mapping)},
        segment_{mapping_.get(), met.layout},
        peers_{segment_, rank_, std::move(met.processes), {options.watch_interval, options.called, &clock()}},
        polls_all_rings_{rank_count() <= options.look_at_all_ranks_max},
        pending_((rank_count() + flags_in_word - 1) / flags_in_word),
        copies_{segment_.copies(), self, met.layout.rank_count, met.layout.copies},
        bulk_{segment_, rank_, peers_, {met.single_copy, options.bulk_piece_bytes_max}} {
    for (std::uint32_t rank = 0; rank < rank_count(); ++rank) {
      links_.push_back({.ring = RingWriter{segment_.ring(rank_, rank)}});
      readers_.emplace_back(segment_.ring(rank, rank_));
    }
  }

  ShmDriver(const ShmDriver&) = delete;
  ShmDriver& operator=(const ShmDriver&) = delete;
  ~ShmDriver() override {
    bulk_.close();
    peers_.leave();
  }

  bool passes_network(Rank /*peer*/) const noexcept override { return false; }
  SharedCopies* shared_copies() noexcept override { return segment_.layout().copies.count > 0 ? &copies_ : nullptr; }

  Post send(Rank to, Packet&& packet) override {
    const Post post = send_copy(to, packet.bytes(), {});
    if (post == Post::done) {
      pool_.recycle(std::move(packet));
    }
    return post;
  }

  Post send_copy(Rank to, std::span<const std::byte> head, std::span<const std::byte> data) override {
    detail::expect_valid(*this, to, head.size() + data.size());
    return polls_all_rings_ ? send_as<Showing::polled>(to.value(), head, data)
                            : send_as<Showing::flagged>(to.value(), head, data);
  }

  Post send_bulk(const BulkSend& bulk) override {
    detail::expect_valid(*this, bulk);
    return bulk_.send(bulk);
  }

  Post receive_bulk(const BulkReceive& bulk) override {
    detail::expect_valid(*this, bulk);
    return bulk_.receive(bulk);
  }

  Polled poll(std::span<Arrival> arrivals, std::span<BulkDone> bulk) override {
    Polled polled;
    // A lone packet is returned before the next record is read: the sender has that cache line, too.
    const std::size_t arrivals_max = is_busy_ ? arrivals.size() : std::min<std::size_t>(arrivals.size(), 1);
    const std::span<Arrival> room = arrivals.first(arrivals_max);
    give_back();
    polled.arrivals = polls_all_rings_ ? take_from_rings(room) : take_by_flags(room);
    is_busy_ = polled.arrivals > 0;
    if (bulk_.is_active()) {
      bulk_.progress(done_);
    }
    polled.bulk = take_done(bulk);
    if (full_count_ > 0) [[unlikely]] {
      check_full_links();
    }
    if (polled.arrivals == 0 && ++quiet_polls_ >= quiet_polls_max) {
      quiet_polls_ = 0;
      peers_.watch();
    }
    return polled;
  }

  bool announce_rest() override {
    // seq_cst: ordered before the poll that follows. A sender that does not see it at once, as its packet is not out of
    // its core yet, wakes no thread: so sleeps are short.
    std::atomic_ref{segment_.sleeps(rank_)}.store(1, std::memory_order_seq_cst);
    return true;
  }
  void rest(nanoseconds longest) override { detail::shm::wait_for_change(segment_.sleeps(rank_), 1, longest); }
  void wake() noexcept override { wake(rank_); }

  bool is_idle() const noexcept override { return !bulk_.is_sending(); }
  /// True when the ring to that rank was full at the last attempt and has had no room since.
  bool is_busy(Rank to) const noexcept override { return links_[to.value()].is_full; }

 private:
  /// The connection to one rank.
  struct Link {
    RingWriter ring;
    bool is_full = false;
    std::uint32_t refusals = 0;
  };

  template <Showing showing>
  Post send_as(std::uint32_t to, std::span<const std::byte> head, std::span<const std::byte> data) {
    if (!links_[to].ring.put<showing>(head, data)) [[unlikely]] {
      return refuse(to);
    }
    if constexpr (showing == Showing::flagged) {
      const std::uint64_t bit = std::uint64_t{1} << (rank_ % flags_in_word);
      const auto flags = segment_.flags(to, rank_ / flags_in_word);
      // seq_cst, as is the size in the ring: either we see that the receiver has cleared the bit, or it sees the
      // packet.
      if ((flags.load(std::memory_order_seq_cst) & bit) == 0) {
        flags.fetch_or(bit, std::memory_order_seq_cst);
      }
    }
    if (std::atomic_ref{segment_.sleeps(to)}.load(std::memory_order_relaxed) != 0) [[unlikely]] {  // announce_rest()
      wake(to);
    }
    return Post::done;
  }

  [[gnu::noinline]] void wake(std::uint32_t rank) noexcept {
    std::uint32_t& sleeps = segment_.sleeps(rank);
    if (std::atomic_ref{sleeps}.exchange(0, std::memory_order_acq_rel) != 0) {  // one of several senders wakes it
      detail::shm::notify_change(sleeps);
    }
  }

  [[gnu::noinline]] Post refuse(std::uint32_t to) {
    Link& link = links_[to];
    full_count_ += link.is_full ? 0 : 1;
    link.is_full = true;
    if (peers_.has_left(to)) {
      peers_.fail(to, "it has ended its driver without reading what was sent to it");
    }
    if (++link.refusals >= refusals_max) {
      link.refusals = 0;
      peers_.watch(to);
    }
    return Post::retry;
  }

  /// True when all that is there was taken; false when there was no room for more.
  template <Showing showing>
  bool take_all(std::uint32_t from, std::span<Arrival> arrivals, std::size_t& count) {
    RingReader& ring = readers_[from];
    std::size_t size = ring.size<showing>();
    if (size > 0 && count < arrivals.size()) {
      taken_from_.push_back(from);
    }
    for (; size > 0 && count < arrivals.size(); size = ring.size<showing>()) {
      Arrival& arrival = arrivals[count++];
      arrival.peer = Rank{from};
      arrival.in_place = ring.in_place(size);
      if (arrival.in_place.empty()) [[unlikely]] {
        arrival.packet = pool_.acquire();
        ring.copy_out(size, arrival.packet);
      }
      ring.skip(size);
    }
    return size == 0;
  }

  /// Leaves to the senders what the last poll has returned in place.
  void give_back() {
    for (const std::uint32_t from : taken_from_) {
      readers_[from].give_back();
    }
    taken_from_.clear();
  }

  std::size_t take_from_rings(std::span<Arrival> arrivals) {
    std::size_t count = 0;
    for (std::uint32_t polled = 0; polled < rank_count() && count < arrivals.size(); ++polled) {
      const std::uint32_t from = next_reader_;
      next_reader_ = next_reader_ + 1 < rank_count() ? next_reader_ + 1 : 0;
      take_all<Showing::polled>(from, arrivals, count);
    }
    return count;
  }

  std::size_t take_by_flags(std::span<Arrival> arrivals) {
    for (std::uint32_t i = 0; i < pending_.size(); ++i) {
      const auto flags = segment_.flags(rank_, i);
      // Reads a line of its own; rarely the exchange, which is seq_cst with send_as().
      if (flags.load(std::memory_order_relaxed) != 0) {
        pending_[i] |= flags.exchange(0, std::memory_order_seq_cst);
      }
    }
    std::size_t count = 0;
    for (std::size_t words = 0; words <= pending_.size() && count < arrivals.size(); ++words) {
      take_by_word(arrivals, count);
    }
    return count;
  }

  /// Takes from the senders from the next one to the last in its word of flags; a sender that is not reached is next.
  void take_by_word(std::span<Arrival> arrivals, std::size_t& count) {
    const std::uint32_t word = next_reader_ / flags_in_word;
    std::uint64_t ahead = pending_[word] & (~std::uint64_t{0} << (next_reader_ % flags_in_word));
    next_reader_ = (word + 1) * flags_in_word;
    while (ahead != 0 && count < arrivals.size()) {
      const auto bit = static_cast<std::uint32_t>(std::countr_zero(ahead));
      const std::uint32_t from = word * flags_in_word + bit;
      ahead &= ahead - 1;
      if (take_all<Showing::flagged>(from, arrivals, count)) {
        pending_[word] &= ~(std::uint64_t{1} << bit);
      }
      next_reader_ = count == arrivals.size() ? from + 1 : next_reader_;
    }
    next_reader_ = next_reader_ < rank_count() ? next_reader_ : 0;
  }

  void check_full_links() {
    for (Link& link : links_) {
      if (link.is_full && link.ring.has_room(packet_bytes_max())) {
        link.is_full = false;
        --full_count_;
      }
    }
  }

  const std::uint32_t rank_;
  detail::shm::Mapping mapping_;
  detail::shm::Segment segment_;
  detail::shm::Peers peers_;
  const bool polls_all_rings_;
  std::vector<Link> links_;
  std::vector<RingReader> readers_;
  /// Senders of which there may be something to read, a bit for each.
  std::vector<std::uint64_t> pending_;
  std::uint32_t next_reader_ = 0;
  std::vector<std::uint32_t> taken_from_;  ///< The rings that the last poll has taken from.
  /// Whether the last poll returned a packet: then the next one asks for more than one.
  bool is_busy_ = false;
  std::uint32_t quiet_polls_ = 0;
  std::uint32_t full_count_ = 0;
  detail::CopyBuffers copies_;
  detail::shm::BulkMover bulk_;
};

}  // namespace

std::unique_ptr<Driver> make_shm_driver(Rank self,
                                        std::uint32_t rank_count,
                                        const Exchange& exchange,
                                        const ShmOptions& options) {
  check(self, rank_count, options);
  return std::make_unique<ShmDriver>(self, detail::shm::meet(self, rank_count, exchange, options), options);
}

}  // namespace plait::net
