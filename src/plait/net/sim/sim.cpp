// SPDX-License-Identifier: Apache-2.0
// One machine in one file: each kind of event changes the same few numbers of ranks and links.
#include "plait/net/sim/sim.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/base/executor.hpp"
#include "plait/base/random.hpp"
#include "plait/net/detail/copy_buffers.hpp"
#include "plait/net/detail/driver_parts.hpp"
#include "plait/net/sim/detail/links.hpp"

namespace plait::net {
namespace {

constexpr std::size_t pool_spare_max = 4096;
/// From a refused post to the next one.
constexpr nanoseconds refusal_length{500};

/// A bulk transfer, in the receiver's slot from the first of the two posts to its end.
struct Transfer {
  Rank from;
  std::span<const std::byte> data;  ///< Empty until the send is posted.
  std::span<std::byte> buffer;      ///< Empty until the receive is posted.
  std::uint64_t send_cookie = 0;
  std::uint64_t receive_cookie = 0;
  std::size_t bytes_left_sender = 0;
  std::size_t bytes_arrived = 0;
  std::uint64_t number = 0;  ///< Of this transfer; 0 = the slot is free.
};

struct RankState {
  bool is_taken = false;
  bool is_alive = true;
  bool is_failure_noticed = false;
  bool is_to_try_again = false;
  std::uint32_t packets_on_wire = 0;
  std::uint32_t bulk_sends = 0;
  std::vector<Transfer> slots;
  // What `poll` hands out next.
  std::vector<Arrival> arrivals;
  std::vector<BulkDone> bulk;
  std::size_t next_arrival = 0;
  std::size_t next_bulk = 0;
  /// Dead ranks that had a bulk transfer with this one.
  std::vector<Rank> broken_peers;
};

enum class What : std::uint8_t {
  packet_comes_in,  ///< Its first byte is at the receiver.
  packet_is_here,
  interface_is_free,  ///< The sender may send more.
  rank_tries_again,
  chunk_left,
  chunk_comes_in,
  chunk_is_here,
  parcel_comes_in,
  parcel_is_here,
  rank_dies,
  death_is_noticed,
};

struct Event {
  nanoseconds time{};
  std::uint64_t number = 0;  ///< Of two events at one time the lower number is first.
  What what = What::rank_dies;
  Rank from;
  Rank to;
  Packet packet;
  BulkSlot slot;
  std::uint64_t transfer = 0;  ///< Its number, or that of the parcel.
  std::size_t bytes = 0;
};

bool happens_later(const Event& a, const Event& b) noexcept {
  return std::pair{a.time, a.number} > std::pair{b.time, b.number};
}

void check(std::uint32_t rank_count, const SimOptions& options) {
  require(rank_count > 0, "simulated network: at least one rank is needed");
  require(options.packet_bytes_max >= 1024, "simulated network: packet_bytes_max must be at least 1024 bytes");
  require(options.copied_bytes_max == 0 || options.copied_bytes_max >= options.packet_bytes_max,
          "simulated network: copied_bytes_max is at least a packet");
  require(options.retry_probability >= 0 && options.retry_probability < 1,
          "simulated network: retry_probability must be at least 0 and below 1");
  require(options.delay_max >= nanoseconds{0} && options.cost.latency >= nanoseconds{0} &&
              options.cost.overhead >= nanoseconds{0} && options.cost.gap >= nanoseconds{0} &&
              options.cost.per_byte_ns >= 0,
          "simulated network: no time can be negative");
  require(options.send_queue_packets_max > 0 && options.bulk_chunk_bytes > 0,
          "simulated network: send_queue_packets_max and bulk_chunk_bytes must not be 0");
  require(options.executors.empty() || options.executors.size() == rank_count,
          "simulated network: there is an executor for each rank, or none");
  for (const SimFailure& failure : options.failures) {
    require(failure.rank && failure.rank.value() < rank_count && failure.at >= nanoseconds{0} &&
                failure.noticed_after >= nanoseconds{0},
            "simulated network: a failure needs a rank of the network and times that are not negative");
  }
  const std::uint32_t routed = options.routes != nullptr ? options.routes->link_count() : 0;
  for (const SimSlowLink& slow : options.slow_links) {
    require(slow.link < (routed > 0 ? routed : rank_count) && slow.factor >= 1,
            "simulated network: a slow link is one of the network, and its factor at least 1");
  }
}

}  // namespace

/// The machine: ranks, what is under way between them, and time.
struct SimNetwork::State {
  State(std::uint32_t rank_count, const SimOptions& opts)
      : options{opts},
        random{opts.seed},
        pool{opts.packet_bytes_max, pool_spare_max},
        copies{rank_count, opts.shared_copies},
        ranks(rank_count),
        links{rank_count, options, random} {
    for (RankState& rank : ranks) {
      rank.slots.resize(options.bulk_slot_count);
    }
    for (const SimFailure& failure : options.failures) {
      schedule(failure.at, {.what = What::rank_dies, .from = failure.rank});
    }
  }

