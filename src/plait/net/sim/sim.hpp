// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/base/id.hpp"
#include "plait/net/driver.hpp"

namespace plait::net {

/// What a message costs. Alexandrov, Ionescu, Schauser and Scheiman, "LogGP", SPAA 1995: k bytes arrive
/// latency + 2 overhead + (k - 1) per_byte after they were sent, on idle links.
struct LogGP {
  nanoseconds latency{1000};  ///< L
  nanoseconds overhead{200};  ///< o: on each side
  nanoseconds gap{200};       ///< g: least time between two messages of one rank
  double per_byte_ns = 0.1;   ///< G: 0.1 ns are 10 GB/s
};

/// A rank that dies at a time of the virtual clock.
struct SimFailure {
  Rank rank;
  nanoseconds at{};
};

enum class SimOrder : std::uint8_t {
  kept_in_pair,  ///< Delays reorder packets of different pairs of ranks only.
  free,          ///< Any packet may overtake any other.
};

struct SimOptions {
  LogGP cost;
  /// Draws all that is random below.
  std::uint64_t seed = 1;
  /// Each packet and each chunk of bulk data is late by up to this, at random.
  nanoseconds delay_max{0};
  SimOrder order = SimOrder::kept_in_pair;
  /// How often a post returns `retry` although there is room; below 1.
  double retry_probability = 0;
  std::vector<SimFailure> failures;
  /// How long after a rank died the others notice; until then packets to it vanish silently.
  nanoseconds failure_noticed_after{0};

  std::size_t packet_bytes_max = 8192;
  std::uint32_t packets_in_flight_max = 64;
  /// Packets that one rank may have on the wire; beyond, `send` returns `retry`.
  std::uint32_t send_queue_packets_max = 64;
  std::uint32_t bulk_slot_count = 16;
  std::size_t bulk_in_flight_max = std::numeric_limits<std::size_t>::max();
  /// Packets take turns with chunks of this size on their way out of a rank.
  std::size_t bulk_chunk_bytes = std::size_t{256} * 1024;
};

/// N ranks as N drivers in one process, on a virtual clock: same options, same calls, same run.
///
/// Time is constant while the ranks act, and moves in `advance` only. A rank's messages leave one
/// after another and come in one after another, so that many senders to one rank queue up. A
/// message from a rank to itself costs overhead and its bytes, nothing else.
///
/// A rank that has died polls nothing, and what it sends vanishes. Once that is noticed, `send` and
/// `send_bulk` to it throw `Error` with `network` and the dead rank; so does, once for each dead rank,
/// the next `poll` of a rank that had a bulk transfer with it under way.
///
/// The network and its drivers share what they need; any may end first.
/// Threads: network and drivers together are used by one thread at a time.
class SimNetwork {
 public:
  /// Throws: `Error` with `bad_argument` for no ranks, or options that make no sense.
  explicit SimNetwork(std::uint32_t rank_count, const SimOptions& options = {});

  [[nodiscard]] std::uint32_t rank_count() const noexcept;
  [[nodiscard]] const Clock& clock() const noexcept;
  /// Whether `rank` has not died yet.
  [[nodiscard]] bool is_alive(Rank rank) const;

  /// The driver of `rank`, once for each rank. Throws: `Error` with `bad_argument` otherwise.
  [[nodiscard]] std::unique_ptr<Driver> driver(Rank rank);

  /// Moves the clock to the next event and lets it happen, with all others of the same time. False
  /// when nothing will ever happen again unless a rank acts. Cost: logarithmic in events pending.
  bool advance();
  /// When `advance` would move the clock to; nothing when it would return false.
  [[nodiscard]] std::optional<nanoseconds> next_event() const;
  /// Lets happen what is due up to `time` and moves the clock there.
  /// Expects: `time` is not before now.
  void advance_to(nanoseconds time);

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace plait::net
