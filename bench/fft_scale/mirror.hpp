// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/net/driver.hpp"
#include "plait/net/sim/sim.hpp"

namespace fft_scale {

/// The network of rank 0 of many that all do the same at the same time, each with the ranks at the same distances: what
/// it sends to the rank so far ahead is, by symmetry, what the rank so far behind sends to it. So one rank's engine,
/// with a driver that hands its own packets back, goes through what each of them does, at the cost of one.
///
/// Costs are those of `plait::net::SimNetwork`; packets only. Threads: one.
class MirrorDriver final : public plait::net::Driver {
 public:
  /// `clock` is moved by the caller.
  MirrorDriver(const plait::Clock& clock, std::uint32_t rank_count, const plait::net::SimOptions& options)
      : clock_{clock}, rank_count_{rank_count}, options_{options} {}

  const char* name() const noexcept override { return "mirror"; }
  plait::Rank self() const noexcept override { return plait::Rank{0}; }
  std::uint32_t rank_count() const noexcept override { return rank_count_; }
  const plait::Clock& clock() const noexcept override { return clock_; }
  std::size_t packet_bytes_max() const noexcept override { return options_.packet_bytes_max; }
  std::uint32_t packets_in_flight_max() const noexcept override { return options_.packets_in_flight_max; }
  std::uint32_t bulk_slot_count() const noexcept override { return options_.bulk_slot_count; }
  plait::net::Packet acquire() override;
  void recycle(plait::net::Packet&& packet) noexcept override;
  /// Expects: not to itself.
  plait::net::Post send(plait::Rank to, plait::net::Packet&& packet) override;
  /// Throws: `Error` with `bad_argument`: what is measured here fits into packets.
  plait::net::Post send_bulk(const plait::net::BulkSend& bulk) override;
  plait::net::Post receive_bulk(const plait::net::BulkReceive& bulk) override;
  plait::net::Polled poll(std::span<plait::net::Arrival> arrivals, std::span<plait::net::BulkDone> bulk) override;
  bool is_idle() const noexcept override { return count_on_wire() == 0; }
  bool is_busy(plait::Rank /*to*/) const noexcept override { return clock_.now() < out_free_; }

  /// When the next packet leaves the wire or can be polled; nothing when none is on its way.
  [[nodiscard]] std::optional<plait::nanoseconds> next_event() const noexcept;

 private:
  struct OnItsWay {
    plait::nanoseconds comes_in{};  ///< When it has left the wire.
    plait::nanoseconds here{};      ///< When it can be polled.
    plait::net::Arrival arrival;
  };
  [[nodiscard]] std::size_t count_on_wire() const noexcept;

  const plait::Clock& clock_;
  const std::uint32_t rank_count_;
  const plait::net::SimOptions options_;
  std::deque<OnItsWay> on_their_way_;  ///< In the order in which they come: all are sent by one rank, to one.
  std::vector<plait::net::Packet> spare_;
  plait::nanoseconds out_free_{};
  plait::nanoseconds in_free_{};
};

}  // namespace fft_scale
