// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/comm/request.hpp"
#include "plait/particles/domain.hpp"
#include "plait/particles/particles.hpp"
#include "plait/particles/space.hpp"

namespace plait::particles {

/// How far a particle goes in one exchange.
enum class Travel : std::uint8_t {
  /// To the next part along each axis, and so to any neighbour, also over corners: two messages an axis at most. Who
  /// has to go farther arrives in the exchanges that follow.
  neighbors,
  /// All the way, from anywhere: a message to each other part along each axis. For the beginning.
  everywhere,
};

/// What exchanges took on one rank, since the beginning.
struct ExchangeCounts {
  std::uint64_t exchanges = 0;
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t particles = 0;  ///< That left this rank, counted at each hop.
};

/// Brings particles to the ranks of their domains, by messages along one axis after the other.
///
/// A particle goes along the first axis into its slab, there along the second into its column, then along the third; at
/// home it comes to stand behind those that stayed, which change their order. Also a particle far outside concerns
/// nobody but the ranks on its way. Threads: one at a time, but for the pieces of the search; the messages go on in
/// whichever makes progress.
class Exchange {
 public:
  /// All must stay. Messages go below `comm`, with tags from 0 on.
  Exchange(comm::Endpoint& messages,
           const Space& space,
           Particles& store,
           comm::CommId comm = comm::CommId{0x5000'0010});
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  Exchange(Exchange&&) = delete;
  Exchange& operator=(Exchange&&) = delete;
  ~Exchange();

  /// Finds who leaves: `begin_search`, then all `search_piece`s, which may run at the same time; `search` is all of it.
  /// Positions are wrapped into the periodic root box. The domain must stay as it is until the exchange ends.
  /// Throws: as `check_position`.
  void begin_search(const Domain& domain, std::uint32_t pieces);
  void search_piece(std::uint32_t piece);
  void search(const Domain& domain);

  /// Sends those who leave and receives those who come: collective, once after each search. The store must stay as it
  /// is, but may be read.
  [[nodiscard]] comm::Request move(Travel travel);
  /// Puts those who came where those were who left; after `move` is complete.
  void finish();

  /// This rank's particles that have come by the last exchange but are on their way still.
  [[nodiscard]] std::size_t passing() const noexcept;
  [[nodiscard]] const ExchangeCounts& counts() const noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Search, move everywhere, finish: waits. Collective. For the beginning of a run.
void exchange_everywhere(Exchange& exchange, const Domain& domain);

}  // namespace plait::particles
