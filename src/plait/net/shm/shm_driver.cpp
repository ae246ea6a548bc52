// SPDX-License-Identifier: Apache-2.0
#include "plait/net/shm/shm_driver.hpp"

#include <algorithm>
#include <bit>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/net/detail/packet_pool.hpp"
#include "plait/net/detail/take.hpp"
#include "plait/net/shm/detail/bulk_mover.hpp"
#include "plait/net/shm/detail/meeting.hpp"
#include "plait/net/shm/detail/peers.hpp"
#include "plait/net/shm/detail/ring.hpp"

namespace plait::net {
namespace {

using detail::shm::RingReader;
using detail::shm::RingWriter;
using detail::shm::Showing;

constexpr std::uint32_t pool_spare_max = 256;
constexpr std::uint32_t ranks_max = 16384;
constexpr std::uint32_t slots_max = 32767;
constexpr std::size_t bytes_max = std::size_t{1} << 42U;
constexpr std::uint32_t flags_in_word = 64;
/// Polls without a packet, or refused sends to one rank, between two looks at the clock.
constexpr std::uint32_t quiet_polls_max = 256;
constexpr std::uint32_t refusals_max = 256;

void check(Rank self, std::uint32_t rank_count, const ShmOptions& options) {
  const auto refuse = [](std::string_view why) {
    throw Error{ErrorCode::bad_argument, fmt::format("shm driver: {}", why)};
  };
  if (rank_count == 0 || rank_count > ranks_max || self.value() >= rank_count) {
    refuse("a rank is below the number of ranks, of which there are at most 16384");
  }
  if (options.packet_bytes_max < 1024 || options.packet_bytes_max > bytes_max) {
    refuse("packets need 1024 bytes at least");
  }
  if (options.ring_bytes_max == 0 || options.ring_bytes_max > bytes_max || options.ring_memory_bytes_max == 0 ||
      options.ring_memory_bytes_max > bytes_max) {
    refuse("rings need 1 byte at least, and 4 TiB are the most");
  }
  if (options.bulk_slot_count == 0 || options.bulk_slot_count > slots_max) {
    refuse("between 1 and 32767 bulk slots are possible");
  }
  if (options.bulk_piece_bytes_max < detail::shm::line_bytes || options.bounce_bytes < detail::shm::line_bytes ||
      options.bounce_bytes > bytes_max) {
    refuse("pieces of bulk data, and their buffers, need 64 bytes at least");
  }
  if (!options.called.empty() && options.called.size() != rank_count) {
    refuse("what ranks are called is told for all ranks or for none");
  }
}

}  // namespace

struct ShmDriver::State {
  /// The way to one rank.
  struct Link {
    RingWriter ring;
    bool is_full = false;
    std::uint32_t refusals = 0;
  };

  State(Rank own, const ShmOptions& opts, detail::shm::Meeting&& met, const Clock& clock);

  template <Showing showing>
  Post send(std::uint32_t to, Packet&& packet);
  [[gnu::noinline]] Post refuse(std::uint32_t to);
  template <Showing showing>
  bool take_all(std::uint32_t from, std::span<Arrival> arrivals, std::size_t& count);
  std::size_t take_by_looking(std::span<Arrival> arrivals);
  std::size_t take_by_flags(std::span<Arrival> arrivals);
  void take_by_word(std::span<Arrival> arrivals, std::size_t& count);
  void look_at_full_links();

