// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "plait/base/id.hpp"
#include "plait/base/random.hpp"
#include "plait/net/sim/sim.hpp"

namespace plait::net::detail {

/// Whether a message may overtake others of its pair of ranks.
enum class Overtaking : std::uint8_t { as_packets, never };

/// When a message leaves its sender, and when its first byte is at the receiver.
struct Departure {
  nanoseconds left;
  nanoseconds comes_in;
};

/// The interfaces of simulated ranks and the links between them: when messages leave and come in.
///
/// An interface sends one message at a time, and receives one at a time. A link takes messages in the order of their
/// sending. Threads: one at a time.
class Links {
 public:
  /// Borrows both. `random`: draws the delays.
  Links(std::uint32_t rank_count, const SimOptions& options, Random& random);

  /// Sends `bytes` at the time `now`. Messages to the sender itself pass no link.
  Departure depart(nanoseconds now, Rank from, Rank to, std::size_t bytes, Overtaking overtaking);
  /// When a message whose first byte is at the receiver at `now` will be there as a whole.
  nanoseconds come_in(nanoseconds now, Rank from, Rank to, std::size_t bytes);
  /// When the next message of `rank` can leave.
  [[nodiscard]] nanoseconds free_at(Rank rank) const noexcept { return out_free_[rank.value()]; }

 private:
  [[nodiscard]] SimRoute find_route(Rank from, Rank to) const;
  nanoseconds pass(nanoseconds now, const SimRoute& route, nanoseconds start, std::size_t bytes, nanoseconds behind);
  [[nodiscard]] double slowness(nanoseconds now, std::uint32_t link) const;
  [[nodiscard]] nanoseconds time_at(Rank rank, nanoseconds now, std::size_t bytes, const LogGP& cost) const;
  nanoseconds after_last(Rank from, Rank to, nanoseconds comes_in);

  const SimOptions& options_;
  Random& random_;
  std::vector<nanoseconds> out_free_;    ///< By rank: when the next message can leave.
  std::vector<nanoseconds> in_free_;     ///< By rank: when the next message can come in.
  std::vector<nanoseconds> links_free_;  ///< By link: when the next message can pass.
  const bool has_slow_interfaces_;
  /// Of each pair that has sent: when its last message comes in that no later one overtakes.
  std::unordered_map<std::uint64_t, nanoseconds> last_comes_in_;
};

}  // namespace plait::net::detail
