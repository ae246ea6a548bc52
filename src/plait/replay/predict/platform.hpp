// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "plait/base/error.hpp"

namespace plait::replay {

/// A measured time for a message of so many bytes.
struct ByteTime {
  std::uint64_t bytes = 0;
  double time_ns = 0;
  friend bool operator==(const ByteTime&, const ByteTime&) = default;
};

/// What messages take of the processors: measured curves, which may fall, such as from eager messages to those that
/// only ask. Each is empty if it was not measured.
struct ProcessorTimes {
  std::vector<ByteTime> sending;    ///< Of the call that begins to send, in place of o_s and O.
  std::vector<ByteTime> receiving;  ///< Of the receiver's call after delivery, in place of o_r and O.
  /// What the network takes of a processor that computes meanwhile: at the sender, after its call or, of a rendezvous
  /// message, after its send has ended; and at the receiver.
  std::vector<ByteTime> stolen_sending;
  std::vector<ByteTime> stolen_receiving;
};

/// The cost of a message between two ranks: the parameters of LogGPS (Ino, Fujimoto, Hagihara, "LogGPS: a parallel
/// computational model for synchronization analysis", PPoPP 2001), with a processor's cost for each byte. Times are in
/// nanoseconds; comments begin with the usual letters.
struct LinkCosts {
  double latency_ns = 0;              ///< L: from the sender's network interface to the receiver's.
  double send_overhead_ns = 0;        ///< o_s: time of the sender's processor for each message.
  double receive_overhead_ns = 0;     ///< o_r: time of the receiver's processor for each message.
  double post_overhead_ns = 0;        ///< Time of the receiver's processor to post a receive.
  double overhead_per_byte_ns = 0;    ///< O: time of either processor for each byte of an eager message.
  double gap_ns = 0;                  ///< g: least time between the starts of two messages at an interface.
  double gap_per_byte_ns = 0;         ///< G: time of an interface for each byte after the first; 1/G: bandwidth.
  std::uint64_t eager_bytes_max = 0;  ///< S: larger messages use the rendezvous protocol.
  double rendezvous_ns = 0;           ///< Time of the RTS-CTS exchange of a rendezvous beyond two latencies.
  /// Within a host, points only: the factor by which bytes slow down while others move the other way between the same
  /// ranks, from 1 (independent) to 2 (half the rate).
  double both_ways = 1;

  // Measured curves; sizes rise. Between two sizes the time is interpolated. Each is empty if it was not measured.

  /// From departure to delivery, for the bytes of a message after the first: in place of G. Beyond the last size, each
  /// byte adds G.
  std::vector<ByteTime> moving;
  /// How long a message keeps an interface from the next, if that is not `moving`: both of a message's processors can
  /// work while its bytes travel, and several messages can be on the way.
  std::vector<ByteTime> occupying;
  /// From departure until the send has ended, if that is not `moving`: a system can take the last bytes into its
  /// buffers and send them while the sender goes on. Model of points only.
  std::vector<ByteTime> leaving;
  ProcessorTimes processor;
};

/// When the library makes progress on rendezvous messages and non-blocking collectives.
enum class ProgressModel : std::uint8_t {
  ideal,       ///< At once, as by hardware or a thread without cost.
  calls,       ///< Only while their rank waits or polls.
  background,  ///< As `calls`, and every `progress_every_ns`.
};

enum class TopologyShape : std::uint8_t {
  flat,       ///< One switch of unlimited bandwidth.
  fat_tree,   ///< `arity` ^ `levels` hosts; a switch has `arity` / `oversubscription` links upwards.
  dragonfly,  ///< `groups` of `routers` with `hosts` each; all-to-all links within and between groups.
  torus,      ///< A grid of `sizes` hosts, each linked to its neighbours in each direction.
};

/// The network between the hosts. Links of hosts have the bandwidth 1/G, all others those given here.
struct TopologySettings {
  TopologyShape shape = TopologyShape::flat;
  std::uint32_t arity = 0;      ///< Fat tree.
  std::uint32_t levels = 0;     ///< Fat tree: of switches.
  double oversubscription = 1;  ///< Fat tree, at least 1.
  std::uint32_t groups = 0;     ///< Dragonfly, and the two below.
  std::uint32_t routers = 0;
  std::uint32_t hosts = 0;
  std::vector<std::uint32_t> sizes;  ///< Torus.
  double link_bytes_per_s = 0;       ///< Dragonfly: of links within a group.
  double link_latency_ns = 0;        ///< Of each such link; added to L.
  double global_bytes_per_s = 0;     ///< Dragonfly: of links between groups.
  double global_latency_ns = 0;
};

/// How far the measurements of a platform lie apart, as parts of their values.
struct Spread {
  double latency = 0;
  double overhead = 0;
  double bytes = 0;  ///< Of the time of bytes.
};

/// The machine of a prediction. docs/how-to/predict.md describes its file.
struct Platform {
  std::string name;
  std::uint32_t hosts = 0;  ///< 0: as many as the ranks need, or all of the topology.
  std::uint32_t ranks_per_host = 1;
  std::uint32_t cores_per_host = 1;
  /// If a host has more ranks than cores: how long a computation has its core before another rank that needs it gets
  /// it. 0: ranks do not share cores.
  double core_slice_ns = 0;
  /// How much longer the ranks of a host compute when all do at once, each on a core or a thread of one: 1 or more. Not
  /// applied: what they share is not known.
  double slowdown_at_once = 1;
  /// Of memory: the rate at which unexpected messages are copied again, and at which collectives combine.
  double copy_bytes_per_s = 1e10;
  /// For each element that MPI's matching searches, half of a queue in the mean: of unexpected messages when a receive
  /// is posted, which is time of its processor; of posted receives when a message comes, which is later by that time.
  double search_ns = 0;
  ProgressModel progress = ProgressModel::calls;
  double progress_every_ns = 0;
  LinkCosts between_hosts;
  LinkCosts within_host;
  bool has_within_host = false;  ///< The file gives them; else they are as those between hosts.
  TopologySettings topology;
  std::optional<Spread> spread;  ///< Nothing: not known.

  [[nodiscard]] bool shares_cores() const noexcept { return core_slice_ns > 0 && ranks_per_host > cores_per_host; }
  /// The number of hosts for `ranks` ranks.
  [[nodiscard]] std::uint32_t hosts_for(std::uint32_t ranks) const noexcept {
    return (ranks + ranks_per_host - 1) / ranks_per_host;
  }
};

/// Reads a platform file. Error: `io` if it cannot be read, `bad_input` for unknown or missing keys and invalid values,
/// with the names of file and key.
[[nodiscard]] Result<Platform> read_platform(const std::filesystem::path& file);

/// Parses a platform; errors begin with `where`.
[[nodiscard]] Result<Platform> parse_platform(const std::string& text, const std::string& where);

/// The number of hosts of the topology; 0: any number.
[[nodiscard]] std::uint64_t host_count(const TopologySettings& topology) noexcept;

/// The number of hosts to model for `ranks` ranks. Error: `bad_input` if the ranks do not fit on the platform.
[[nodiscard]] Result<std::uint32_t> hosts_of(const Platform& platform, std::uint32_t ranks);

}  // namespace plait::replay
