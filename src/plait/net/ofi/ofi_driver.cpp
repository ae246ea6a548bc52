// SPDX-License-Identifier: Apache-2.0
#include "plait/net/ofi/ofi_driver.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <rdma/fi_errno.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/net/detail/driver_parts.hpp"
#include "plait/net/loopback/loopback.hpp"
#include "plait/net/ofi/detail/bulk_receives.hpp"
#include "plait/net/ofi/detail/bulk_sends.hpp"
#include "plait/net/ofi/detail/call.hpp"
#include "plait/net/ofi/detail/fabric.hpp"
#include "plait/net/ofi/detail/operation.hpp"
#include "plait/net/ofi/detail/packet_ring.hpp"
#include "plait/net/ofi/detail/packet_sends.hpp"
#include "plait/net/ofi/detail/peer_watch.hpp"
#include "plait/net/ofi/detail/peers.hpp"

namespace plait::net {
namespace {

namespace ofi = detail::ofi;

using ofi::Operation;
using ofi::Purpose;

/// Completions read in one poll.
constexpr std::size_t completions_per_poll = 16;
/// Completions that may wait, beyond those of this rank's own operations: what peers write.
constexpr std::size_t completions_spare = 1024;
/// A packet of at most so many bytes is copied by libfabric, if it can.
constexpr std::size_t inject_bytes_wanted = 4096;
/// How long an ending driver waits for what is still in flight.
constexpr std::chrono::seconds give_up_after{1};

/// What each rank has brought, by rank. Collective.
std::vector<Bytes> meet(const Exchange& exchange, std::uint32_t rank_count, std::span<const std::byte> mine) {
  std::vector<Bytes> all = exchange(mine);
  if (all.size() != rank_count) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("ofi driver: the exchange brought {} answers for {} ranks", all.size(), rank_count)};
  }
  return all;
}

/// What ranks exchange before they choose a provider.
struct Neighbours {
  bool are_all_here = false;                      ///< On this host.
  std::vector<detail::shm::ProcessId> processes;  ///< By rank; number 0 on other hosts.
};

Neighbours meet_neighbours(std::uint32_t rank_count, const Exchange& exchange) {
  const std::string host = ofi::describe_host();
  const detail::shm::ProcessId process = detail::shm::this_process();
  Bytes mine(sizeof process + host.size());
  std::memcpy(mine.data(), &process, sizeof process);
  std::memcpy(mine.data() + sizeof process, host.data(), host.size());
  Neighbours neighbours{.are_all_here = true};
  for (const Bytes& other : meet(exchange, rank_count, mine)) {
    detail::shm::ProcessId& id = neighbours.processes.emplace_back();
    if (std::ranges::equal(std::span{other}.subspan(sizeof id), std::span{mine}.subspan(sizeof id))) {
      std::memcpy(&id, other.data(), sizeof id);
    } else {
      neighbours.are_all_here = false;
    }
  }
  return neighbours;
}

ofi::Fabric open_fabric(Rank self, const Neighbours& neighbours, const OfiOptions& options) {
  using Ranks = ofi::Wanted::Ranks;
  const ofi::Wanted wanted{
      .provider = options.provider,
      .node = options.node.empty() && neighbours.are_all_here ? "127.0.0.1" : options.node,
      .ranks = neighbours.are_all_here ? Ranks::on_one_host : Ranks::on_many_hosts,
  };
  const TransferOptions& transfers = options.transfers;
  const std::size_t completions = completions_spare + transfers.receives_posted + transfers.sends_in_flight_max +
                                  std::size_t{transfers.bulk_sends_max} * transfers.bulk_chunks_in_flight;
  try {
    return ofi::Fabric{ofi::find_provider(wanted), completions, neighbours.processes.size()};
  } catch (const Error& error) {
    if (options.node.empty() || error.code() == ErrorCode::bad_argument) {
      throw;
    }
    throw Error{ErrorCode::bad_argument,
                fmt::format("ofi driver: rank {} cannot use \"{}\": {}; is it an address or an interface of this host?",
                            self.value(),
                            options.node,
                            error.what())};
  }
}

