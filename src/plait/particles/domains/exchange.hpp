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

/// The distance that a particle travels in one exchange.
enum class Travel : std::uint8_t {
  /// To the adjacent part along each axis, and so to any neighbour: at most two messages an axis. A particle with a
  /// farther owner arrives after several exchanges. In a shearing box, to any part along y in the first and the last
  /// slab along x, as the displacement of images may be any.
  neighbors,
  /// To its owner, from anywhere: a message to each other part along each axis. For the start of a run.
  everywhere,
};

/// The cost of exchanges on one rank, since the start.
struct ExchangeCounts {
  std::uint64_t exchanges = 0;
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};

/// Sends particles to their owners, along one axis after the other (see `Domain`). Changes the order of all particles.
///
/// Threads: one at a time, except for the pieces of the search; messages advance in any thread that makes progress.
class ParticleExchange {
 public:
  /// Borrows all arguments. All ranks create their exchanges in the same order.
  ParticleExchange(comm::Endpoint& messages, const Space& space, Particles& store);
  ParticleExchange(const ParticleExchange&) = delete;
  ParticleExchange& operator=(const ParticleExchange&) = delete;
  ~ParticleExchange() = default;

  /// Finds the particles that leave. `begin_search` and `search_piece` for all pieces, which may run concurrently, are
  /// equivalent to `search`. Wraps particles into the periodic root box (`Space::wrap`). The domain must not change
  /// until `finish`.
  /// Throws: as `check_position`.
  void begin_search(const Domain& domain, std::uint32_t pieces);
  void search_piece(std::uint32_t piece);
  void search(const Domain& domain);

  /// Sends the particles that leave and receives those that arrive. Collective, once after each search. Until it is
  /// complete, the store must not change.
  [[nodiscard]] comm::Request move(Travel travel);
  /// Removes the particles that left, and adds those that arrived. Expects: `move` is complete.
  void finish();

  [[nodiscard]] comm::Endpoint& endpoint() const noexcept { return endpoint_; }
  [[nodiscard]] const ExchangeCounts& counts() const noexcept { return counts_; }

 private:
  using Index = Particles::Index;
  struct Leaver {
    Index place = 0;
    Hop hop;
  };
  /// The messages with a rank that differs in the part along one axis.
  struct Partner {
    Rank rank;
    std::uint32_t part = 0;
    std::vector<Index> places;  ///< Of particles that leave.
    Bytes leaving;
    Bytes arriving;
  };

  comm::AsyncOperation run();
  void sort_out(const Partner& partner, std::uint8_t axis);
  [[nodiscard]] bool goes_anywhere(std::size_t axis) const;
  [[nodiscard]] Partner& partner_towards(const Hop& hop);

  comm::Endpoint& endpoint_;
  const Space& space_;
  Particles& store_;
  const comm::ClaimedComms comms_;
  const Domain* domain_ = nullptr;
  Travel travel_ = Travel::neighbors;
  std::vector<std::vector<Leaver>> found_;        ///< By piece.
  std::vector<Index> leavers_;                    ///< Ascending.
  std::array<std::vector<Partner>, 3> partners_;  ///< By axis.
  Bytes staying_;                                 ///< Rows that have arrived at their owner.
  ExchangeCounts counts_;
};

}  // namespace plait::particles