  RankState& of(Rank rank) {
    expect(rank.value() < ranks.size(), "a rank of this network");
    return ranks[rank.value()];
  }

  void schedule(nanoseconds time, Event&& event) {
    event.time = time;
    event.number = event_count_++;
    events_.push_back(std::move(event));
    std::ranges::push_heap(events_, happens_later);
  }

  [[nodiscard]] std::optional<nanoseconds> next_event() const {
    return events_.empty() ? std::nullopt : std::optional{events_.front().time};
  }

  void advance_to(nanoseconds time) {
    expect(time >= clock.now(), "virtual time does not go back");
    while (!events_.empty() && events_.front().time <= time) {
      std::ranges::pop_heap(events_, happens_later);
      Event event = std::move(events_.back());
      events_.pop_back();
      clock.advance_to(event.time);
      happen(std::move(event));
    }
    clock.advance_to(time);
  }

  /// Refuses a post of `rank`. Its threads go on a little later, as no other event may let them: on a real network they
  /// poll.
  Post refuse(Rank rank) {
    if (!options.executors.empty() && !std::exchange(of(rank).is_to_try_again, true)) {
      schedule(clock.now() + refusal_length, {.what = What::rank_tries_again, .from = rank});
    }
    return Post::retry;
  }
  /// True when a post is to be refused at random.
  bool is_unlucky() { return options.retry_probability > 0 && random.happens(options.retry_probability); }

  void check_alive(Rank peer) {
    if (of(peer).is_failure_noticed) {
      throw Error{ErrorCode::network,
                  fmt::format("the connection to rank {} is gone (it died in this simulation)", peer.value()),
                  peer};
    }
  }

  void post_packet(Rank from, Rank to, Packet&& packet) {
    ++of(from).packets_on_wire;
    const detail::Departure departure = depart(from, to, packet.size(), detail::Overtaking::as_packets);
    schedule(departure.comes_in, {.what = What::packet_comes_in, .from = from, .to = to, .packet = std::move(packet)});
  }

  /// Sends the next chunk of the transfer in `slot` of `to`, if both sides have posted.
  void post_chunk(Rank to, BulkSlot slot) {
    Transfer& transfer = of(to).slots[slot.value()];
    if (transfer.data.empty() || transfer.buffer.empty()) {
      return;
    }
    if (transfer.number == 0) {
      transfer.number = ++transfer_count_;
    }
    const std::size_t bytes = std::min(options.bulk_chunk_bytes, transfer.data.size() - transfer.bytes_left_sender);
    const detail::Departure departure = depart(transfer.from, to, bytes, detail::Overtaking::as_packets);
    const auto event = [&](What what) {
      return Event{
          .what = what, .from = transfer.from, .to = to, .slot = slot, .transfer = transfer.number, .bytes = bytes};
    };
    schedule(departure.left, event(What::chunk_left));
    schedule(departure.comes_in, event(What::chunk_comes_in));
  }

  void post_parcel(Rank from, Rank to, std::size_t bytes, std::function<void()> arrived) {
    const std::uint64_t number = ++parcel_count_;
    parcels_.emplace(number, std::move(arrived));
    const detail::Departure departure = depart(from, to, bytes, detail::Overtaking::never);
    schedule(departure.comes_in,
             {.what = What::parcel_comes_in, .from = from, .to = to, .transfer = number, .bytes = bytes});
  }

  /// Forgets all bulk transfers with `rank`, whose memory is gone.
  void give_up_transfers(Rank rank) {
    for (std::uint32_t index = 0; index < ranks.size(); ++index) {
      for (Transfer& transfer : ranks[index].slots) {
        give_up(transfer, Rank{index}, rank);
      }
    }
  }

  /// Lets the next poll of `survivor` after the death is noticed throw.
  void note_broken(Rank survivor, Rank dead) {
    std::vector<Rank>& peers = of(survivor).broken_peers;
    if (std::ranges::find(peers, dead) == peers.end()) {
      peers.push_back(dead);
    }
  }