std::string describe(const fi_info& info) {
  const std::uint32_t version = info.fabric_attr->prov_version;
  return fmt::format("ofi ({} {}.{})", info.fabric_attr->prov_name, FI_MAJOR(version), FI_MINOR(version));
}

/// Learns the others' addresses, each behind the provider's name and a zero.
std::vector<fi_addr_t> meet_peers(ofi::Fabric& fabric, Rank self, std::uint32_t rank_count, const Exchange& exchange) {
  const std::string name{fabric.info().fabric_attr->prov_name};
  const Bytes address = fabric.address();
  Bytes mine(name.size() + 1 + address.size());
  std::memcpy(mine.data(), name.c_str(), name.size() + 1);
  std::ranges::copy(address, mine.begin() + static_cast<std::ptrdiff_t>(name.size() + 1));
  const std::vector<Bytes> all = meet(exchange, rank_count, mine);
  std::vector<fi_addr_t> names(rank_count, FI_ADDR_NOTAVAIL);
  for (std::uint32_t rank = 0; rank < rank_count; ++rank) {
    const auto end = std::ranges::find(all[rank], std::byte{0});
    const std::string other{reinterpret_cast<const char*>(all[rank].data()),
                            static_cast<std::size_t>(end - all[rank].begin())};
    if (other != name) {
      throw Error{ErrorCode::bad_argument,
                  fmt::format("ofi driver: rank {} has the provider {}, rank {} has {}; choose one for all",
                              self.value(),
                              name,
                              rank,
                              other)};
    }
    if (rank != self.value()) {
      names[rank] = fabric.insert(std::span{all[rank]}.subspan(name.size() + 1));
    }
  }
  return names;
}

class OfiDriver final : public detail::PooledDriver {
 public:
  OfiDriver(DriverTraits traits,
            ofi::Fabric&& opened,
            Neighbours&& neighbours,
            const Exchange& exchange,
            const TransferOptions& options)
      : PooledDriver{std::move(traits)},
        fabric_{std::move(opened)},
        ring_{fabric_, pool_, options.receives_posted},
        peers_{meet_peers(fabric_, self(), rank_count(), exchange)},
        watch_{peers_, std::move(neighbours.processes), clock()},
        sends_{fabric_, pool_, peers_, self(), {options.sends_in_flight_max, fabric_.info().tx_attr->inject_size}},
        bulk_sends_{fabric_, peers_, {options.bulk_sends_max, options.bulk_chunks_in_flight}},
        bulk_receives_{fabric_, options.bulk_slot_count, options.bulk_chunk_bytes},
        itself_{LoopbackNetwork{1,
                                {.packet_bytes_max = options.packet_bytes_max,
                                 .mailbox_packets_max = options.sends_in_flight_max,
                                 .bulk_slot_count = options.bulk_slot_count}}
                    .driver(Rank{0})} {}
  OfiDriver(const OfiDriver&) = delete;
  OfiDriver& operator=(const OfiDriver&) = delete;

  ~OfiDriver() override {
    const auto deadline = std::chrono::steady_clock::now() + give_up_after;
    const auto is_late = [&] { return std::chrono::steady_clock::now() > deadline; };
    try {
      // A peer that has ended before is not notified: its endpoint is closed, which crashes shm within one process.
      while (drop_arrivals() && !is_late()) {
      }
      say_goodbye();
      while (!(sends_.is_empty() && bulk_sends_.is_empty()) && !is_late()) {
        drop_arrivals();
        sends_.send_waiting();
        bulk_sends_.post_refused();
      }
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
      // What cannot be moved any more is given up, as it would be after the deadline.
    }
    fabric_.close_endpoint();
    bulk_receives_.close();
  }

  Post send(Rank to, Packet&& packet) override {
    detail::expect_valid(*this, to, packet.size());
    if (to != self()) {
      return sends_.send(to, std::move(packet));
    }
    const Post post = itself_->send(Rank{0}, std::move(packet));
    own_count_ += post == Post::retry ? 0 : 1;
    return post;
  }

  Post send_bulk(const BulkSend& bulk) override {
    detail::expect_valid(*this, bulk);
    if (bulk.to != self()) {
      return bulk_sends_.start(bulk);
    }
    const Post post = itself_->send_bulk({Rank{0}, bulk.slot, bulk.data, bulk.cookie});
    own_count_ += post == Post::retry ? 0 : 2;  // sent and received
    return post;
  }

