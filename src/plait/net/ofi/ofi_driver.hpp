// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "plait/base/clock.hpp"
#include "plait/base/id.hpp"
#include "plait/net/driver.hpp"
#include "plait/net/exchange.hpp"

namespace plait::net {

/// The same on all ranks, but for `node`.
struct OfiOptions {
  /// libfabric's name of a provider, as fi_info tells it: "tcp", "shm", "verbs", "cxi". Empty for libfabric's first
  /// choice among those that can do remote writes; the environment variable FI_PROVIDER narrows both.
  std::string provider;
  /// This rank's address, host name or network interface, for providers that have addresses. Empty for 127.0.0.1 when
  /// all ranks are on one host and in one network namespace, else libfabric's choice.
  std::string node;
  /// Larger than what a provider copies (about 16 KiB) is slower, never wrong.
  std::size_t packet_bytes_max = 8192;
  /// Receives kept posted for packets from any rank.
  std::uint32_t receives_posted = 64;
  /// Packets handed to libfabric that have not left yet; beyond, `send` answers `retry`.
  std::uint32_t sends_in_flight_max = 32;
  /// What packets that nobody polls may take in libfabric's memory, from all peers together: bounds
  /// `packets_in_flight_max()`, between 2 and 32.
  std::size_t unexpected_bytes_max = std::size_t{64} * 1024 * 1024;
  std::uint32_t bulk_slot_count = 16;
  /// Bulk data from one peer on its way at once: on TCP, packets wait behind it. Half a megabyte keeps 1 Gbit/s busy
  /// for 4 ms, 100 Gbit/s for 40 us.
  std::size_t bulk_in_flight_max = std::size_t{512} * 1024;
  /// Bulk sends under way at once; beyond, `send_bulk` answers `retry`.
  std::uint32_t bulk_sends_max = 16;
  /// Bulk data is cut into writes of this size, or less where the provider's are smaller, of which so many are under
  /// way.
  std::size_t bulk_chunk_bytes = std::size_t{4} * 1024 * 1024;
  std::uint32_t bulk_chunks_in_flight = 2;
};

/// Moves packets and bulk data through libfabric: on networks that have it (verbs, cxi, psm), and on tcp and shm.
///
/// Packets are messages of one endpoint that reaches all ranks; they come in through a ring of receives posted in
/// advance, and move up by ownership, without a copy. Bulk data is written by the sender right into the receiver's
/// buffer. The receiver tells the sender of that buffer with a message of the driver's own, which may come before or
/// after the sender's `send_bulk`; each chunk brings a word that completes at the receiver when the chunk is there.
/// What a rank sends to itself does not go through libfabric.
///
/// A peer that ends its driver says so to those that it has exchanged anything with; what is sent to it then vanishes.
/// One that ends without a word is noticed by those, and `poll` and `send` throw: within a second when it was on this
/// host, where its process is looked for, within some ten when it was elsewhere and nothing was on the way to it.
///
/// Threads: one at a time. Connections are made when they are first used; until then `send` answers `retry`.
/// Throws: `Error` with `network` when libfabric fails, with its own words.
class OfiDriver final : public Driver {
 public:
  /// Collective over `rank_count` ranks, which meet through `exchange`; it is called twice, and not kept.
  /// Throws: also `Error` with `bad_argument` for options that make no sense, providers that are not there, and ranks
  /// that have different providers.
  OfiDriver(Rank self, std::uint32_t rank_count, const Exchange& exchange, const OfiOptions& options = {});
  OfiDriver(const OfiDriver&) = delete;
  OfiDriver& operator=(const OfiDriver&) = delete;
  OfiDriver(OfiDriver&&) = delete;
  OfiDriver& operator=(OfiDriver&&) = delete;
  /// End it when all is quiet: on all ranks, but none waits for another. Gives up what is still in flight, waiting a
  /// second for it at most.
  ~OfiDriver() override;

  /// "ofi (tcp;ofi_rxm 117.0)"
  [[nodiscard]] const char* name() const noexcept override { return name_.c_str(); }
  [[nodiscard]] Rank self() const noexcept override { return self_; }
  [[nodiscard]] std::uint32_t rank_count() const noexcept override { return rank_count_; }
  [[nodiscard]] const Clock& clock() const noexcept override { return clock_; }
  [[nodiscard]] std::size_t packet_bytes_max() const noexcept override;
  [[nodiscard]] std::uint32_t packets_in_flight_max() const noexcept override;
  [[nodiscard]] std::uint32_t bulk_slot_count() const noexcept override;
  [[nodiscard]] std::size_t bulk_in_flight_max(Rank peer) const noexcept override;

  [[nodiscard]] Packet acquire() override;
  void recycle(Packet&& packet) noexcept override;
  [[nodiscard]] Post send(Rank to, Packet&& packet) override;
  [[nodiscard]] Post send_bulk(const BulkSend& bulk) override;
  /// Cost: registers the buffer with libfabric, and sends a short message.
  [[nodiscard]] Post receive_bulk(const BulkReceive& bulk) override;
  /// Cost: one look at libfabric's completion queue.
  [[nodiscard]] Polled poll(std::span<Arrival> arrivals, std::span<BulkDone> bulk) override;
  [[nodiscard]] bool is_idle() const noexcept override;
  [[nodiscard]] bool is_busy(Rank to) const noexcept override;

 private:
  struct State;

  SteadyClock clock_;
  std::string name_;
  Rank self_;
  std::uint32_t rank_count_ = 0;
  std::unique_ptr<State> state_;
};

}  // namespace plait::net