 private:
  void notify(Rank rank) {
    if (!options.executors.empty()) {
      options.executors[rank.value()]->notify();
    }
  }

  detail::Departure depart(Rank from, Rank to, std::size_t bytes, detail::Overtaking overtaking) {
    const detail::Departure departure = links.depart(clock.now(), from, to, bytes, overtaking);
    if (!options.executors.empty() && from != to) {
      schedule(links.free_at(from), {.what = What::interface_is_free, .from = from});
    }
    return departure;
  }

  nanoseconds come_in(const Event& event, std::size_t bytes) {
    return links.come_in(clock.now(), event.from, event.to, bytes);
  }

  /// The transfer that the event is about; nothing when it was given up meanwhile.
  Transfer* transfer_of(const Event& event) {
    Transfer& transfer = of(event.to).slots[event.slot.value()];
    return transfer.number == event.transfer ? &transfer : nullptr;
  }

  void happen(Event&& event) {
    switch (event.what) {
      case What::packet_comes_in:
        packet_comes_in(std::move(event));
        return;
      case What::packet_is_here:
        of(event.to).arrivals.push_back({event.from, std::move(event.packet)});
        notify(event.to);
        return;
      case What::rank_tries_again:
        of(event.from).is_to_try_again = false;
        [[fallthrough]];
      case What::interface_is_free:
        notify(event.from);
        return;
      case What::chunk_left:
        chunk_left(event);
        return;
      case What::chunk_comes_in: {
        event.what = What::chunk_is_here;
        const nanoseconds here = come_in(event, event.bytes);
        schedule(here, std::move(event));
        return;
      }
      case What::chunk_is_here:
        chunk_is_here(event);
        return;
      case What::parcel_comes_in: {
        event.what = What::parcel_is_here;
        const nanoseconds here = come_in(event, event.bytes);
        schedule(here, std::move(event));
        return;
      }
      case What::parcel_is_here:
        parcel_is_here(event);
        return;
      case What::rank_dies:
        rank_dies(event.from);
        return;
      case What::death_is_noticed:
        death_is_noticed(event.from);
        return;
    }
  }

  void packet_comes_in(Event&& event) {
    --of(event.from).packets_on_wire;
    notify(event.from);
    // What a rank sent before it died is lost with it, like what is sent to it afterwards.
    if (!of(event.from).is_alive || !of(event.to).is_alive) {
      pool.recycle(std::move(event.packet));
      return;
    }
    event.what = What::packet_is_here;
    const nanoseconds here = come_in(event, event.packet.size());
    schedule(here, std::move(event));
  }

  void give_up(Transfer& transfer, Rank to, Rank rank) {
    const bool is_used = !transfer.data.empty() || !transfer.buffer.empty();
    if (!is_used || (to != rank && transfer.from != rank)) {
      return;
    }
    if (transfer.bytes_left_sender < transfer.data.size()) {
      --of(transfer.from).bulk_sends;
    }
    note_broken(to == rank ? transfer.from : to, rank);
    transfer = Transfer{};
  }

  void chunk_left(const Event& event) {
    Transfer* transfer = transfer_of(event);
    if (transfer == nullptr) {
      return;
    }
    // Copied now, because the sender may write to its buffer once it is notified; the receiver is notified later.
    const std::size_t offset = transfer->bytes_left_sender;
    if (options.bulk_contents == BulkContents::copied) {
      std::memcpy(transfer->buffer.data() + offset, transfer->data.data() + offset, event.bytes);
    }
    transfer->bytes_left_sender += event.bytes;
    if (transfer->bytes_left_sender < transfer->data.size()) {
      post_chunk(event.to, event.slot);
      return;
    }
    --of(event.from).bulk_sends;
    of(event.from).bulk.push_back({TransferDirection::sent, transfer->send_cookie});
    notify(event.from);
  }

  void chunk_is_here(const Event& event) {
    Transfer* transfer = transfer_of(event);
    if (transfer == nullptr) {
      return;
    }
    transfer->bytes_arrived += event.bytes;
    if (transfer->bytes_arrived == transfer->buffer.size()) {
      of(event.to).bulk.push_back({TransferDirection::received, transfer->receive_cookie});
      notify(event.to);
      *transfer = Transfer{};
    }
  }

  void parcel_is_here(const Event& event) {
    const auto parcel = parcels_.extract(event.transfer);
    if (of(event.from).is_alive && of(event.to).is_alive) {
      parcel.mapped()();
    }
  }

  [[nodiscard]] const SimFailure& failure_of(Rank dead) const {
    return *std::ranges::find(options.failures, dead, &SimFailure::rank);
  }

