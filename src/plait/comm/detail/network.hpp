// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include "plait/base/error.hpp"
#include "plait/comm/activity.hpp"
#include "plait/net/driver.hpp"

namespace plait::comm::detail {

/// The driver of an engine, with counters of what is in flight and the first failure of the run.
///
/// An error of the driver in a post becomes the failure, and the post returns false. Threads: one at a time.
class Network {
 public:
  /// `activity` shows the counts to threads without the endpoint's lock.
  Network(net::Driver& driver, Activity& activity) : driver_{driver}, activity_{activity} {}

  [[nodiscard]] net::Driver& driver() noexcept { return driver_; }
  [[nodiscard]] const net::Driver& driver() const noexcept { return driver_; }
  [[nodiscard]] Rank self() const noexcept { return driver_.self(); }

  /// Posts a packet. False when the driver is full or has failed; the caller keeps `packet`, unless the driver has
  /// taken it.
  [[nodiscard]] bool send(Rank to, net::Packet& packet) {
    return note(attempt([&] { return driver_.send(to, std::move(packet)); }));
  }
  /// As `send`, with a packet of `head` and `data`.
  [[nodiscard]] bool send_copy(Rank to, std::span<const std::byte> head, std::span<const std::byte> data) {
    return note(attempt([&] { return driver_.send_copy(to, head, data); }));
  }
  /// False when the driver is full or has failed.
  [[nodiscard]] bool send_bulk(const net::BulkSend& bulk) {
    const bool is_posted = attempt([&] { return driver_.send_bulk(bulk); }) != net::Post::retry;
    is_busy_ = is_busy_ || is_posted;
    count_bulk(is_posted ? 1 : 0);
    return is_posted;
  }
  /// False when the driver is full or has failed.
  [[nodiscard]] bool receive_bulk(const net::BulkReceive& bulk) {
    const bool is_posted = attempt([&] { return driver_.receive_bulk(bulk); }) != net::Post::retry;
    count_bulk(is_posted ? 1 : 0);
    return is_posted;
  }
  /// As `net::Driver::poll`; throws what it throws.
  [[nodiscard]] net::Polled poll(std::span<net::Arrival> arrivals, std::span<net::BulkDone> bulk) {
    const net::Polled polled = driver_.poll(arrivals, bulk);
    if (polled.bulk > 0) {
      bulk_count_ -= polled.bulk;
      activity_.note_bulk(bulk_count_);
    }
    return polled;
  }
  void note_idle() noexcept { is_busy_ = is_busy_ && !driver_.is_idle(); }

  /// Whether something that this rank has sent may still be moving, as of the last `note_idle`.
  [[nodiscard]] bool is_busy() const noexcept { return is_busy_; }

  /// Ends the run with `reason`, unless it has failed before.
  void fail(const Error& reason) {
    if (!failure_) {
      failure_ = reason;
    }
  }
  [[nodiscard]] const std::optional<Error>& failure() const noexcept { return failure_; }

 private:
  template <class Call>
  net::Post attempt(Call call) try {
    return call();
  } catch (const Error& error) {
    fail(error);
    return net::Post::retry;
  }

  bool note(net::Post packet) noexcept {
    is_busy_ = is_busy_ || packet == net::Post::posted;
    if (packet != net::Post::retry) {
      activity_.note_packet();
    }
    return packet != net::Post::retry;
  }

  void count_bulk(std::size_t count) noexcept {
    bulk_count_ += count;
    activity_.note_bulk(bulk_count_);
  }

  net::Driver& driver_;
  Activity& activity_;
  bool is_busy_ = false;
  std::size_t bulk_count_ = 0;
  std::optional<Error> failure_;
};

}  // namespace plait::comm::detail
