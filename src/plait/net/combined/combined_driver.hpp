// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "plait/base/id.hpp"
#include "plait/net/driver.hpp"

namespace plait::net {

/// A driver that serves some of the peers.
struct CombinedPart {
  std::unique_ptr<Driver> driver;
  /// By the driver's own rank: that rank's number in the whole network.
  std::vector<Rank> called;
  /// The peers that it serves, by their numbers in the whole network. It may know more ranks than these.
  std::vector<Rank> serves;
};

/// One network of several drivers: each peer, this rank included, is served by one of them.
///
/// Packets are as large as the smallest of the parts', slots as many as the fewest; a peer's slots are those of its
/// part, so no two transfers meet. A part without peers is never polled. A packet that arrived
/// through one part may be sent through another. So all parts should have packets of one size; those of another size
/// work, but are freed and allocated again.
///
/// The caller ensures that both ends of a pair are served by the same network.
/// Threads: one at a time. Throws: what the parts throw, with the rank as it is called in the whole network.
class CombinedDriver final : public Driver {
 public:
  /// `rank_count` is that of the whole network. Throws: `Error` with `bad_argument` when a rank is served by none or by
  /// two, or by a driver that does not know it.
  CombinedDriver(Rank self, std::uint32_t rank_count, std::vector<CombinedPart> parts);

  [[nodiscard]] std::size_t bulk_in_flight_max(Rank peer) const noexcept override {
    const Link& link = links_[peer.value()];
    return link.part->driver->bulk_in_flight_max(link.rank);
  }

  [[nodiscard]] Packet acquire() override;
  void recycle(Packet&& packet) noexcept override;
  [[nodiscard]] Post send(Rank to, Packet&& packet) override;
  [[nodiscard]] Post send_bulk(const BulkSend& bulk) override;
  [[nodiscard]] Post receive_bulk(const BulkReceive& bulk) override;
  /// Cost: polls each part that has peers, a different one first each time.
  [[nodiscard]] Polled poll(std::span<Arrival> arrivals, std::span<BulkDone> bulk) override;
  [[nodiscard]] bool is_idle() const noexcept override;
  [[nodiscard]] bool is_busy(Rank to) const noexcept override;

 private:
  struct Part {
    std::unique_ptr<Driver> driver;
    std::vector<Rank> called;
    /// Packets given to this part and not returned yet: what its pool holds beyond its own.
    std::int64_t packets_lent = 0;
  };
  /// The part that serves a peer, and its rank there.
  struct Link {
    Part* part = nullptr;
    Rank rank;
  };

  static DriverTraits traits_of(Rank self, std::uint32_t rank_count, std::vector<CombinedPart>& parts);
  void connect(Part& part, Rank rank);
  template <class Call>
  auto ask(Part& part, const Call& call);
  void poll_part(Part& part, Polled& polled, std::span<Arrival> arrivals, std::span<BulkDone> bulk);

  std::vector<Part> parts_;  ///< Those with peers; never changed, so that links can point to them.
  std::vector<Link> links_;  ///< By rank.
  std::size_t first_ = 0;    ///< The part that is polled first next time.
  std::vector<Packet> spare_;
};

}  // namespace plait::net