  void rank_dies(Rank rank) {
    RankState& dead = of(rank);
    if (!std::exchange(dead.is_alive, false)) {
      return;
    }
    ++failure_count;
    dead.arrivals.clear();
    dead.bulk.clear();
    dead.next_arrival = 0;
    dead.next_bulk = 0;
    schedule(clock.now() + failure_of(rank).noticed_after, {.what = What::death_is_noticed, .from = rank});
    give_up_transfers(rank);
  }

  void death_is_noticed(Rank dead) {
    of(dead).is_failure_noticed = true;
    noticed_failure = noticed_failure.value_or(dead);
    for (std::uint32_t index = 0; index < ranks.size(); ++index) {
      if (failure_of(dead).notice == SimNotice::all && ranks[index].is_alive) {
        note_broken(Rank{index}, dead);
      }
      notify(Rank{index});
    }
  }

 public:
  SimOptions options;
  ManualClock clock;
  Random random;
  detail::PacketPool pool;
  detail::CopyMemory copies;
  std::vector<RankState> ranks;
  std::uint32_t failure_count = 0;  ///< Of ranks.
  detail::Links links;
  std::optional<Rank> noticed_failure;

 private:
  std::vector<Event> events_;  ///< A heap.
  std::uint64_t event_count_ = 0;
  std::uint64_t transfer_count_ = 0;
  std::uint64_t parcel_count_ = 0;
  /// By number: what is called when it arrives.
  std::unordered_map<std::uint64_t, std::function<void()>> parcels_;
};

namespace {

DriverTraits traits_of(const SimNetwork::State& state, Rank self) {
  DriverTraits traits = detail::traits_from(state.options, "sim", self, state.ranks.size(), &state.clock);
  traits.executor = state.options.executors.empty() ? nullptr : state.options.executors[self.value()];
  return traits;
}

class SimDriver final : public Driver {
 public:
  SimDriver(std::shared_ptr<SimNetwork::State> state, Rank self)
      : Driver{traits_of(*state, self)},
        state_{std::move(state)},
        mine_{state_->of(self)},
        copies_{state_->copies.of(self)} {}
  SimDriver(const SimDriver&) = delete;
  SimDriver& operator=(const SimDriver&) = delete;
  ~SimDriver() override { state_->give_up_transfers(self()); }

  SharedCopies* shared_copies() noexcept override {
    return state_->options.shared_copies.count > 0 ? &copies_ : nullptr;
  }

  Packet acquire() override { return state_->pool.acquire(); }
  void recycle(Packet&& packet) noexcept override { state_->pool.recycle(std::move(packet)); }

  Post send(Rank to, Packet&& packet) override {
    detail::expect_valid(*this, to, packet.size());
    return post(to, std::move(packet));
  }

  std::size_t copied_bytes_max(Rank /*peer*/) const noexcept override {
    return std::max(state_->options.copied_bytes_max, packet_bytes_max());
  }
  Post send_copy(Rank to, std::span<const std::byte> head, std::span<const std::byte> data) override {
    const std::size_t bytes = head.size() + data.size();
    expect(bytes <= copied_bytes_max(to), "what is copied and sent fits");
    if (bytes <= packet_bytes_max()) {
      return Driver::send_copy(to, head, data);
    }
    Packet packet{bytes};
    packet.resize(bytes);
    std::ranges::copy(data, std::ranges::copy(head, packet.data()).out);
    return post(to, std::move(packet));
  }

  Post send_bulk(const BulkSend& bulk) override {
    detail::expect_valid(*this, bulk);
    if (!mine_.is_alive) {
      return Post::posted;
    }
    state_->check_alive(bulk.to);
    Transfer& transfer = state_->of(bulk.to).slots[bulk.slot.value()];
    if (!transfer.data.empty() || state_->is_unlucky()) {
      return state_->refuse(self());
    }
    expect(transfer.buffer.empty() || transfer.from == self(), "the receive in this slot is for this sender");
    expect(transfer.buffer.empty() || transfer.buffer.size() == bulk.data.size(),
           "a bulk receive is exactly as long as the data");
    if (!state_->of(bulk.to).is_alive) {
      state_->note_broken(self(), bulk.to);
      return Post::posted;
    }
    transfer.from = self();
    transfer.data = bulk.data;
    transfer.send_cookie = bulk.cookie;
    ++mine_.bulk_sends;
    state_->post_chunk(bulk.to, bulk.slot);
    return Post::posted;
  }

