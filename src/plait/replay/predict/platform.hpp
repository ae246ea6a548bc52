// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "plait/base/error.hpp"

namespace plait::replay {

/// What so many bytes take at an interface.
struct MovingTime {
  std::uint64_t bytes = 0;
  double time_ns = 0;
  friend bool operator==(const MovingTime&, const MovingTime&) = default;
};

/// What a message costs between two ranks: the parameters of LogGPS (Ino, Fujimoto, Hagihara, "LogGPS: a parallel
/// computational model for synchronization analysis", PPoPP 2001), with a processor's cost for each byte. Times are
/// nanoseconds; the usual letters are behind the names.
struct LinkCosts {
  double latency_ns = 0;              ///< L: from the sender's network interface to the receiver's.
  double send_overhead_ns = 0;        ///< o_s: the sender's processor, for each message.
  double receive_overhead_ns = 0;     ///< o_r: the receiver's processor, for each message.
  double post_overhead_ns = 0;        ///< The receiver's processor, for each receive that it begins.
  double overhead_per_byte_ns = 0;    ///< O: either processor, for each byte of an eager message.
  double gap_ns = 0;                  ///< g: between the beginnings of two messages at an interface.
  double gap_per_byte_ns = 0;         ///< G: at an interface, for each byte beyond the first. 1/G is its bandwidth.
  std::uint64_t eager_bytes_max = 0;  ///< S: longer messages ask first and wait for their receive.
  double rendezvous_ns = 0;           ///< For each of them: what asking and answering take beyond two latencies.
  /// Within a host, points only: how much longer bytes take while others go the other way between the same ranks, from
  /// 1 (no matter) to 2 (they take turns).
  double both_ways = 1;
  /// In place of G, where measured: the bytes beyond the first of a message of so many, rising; between two of them on
  /// a line, beyond the last at G.
  std::vector<MovingTime> moving;
};

/// When messages that wait for their receive move on, and when others are taken in.
enum class ProgressModel : std::uint8_t {
  ideal,       ///< At once, by hardware or a thread that costs nothing.
  calls,       ///< Only while their rank waits or polls.
  background,  ///< As `calls`, and every `progress_every_ns`.
};

enum class TopologyShape : std::uint8_t {
  flat,       ///< One switch that is never short of bandwidth.
  fat_tree,   ///< `arity` ^ `levels` hosts; upward links of a switch are `arity` / `oversubscription`.
  dragonfly,  ///< `groups` of `routers` with `hosts` each; routers of a group joined all to all, groups likewise.
  torus,      ///< One host at each point of `sizes`, joined to its neighbours in each direction.
};

/// The network between the hosts. Host links have the bandwidth 1/G; all others what is here.
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
  double link_latency_ns = 0;        ///< Of each such link on the way; comes on top of L.
  double global_bytes_per_s = 0;     ///< Dragonfly: of links between groups.
  double global_latency_ns = 0;
};

/// The machine that a prediction is for. docs/how-to/predict.md describes the file.
struct Platform {
  std::string name;
  std::uint32_t hosts = 0;  ///< 0: as many as the ranks need, or as the topology has.
  std::uint32_t ranks_per_host = 1;
  std::uint32_t cores_per_host = 1;
  double copy_bytes_per_s =
      1e10;  ///< Of memory: unexpected messages are copied once more; collectives add at this rate.
  ProgressModel progress = ProgressModel::calls;
  double progress_every_ns = 0;
  LinkCosts between_hosts;
  LinkCosts within_host;
  TopologySettings topology;

  /// Hosts that `ranks` ranks fill.
  [[nodiscard]] std::uint32_t hosts_for(std::uint32_t ranks) const noexcept {
    return (ranks + ranks_per_host - 1) / ranks_per_host;
  }
};

/// Reads a platform file. Error: `io` when it cannot be read, `bad_input` for keys that are unknown or missing and
/// values that cannot be; the sentence names file and key.
[[nodiscard]] Result<Platform> read_platform(const std::filesystem::path& file);

/// The platform in `text`; `where` begins the sentences of errors.
[[nodiscard]] Result<Platform> parse_platform(const std::string& text, const std::string& where);

/// Hosts that the topology has; 0 when it may have any number.
[[nodiscard]] std::uint64_t host_count(const TopologySettings& topology) noexcept;

/// Whether `ranks` ranks fit. Error: `bad_input` with how many do.
[[nodiscard]] Result<std::uint32_t> hosts_of(const Platform& platform, std::uint32_t ranks);

}  // namespace plait::replay
