// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/base/id.hpp"
#include "plait/net/driver.hpp"
#include "plait/net/shared_copies.hpp"

namespace plait::net {

/// The cost of a message. Alexandrov, Ionescu, Schauser and Scheiman, "LogGP", SPAA 1995: on idle links, k bytes arrive
/// latency + 2 overhead + (k - 1) per_byte after they were sent.
struct LogGP {
  nanoseconds latency{1000};  ///< L
  nanoseconds overhead{200};  ///< o: on each side
  nanoseconds gap{200};       ///< g: least time between two messages of one rank
  double per_byte_ns = 0.1;   ///< G: 0.1 ns are 10 GB/s
};

/// Which ranks find out that a rank has failed without sending to it.
enum class SimNotice : std::uint8_t {
  transfers,  ///< Those that had a bulk transfer with it.
  all,        ///< All others, as where a launcher or a service watches the ranks.
};

/// A rank that fails at a time of the virtual clock.
struct SimFailure {
  Rank rank;
  nanoseconds at{};
  /// Time until the others detect it; until then packets to the rank are dropped.
  nanoseconds noticed_after{0};
  SimNotice notice = SimNotice::transfers;
};

/// A link whose bytes take longer from a time of the virtual clock on.
struct SimSlowLink {
  /// Of the routes; without links there, the rank whose interface it is, in both directions.
  std::uint32_t link = 0;
  nanoseconds since{};
  double factor = 2;  ///< By which the time of a byte grows; at least 1.
};

/// A way from one rank to another.
struct SimRoute {
  LogGP cost;  ///< `gap` and `per_byte_ns` are those of the ranks' own interfaces.
  /// Links between the interfaces, which messages pass one after the other. Valid until the next call of `find`.
  std::span<const std::uint32_t> links;
};

/// The ways between ranks, and the links that they share.
class SimRoutes {
 public:
  SimRoutes() = default;
  SimRoutes(const SimRoutes&) = delete;
  SimRoutes& operator=(const SimRoutes&) = delete;
  virtual ~SimRoutes() = default;

  [[nodiscard]] virtual std::uint32_t link_count() const noexcept = 0;
  /// The time that a link takes for a byte.
  [[nodiscard]] virtual double per_byte_ns(std::uint32_t link) const noexcept = 0;
  /// Expects: two different ranks.
  [[nodiscard]] virtual SimRoute find(Rank from, Rank to) const = 0;
};

/// What becomes of bulk data.
enum class BulkContents : std::uint8_t { copied, dropped };

enum class SimOrder : std::uint8_t {
  kept_in_pair,  ///< Delays reorder packets of different pairs of ranks only.
  free,          ///< Any packet may overtake any other.
};

struct SimOptions {
  LogGP cost;
  /// Determines all random choices below.
  std::uint64_t seed = 1;
  /// Upper bound of a random delay of each packet and each chunk of bulk data.
  nanoseconds delay_max{0};
  SimOrder order = SimOrder::kept_in_pair;
  /// Probability that a post returns `retry` although there is room; below 1.
  double retry_probability = 0;
  std::vector<SimFailure> failures;  ///< At most one for each rank.
  /// At most one for each link.
  std::vector<SimSlowLink> slow_links;

  std::size_t packet_bytes_max = 8192;
  /// As `Driver::copied_bytes_max`; 0: a packet.
  std::size_t copied_bytes_max = 0;
  std::uint32_t packets_in_flight_max = 64;
  /// Packets of one rank in flight; beyond, `send` returns `retry`.
  std::uint32_t send_queue_packets_max = 64;
  std::uint32_t bulk_slot_count = 16;
  std::size_t bulk_in_flight_max = std::numeric_limits<std::size_t>::max();
  /// Packets and chunks of bulk data of this size leave a rank in turn.
  std::size_t bulk_chunk_bytes = std::size_t{256} * 1024;
  /// Of each rank, for `Driver::shared_copies`; takes no virtual time.
  SharedCopyOptions shared_copies;

  /// Whether bulk data is copied. Without, a received buffer keeps what it had: for runs whose results do not matter.
  BulkContents bulk_contents = BulkContents::copied;
  /// The cost of messages from one rank to another, and their way, in place of `cost`; null: `cost`. Borrowed.
  const SimRoutes* routes = nullptr;
  /// By rank: what carries its threads, and is notified of events for it; empty: the system. Borrowed.
  std::vector<Executor*> executors;
};

/// N ranks as N drivers in one process, on a virtual clock: equal options and calls give equal runs.
///
/// Time advances in `advance` and `advance_to` only. A rank sends and receives one message at a time, so many senders
/// to one rank queue up. A message of a rank to itself costs overhead and its bytes only.
///
/// A failed rank polls nothing, and its messages are dropped. Once the failure is detected, `send` and `send_bulk` to
/// it throw `Error` with `network` and the rank; so does, once, the next `poll` of a rank that had a bulk transfer with
/// it, or of all ranks, by `SimFailure::notice`.
///
/// The network and its drivers may end in any order. Threads: one at a time for all of them together.
class SimNetwork {
 public:
  /// Throws: `Error` with `bad_argument` for no ranks, or invalid options.
  explicit SimNetwork(std::uint32_t rank_count, const SimOptions& options = {});

  [[nodiscard]] std::uint32_t rank_count() const noexcept;
  [[nodiscard]] const Clock& clock() const noexcept;
  /// Whether `rank` has not failed yet.
  [[nodiscard]] bool is_alive(Rank rank) const;
  /// How many ranks have failed.
  [[nodiscard]] std::uint32_t failure_count() const noexcept;
  /// The first rank whose failure was detected, if there is one.
  [[nodiscard]] std::optional<Rank> noticed_failure() const noexcept;

  /// Creates the driver of `rank`, once. Throws: `Error` with `bad_argument` otherwise.
  [[nodiscard]] std::unique_ptr<Driver> driver(Rank rank);

  /// Moves the clock to the next event and processes all events of that time. False when there is none until a rank
  /// acts. Cost: logarithmic in pending events.
  bool advance();
  /// The time of the next event, if there is one.
  [[nodiscard]] std::optional<nanoseconds> next_event() const;
  /// Processes all events up to `time`, which is not before now, and moves the clock there.
  void advance_to(nanoseconds time);

  /// Lets a message of `bytes`, at least 1, travel beside those of the drivers, through the same interfaces and links.
  /// Such messages of a pair of ranks keep their order. Calls `arrived` when the last byte is there, from `advance` or
  /// `advance_to`; never if one of the ranks has failed.
  void carry(Rank from, Rank to, std::size_t bytes, std::function<void()> arrived);

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace plait::net