  Post receive_bulk(const BulkReceive& bulk) override {
    detail::expect_valid(*this, bulk);
    if (!mine_.is_alive) {
      return Post::posted;
    }
    state_->check_alive(bulk.from);
    if (state_->is_unlucky()) {
      return state_->refuse(self());
    }
    if (!state_->of(bulk.from).is_alive) {
      state_->note_broken(self(), bulk.from);
      return Post::posted;
    }
    Transfer& transfer = mine_.slots[bulk.slot.value()];
    expect(transfer.buffer.empty(), "a slot serves one receive at a time");
    expect(transfer.data.empty() || transfer.from == bulk.from, "the data in this slot is from this sender");
    expect(transfer.data.empty() || transfer.data.size() == bulk.buffer.size(),
           "a bulk receive is exactly as long as the data");
    transfer.from = bulk.from;
    transfer.buffer = bulk.buffer;
    transfer.receive_cookie = bulk.cookie;
    state_->post_chunk(self(), bulk.slot);
    return Post::posted;
  }

  Polled poll(std::span<Arrival> arrivals, std::span<BulkDone> bulk) override {
    if (!mine_.is_alive) {
      return {};
    }
    const auto noticed =
        std::ranges::find_if(mine_.broken_peers, [this](Rank peer) { return state_->of(peer).is_failure_noticed; });
    if (noticed != mine_.broken_peers.end()) {
      const Rank peer = *noticed;
      mine_.broken_peers.erase(noticed);
      state_->check_alive(peer);
    }
    const Polled polled{detail::take(mine_.arrivals, mine_.next_arrival, arrivals),
                        detail::take(mine_.bulk, mine_.next_bulk, bulk)};
    long_.clear();
    for (Arrival& arrival : arrivals.first(polled.arrivals)) {
      if (arrival.packet.capacity() > packet_bytes_max()) {
        arrival.in_place = long_.emplace_back(std::move(arrival.packet)).bytes();
      }
    }
    return polled;
  }

  bool is_full() const noexcept override {
    return mine_.is_alive && mine_.packets_on_wire >= state_->options.send_queue_packets_max;
  }
  bool is_idle() const noexcept override { return mine_.packets_on_wire == 0 && mine_.bulk_sends == 0; }
  bool is_busy(Rank to) const noexcept override {
    return to != self() && state_->clock.now() < state_->links.free_at(self());
  }

 private:
  Post post(Rank to, Packet&& packet) {
    if (!mine_.is_alive) {
      recycle(std::move(packet));
      return Post::done;
    }
    state_->check_alive(to);
    if (mine_.packets_on_wire >= state_->options.send_queue_packets_max || state_->is_unlucky()) {
      return state_->refuse(self());
    }
    state_->post_packet(self(), to, std::move(packet));
    return Post::posted;
  }

  std::shared_ptr<SimNetwork::State> state_;
  RankState& mine_;
  detail::CopyBuffers copies_;
  std::vector<Packet> long_;  ///< Packets that do not fit into those of the pool, until the next poll.
};

}  // namespace

SimNetwork::SimNetwork(std::uint32_t rank_count, const SimOptions& options) {
  check(rank_count, options);
  state_ = std::make_shared<State>(rank_count, options);
}

std::uint32_t SimNetwork::rank_count() const noexcept {
  return static_cast<std::uint32_t>(state_->ranks.size());
}

const Clock& SimNetwork::clock() const noexcept {
  return state_->clock;
}

bool SimNetwork::is_alive(Rank rank) const {
  return state_->of(rank).is_alive;
}

std::uint32_t SimNetwork::failure_count() const noexcept {
  return state_->failure_count;
}

std::optional<Rank> SimNetwork::noticed_failure() const noexcept {
  return state_->noticed_failure;
}

std::unique_ptr<Driver> SimNetwork::driver(Rank rank) {
  detail::take_rank(*state_, "simulated", rank);
  return std::make_unique<SimDriver>(state_, rank);
}

bool SimNetwork::advance() {
  const std::optional<nanoseconds> next = next_event();
  if (next) {
    advance_to(*next);
  }
  return next.has_value();
}

std::optional<nanoseconds> SimNetwork::next_event() const {
  return state_->next_event();
}

void SimNetwork::advance_to(nanoseconds time) {
  state_->advance_to(time);
}

void SimNetwork::carry(Rank from, Rank to, std::size_t bytes, std::function<void()> arrived) {
  require(bytes > 0, "simulated network: a message has at least one byte");
  state_->post_parcel(from, to, bytes, std::move(arrived));
}

}  // namespace plait::net