  ShmOptions options;
  std::uint32_t self;
  std::uint32_t rank_count;
  detail::shm::Meeting meeting;
  detail::shm::Segment segment;
  detail::shm::Peers peers;
  detail::PacketPool pool;
  bool looks_at_all;
  std::vector<Link> links;
  std::vector<RingReader> readers;
  /// Senders of whom there may be something to read, a bit for each.
  std::vector<std::uint64_t> pending;
  std::uint32_t next_reader = 0;
  /// Whether the last poll brought a packet: then the next one asks for more than one.
  bool is_busy = false;
  std::uint32_t quiet_polls = 0;
  std::uint32_t full_count = 0;
  detail::shm::BulkMover bulk;
  // Ended transfers that have not been polled yet.
  std::vector<BulkDone> done;
  std::size_t next_done = 0;
};

ShmDriver::State::State(Rank own, const ShmOptions& opts, detail::shm::Meeting&& met, const Clock& clock)
    : options{opts},
      self{own.value()},
      rank_count{met.layout.rank_count},
      meeting{std::move(met)},
      segment{meeting.mapping.start(), meeting.layout},
      peers{segment, self, meeting.processes, {opts.watch_interval, opts.called, &clock}},
      pool{opts.packet_bytes_max, pool_spare_max},
      looks_at_all{rank_count <= opts.look_at_all_ranks_max},
      pending((rank_count + flags_in_word - 1) / flags_in_word),
      bulk{segment, self, peers, {meeting.single_copy, opts.bulk_piece_bytes_max}} {
  for (std::uint32_t rank = 0; rank < rank_count; ++rank) {
    links.push_back({.ring = RingWriter{segment.ring(self, rank)}});
    readers.emplace_back(segment.ring(rank, self));
  }
}

template <Showing showing>
Post ShmDriver::State::send(std::uint32_t to, Packet&& packet) {
  if (!links[to].ring.put<showing>(packet)) [[unlikely]] {
    return refuse(to);
  }
  if constexpr (showing == Showing::flagged) {
    const std::uint64_t bit = std::uint64_t{1} << (self % flags_in_word);
    const auto flags = segment.flags(to, self / flags_in_word);
    // seq_cst, as is the size in the ring: either we see that the receiver has cleared the bit, or it sees the packet.
    if ((flags.load(std::memory_order_seq_cst) & bit) == 0) {
      flags.fetch_or(bit, std::memory_order_seq_cst);
    }
  }
  pool.recycle(std::move(packet));
  return Post::done;
}

Post ShmDriver::State::refuse(std::uint32_t to) {
  Link& link = links[to];
  full_count += link.is_full ? 0 : 1;
  link.is_full = true;
  if (peers.has_left(to)) {
    peers.fail(to, "it has ended its driver without reading what was sent to it");
  }
  if (++link.refusals >= refusals_max) {
    link.refusals = 0;
    peers.watch(to);
  }
  return Post::retry;
}

/// True when all that is there was taken; false when there was no room for more.
template <Showing showing>
bool ShmDriver::State::take_all(std::uint32_t from, std::span<Arrival> arrivals, std::size_t& count) {
  while (count < arrivals.size()) {
    const std::size_t size = readers[from].size<showing>();
    if (size == 0) {
      return true;
    }
    Arrival& arrival = arrivals[count];
    arrival.peer = Rank{from};
    arrival.packet = pool.acquire();
    readers[from].take(size, arrival.packet);
    ++count;
  }
  return false;
}

std::size_t ShmDriver::State::take_by_looking(std::span<Arrival> arrivals) {
  std::size_t count = 0;
  for (std::uint32_t looked = 0; looked < rank_count && count < arrivals.size(); ++looked) {
    const std::uint32_t from = next_reader;
    next_reader = next_reader + 1 < rank_count ? next_reader + 1 : 0;
    take_all<Showing::looked_at>(from, arrivals, count);
  }
  return count;
}

std::size_t ShmDriver::State::take_by_flags(std::span<Arrival> arrivals) {
  for (std::uint32_t i = 0; i < pending.size(); ++i) {
    const auto flags = segment.flags(self, i);
    // A look at a line of our own, and only seldom the exchange, which is seq_cst with what State::send() does.
    if (flags.load(std::memory_order_relaxed) != 0) {
      pending[i] |= flags.exchange(0, std::memory_order_seq_cst);
    }
  }
  std::size_t count = 0;
  for (std::size_t looked = 0; looked <= pending.size() && count < arrivals.size(); ++looked) {
    take_by_word(arrivals, count);
  }
  return count;
}

/// Takes from the senders from the next one to the last in its word of flags; who did not get a turn is next.
void ShmDriver::State::take_by_word(std::span<Arrival> arrivals, std::size_t& count) {
  const std::uint32_t word = next_reader / flags_in_word;
  std::uint64_t ahead = pending[word] & (~std::uint64_t{0} << (next_reader % flags_in_word));
  next_reader = (word + 1) * flags_in_word;
  while (ahead != 0 && count < arrivals.size()) {
    const auto bit = static_cast<std::uint32_t>(std::countr_zero(ahead));
    const std::uint32_t from = word * flags_in_word + bit;
    ahead &= ahead - 1;
    if (take_all<Showing::flagged>(from, arrivals, count)) {
      pending[word] &= ~(std::uint64_t{1} << bit);
    }
    next_reader = count == arrivals.size() ? from + 1 : next_reader;
  }
  next_reader = next_reader < rank_count ? next_reader : 0;
}

void ShmDriver::State::look_at_full_links() {
  for (Link& link : links) {
    if (link.is_full && link.ring.has_room(options.packet_bytes_max)) {
      link.is_full = false;
      --full_count;
    }
  }
}

ShmDriver::ShmDriver(Rank self, std::uint32_t rank_count, const Exchange& exchange, const ShmOptions& options) {
  check(self, rank_count, options);
  state_ = std::make_unique<State>(self, options, detail::shm::meet(self, rank_count, exchange, options), clock_);
}

ShmDriver::~ShmDriver() {
  state_->bulk.close();
  state_->peers.leave();
}

std::size_t ShmDriver::bytes_of_segment(std::uint32_t rank_count, const ShmOptions& options) {
  detail::shm::Layout layout = detail::shm::layout_for(rank_count, options);
  layout.buffer_bytes = options.bounce_bytes;
  return layout.total_bytes();
}

const char* ShmDriver::name() const noexcept {
  return state_->meeting.single_copy == SingleCopy::automatic ? "shm" : "shm (two copies)";
}

Rank ShmDriver::self() const noexcept {
  return Rank{state_->self};
}

std::uint32_t ShmDriver::rank_count() const noexcept {
  return state_->rank_count;
}

const Clock& ShmDriver::clock() const noexcept {
  return clock_;
}

std::size_t ShmDriver::packet_bytes_max() const noexcept {
  return state_->options.packet_bytes_max;
}

std::uint32_t ShmDriver::packets_in_flight_max() const noexcept {
  return static_cast<std::uint32_t>(state_->meeting.layout.ring_bytes / detail::shm::line_bytes);
}

std::uint32_t ShmDriver::bulk_slot_count() const noexcept {
  return state_->options.bulk_slot_count;
}

Packet ShmDriver::acquire() {
  return state_->pool.acquire();
}

void ShmDriver::recycle(Packet&& packet) noexcept {
  state_->pool.recycle(std::move(packet));
}

Post ShmDriver::send(Rank to, Packet&& packet) {
  expect(packet.size() > 0, "a packet that is sent has at least one byte");
  expect(packet.size() <= state_->options.packet_bytes_max, "a packet fits the rings");
  expect(to.value() < state_->rank_count, "a rank of this network");
  return state_->looks_at_all ? state_->send<Showing::looked_at>(to.value(), std::move(packet))
                              : state_->send<Showing::flagged>(to.value(), std::move(packet));
}

Post ShmDriver::send_bulk(const BulkSend& bulk) {
  expect(!bulk.data.empty(), "a bulk transfer has at least one byte");
  expect(bulk.slot.value() < state_->options.bulk_slot_count, "a slot that the receiver has");
  return state_->bulk.send(bulk);
}

Post ShmDriver::receive_bulk(const BulkReceive& bulk) {
  expect(!bulk.buffer.empty(), "a bulk transfer has at least one byte");
  expect(bulk.slot.value() < state_->options.bulk_slot_count, "a slot that this rank has");
  return state_->bulk.receive(bulk);
}

Polled ShmDriver::poll(std::span<Arrival> arrivals, std::span<BulkDone> bulk) {
  State& state = *state_;
  Polled polled;
  // A lone packet is handed up before the next place is looked at, which would delay the answer to it: the sender has
  // just written there, too.
  const std::size_t arrivals_max = state.is_busy ? arrivals.size() : std::min<std::size_t>(arrivals.size(), 1);
  const std::span<Arrival> room = arrivals.first(arrivals_max);
  polled.arrivals = state.looks_at_all ? state.take_by_looking(room) : state.take_by_flags(room);
  state.is_busy = polled.arrivals > 0;
  if (state.bulk.is_active()) {
    state.bulk.progress(state.done);
  }
  if (!state.done.empty()) {
    polled.bulk = detail::take(state.done, state.next_done, bulk);
  }
  if (state.full_count > 0) [[unlikely]] {
    state.look_at_full_links();
  }
  if (polled.arrivals == 0 && ++state.quiet_polls >= quiet_polls_max) {
    state.quiet_polls = 0;
    state.peers.watch();
  }
  return polled;
}

bool ShmDriver::is_idle() const noexcept {
  return !state_->bulk.is_sending();
}

bool ShmDriver::is_busy(Rank to) const noexcept {
  return state_->links[to.value()].is_full;
}

}  // namespace plait::net
