// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/comm/coroutine.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/comm/request.hpp"
#include "plait/particles/domains/domain.hpp"
#include "plait/particles/store/particles.hpp"
#include "plait/particles/store/space.hpp"

namespace plait::particles {

/// How far a particle goes in one exchange.
enum class Travel : std::uint8_t {
  /// To the next part along each axis, and so to any neighbour, also over corners: two messages an axis at most. A
  /// particle that has to go farther arrives in later exchanges.
  neighbors,
  /// All the way, from anywhere: a message to each other part along each axis. For the start.
  everywhere,
};

/// What exchanges took on one rank, since the beginning.
struct ExchangeCounts {
  std::uint64_t exchanges = 0;
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};

/// Sends particles to their owners, along one axis after the other.
///
/// A particle goes along the first axis to its slab, there along the second to its column, then along the third. Its
/// owner stores it behind those that stayed, which change their order. Only ranks on its way handle a particle.
/// Threads: one at a time, but for the pieces of the search; messages advance in any thread that makes progress.
class ParticleExchange {
 public:
  /// Borrows all. All ranks create their exchanges in the same order.
  ParticleExchange(comm::Endpoint& messages, const Space& space, Particles& store);
  ParticleExchange(const ParticleExchange&) = delete;
  ParticleExchange& operator=(const ParticleExchange&) = delete;
  ~ParticleExchange() = default;

  /// Finds the particles that leave: `begin_search`, then all `search_piece`s, which may run at the same time; `search`
  /// does both. Wraps positions into the periodic root box. The domain must not change until the exchange ends.
  /// Throws: as `check_position`.
  void begin_search(const Domain& domain, std::uint32_t pieces);
  void search_piece(std::uint32_t piece);
  void search(const Domain& domain);

  /// Sends the particles that leave and receives those that arrive: collective, once after each search. The store may
  /// be read, but not changed.
  [[nodiscard]] comm::Request move(Travel travel);
  /// Puts the arrived particles in the places of those that left; after `move` is complete.
  void finish();

  [[nodiscard]] comm::Endpoint& endpoint() const noexcept { return endpoint_; }
  [[nodiscard]] const ExchangeCounts& counts() const noexcept { return counts_; }

 private:
  using Index = Particles::Index;
  struct Leaver {
    Index place = 0;
    Hop hop;
  };
  /// What is exchanged with the rank that differs in the part along one axis.
  struct Partner {
    Rank rank;
    std::uint32_t part = 0;
    Bytes leaving;
    Bytes arriving;
  };

  comm::AsyncOperation run();
  void choose_partners(Travel travel);
  void pack_leavers();
  void sort_out(const Partner& partner, std::uint8_t axis);
  [[nodiscard]] Partner& partner_towards(const Hop& hop);

  comm::Endpoint& endpoint_;
  const Space space_;
  Particles& store_;
  const comm::ClaimedComms comms_;
  const Domain* domain_ = nullptr;
  Travel travel_ = Travel::neighbors;
  std::vector<std::vector<Leaver>> found_;        ///< By piece.
  std::vector<Index> leavers_;                    ///< Ascending.
  std::array<std::vector<Partner>, 3> partners_;  ///< By axis.
  Bytes staying_;                                 ///< Rows that have come and go no further.
  ExchangeCounts counts_;
};

/// Search, move everywhere, finish: waits. Collective. For the start of a run.
void exchange_everywhere(ParticleExchange& exchange, const Domain& domain);

}  // namespace plait::particles