  Post receive_bulk(const BulkReceive& bulk) override {
    detail::expect_valid(*this, bulk);
    if (bulk.from == self()) {
      return itself_->receive_bulk({Rank{0}, bulk.slot, bulk.buffer, bulk.cookie});
    }
    const ofi::Ready ready = bulk_receives_.open(bulk);
    Packet packet = pool_.acquire();
    packet.resize(sizeof ready);
    std::memcpy(packet.data(), &ready, sizeof ready);
    sends_.send_own(Purpose::ready, bulk.from, std::move(packet));
    return Post::posted;
  }

  Polled poll(std::span<Arrival> arrivals, std::span<BulkDone> bulk) override {
    read_completions();
    Polled polled = own_count_ > 0 ? poll_itself(arrivals, bulk) : Polled{};
    while (polled.arrivals < arrivals.size() && take(arrivals[polled.arrivals])) {
      ++polled.arrivals;
    }
    if (polled.arrivals == 0) {
      watch_peers();
    }
    ring_.post_missing(polled.arrivals == 0 ? ofi::PacketRing::Few::too : ofi::PacketRing::Few::later);
    sends_.send_waiting();
    bulk_sends_.post_refused();
    polled.bulk += take_done(bulk.subspan(polled.bulk));
    return polled;
  }

  bool is_idle() const noexcept override { return sends_.is_empty() && bulk_sends_.is_empty() && itself_->is_idle(); }
  bool is_busy(Rank to) const noexcept override { return sends_.is_busy(to); }

 private:
  /// Takes note of what libfabric has completed.
  void read_completions() {
    std::array<fi_cq_data_entry, completions_per_poll> entries;  // not set: filled by libfabric
    const ssize_t count = fi_cq_read(fabric_.queue(), entries.data(), entries.size());
    if (count == -FI_EAGAIN) {
      return;
    }
    if (count == -FI_EAVAIL) {
      note_trouble();
      return;
    }
    ofi::check_ofi(count, "fi_cq_read");
    for (const fi_cq_data_entry& entry : std::span{entries}.first(static_cast<std::size_t>(count))) {
      note(entry);
    }
  }

  void note(const fi_cq_data_entry& entry) {
    if ((entry.flags & FI_REMOTE_WRITE) != 0) {
      bulk_receives_.note_chunk(entry.data, done_);
      return;
    }
    const Operation& operation = *static_cast<Operation*>(entry.op_context);
    switch (operation.kind) {
      case Operation::Kind::receive:
        ring_.note(operation, entry.len, entry.data);
        break;
      case Operation::Kind::send:
        sends_.note_sent(operation);
        break;
      case Operation::Kind::chunk:
        bulk_sends_.note_written(operation, done_);
        break;
    }
  }

  /// Something has failed: throws, unless it was a send to a peer that has ended its driver.
  void note_trouble() {
    fi_cq_err_entry entry{};
    const ssize_t count = fi_cq_readerr(fabric_.queue(), &entry, 0);
    if (count == -FI_EAGAIN) {
      return;
    }
    ofi::check_ofi(count, "fi_cq_readerr");
    std::array<char, 256> room{};
    const char* const words =
        fi_cq_strerror(fabric_.queue(), entry.prov_errno, entry.err_data, room.data(), room.size());
    const auto* const operation = static_cast<const Operation*>(entry.op_context);
    Rank peer;
    if (operation != nullptr && operation->kind == Operation::Kind::send) {
      peer = operation->peer;
      sends_.note_sent(*operation);
    } else if (operation != nullptr && operation->kind == Operation::Kind::chunk) {
      peer = operation->peer;
      bulk_sends_.note_failed(*operation);
    }
    if (!peer) {
      throw Error{ErrorCode::network,
                  fmt::format("libfabric failed to receive: {} ({})", fi_strerror(entry.err), words)};
    }
    if (peers_.state(peer) == ofi::Peers::State::here) {
      peers_.set_state(peer, ofi::Peers::State::lost);
      ofi::peer_is_lost(peer, fmt::format("{}; {}", fi_strerror(entry.err), words).c_str());
    }
  }

  /// Returns the oldest packet, and handles the driver's own messages before it.
  bool take(Arrival& arrival) {
    ofi::PacketRing::Message message;
    while (ring_.take(message)) {
      const Rank from = message.label.from;
      peers_.set_known(from);
      if (message.label.purpose == Purpose::packet) {
        arrival.peer = from;
        arrival.packet = std::move(message.packet);
        return true;
      }
      if (message.label.purpose == Purpose::ready) {
        ofi::Ready ready;
        std::memcpy(&ready, message.packet.data(), sizeof ready);
        bulk_sends_.note_ready(from, ready);
      } else if (message.label.purpose == Purpose::goodbye) {
        peers_.set_state(from, ofi::Peers::State::left);
      }
      pool_.recycle(std::move(message.packet));
    }
    return false;
  }

  /// Returns what this rank has sent to itself.
  Polled poll_itself(std::span<Arrival> arrivals, std::span<BulkDone> bulk) {
    const Polled polled = itself_->poll(arrivals, bulk);
    for (Arrival& arrival : arrivals.first(polled.arrivals)) {
      arrival.peer = self();
    }
    own_count_ -= polled.arrivals + polled.bulk;
    return polled;
  }

  /// Called when nothing has arrived: checks that the peers this rank may wait for still live.
  void watch_peers() {
    const ofi::PeerWatch::Turn turn = watch_.check();
    if (!turn.has_come) {
      return;
    }
    bulk_sends_.require_receivers();
    bulk_receives_.require_senders(peers_);
    if (turn.to_greet) {
      const bool is_quiet = !sends_.is_busy(turn.to_greet) && bulk_sends_.is_empty();
      watch_.note_greeting(turn.to_greet, sends_.greet(turn.to_greet) == Post::retry && is_quiet);
    }
  }

  /// Drops the packets that have arrived, but handles the driver's own messages. False when there were none.
  bool drop_arrivals() {
    read_completions();
    Arrival dropped;
    bool has_come = false;
    for (; take(dropped); has_come = true) {
      pool_.recycle(std::move(dropped.packet));
    }
    ring_.post_missing(ofi::PacketRing::Few::too);
    return has_come;
  }

  /// Notifies the peers that would otherwise take silence for death.
  void say_goodbye() {
    for (std::uint32_t rank = 0; rank < peers_.count(); ++rank) {
      if (peers_.is_known(Rank{rank}) && peers_.state(Rank{rank}) == ofi::Peers::State::here) {
        Packet packet = pool_.acquire();
        packet.resize(1);
        *packet.data() = std::byte{0};
        sends_.send_own(Purpose::goodbye, Rank{rank}, std::move(packet));
      }
    }
  }

  ofi::Fabric fabric_;
  ofi::PacketRing ring_;
  ofi::Peers peers_;
  ofi::PeerWatch watch_;
  ofi::PacketSends sends_;
  ofi::BulkSends bulk_sends_;
  ofi::BulkReceives bulk_receives_;
  std::unique_ptr<Driver> itself_;  ///< Few providers are good at messages of a rank to itself.
  std::size_t own_count_ = 0;       ///< What this rank has sent to itself and not polled, received transfers included.
};

}  // namespace

std::unique_ptr<Driver> make_ofi_driver(Rank self,
                                        std::uint32_t rank_count,
                                        const Exchange& exchange,
                                        const OfiOptions& options) {
  require(self && self.value() < rank_count && rank_count <= ofi::ranks_max,
          "ofi driver: this rank is not one of those that take part");
  DriverTraits traits = options.transfers.traits("ofi", self, rank_count);
  Neighbours neighbours = meet_neighbours(rank_count, exchange);
  std::unique_ptr<ofi::Fabric> fabric;
  agree(exchange, [&] { fabric = std::make_unique<ofi::Fabric>(open_fabric(self, neighbours, options)); });
  traits.name = describe(fabric->info());
  return std::make_unique<OfiDriver>(
      std::move(traits), std::move(*fabric), std::move(neighbours), exchange, options.transfers);
}

}  // namespace plait::net
