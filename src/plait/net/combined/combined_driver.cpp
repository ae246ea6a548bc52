// SPDX-License-Identifier: Apache-2.0
#include "plait/net/combined/combined_driver.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/net/shared_copies.hpp"

namespace plait::net {
namespace {

constexpr std::size_t spare_max = 64;

[[noreturn]] void refuse(const char* why, Rank rank) {
  throw Error{ErrorCode::bad_argument, fmt::format("combined driver: rank {} {}", rank.value(), why), rank};
}

class CombinedDriver final : public Driver {
  struct Link;

  /// The copies of one part, whose ranks have other numbers.
  class PartCopies final : public SharedCopies {
   public:
    explicit PartCopies(const std::vector<Link>& links) : links_{links} {}

    void use(Driver& driver) { driver_ = &driver; }
    [[nodiscard]] bool exist() const noexcept { return driver_ != nullptr; }

    [[nodiscard]] std::size_t bytes_max() const noexcept override { return inner().bytes_max(); }
    [[nodiscard]] bool reaches(Rank peer) const noexcept override {
      const Link& link = links_[peer.value()];
      return link.part->driver.get() == driver_ && inner().reaches(link.rank);
    }
    [[nodiscard]] std::optional<Created> create(std::size_t bytes, std::uint32_t reader_count) override {
      return inner().create(bytes, reader_count);
    }
    [[nodiscard]] std::span<const std::byte> read(Rank owner, SharedCopyId id, std::size_t bytes) const override {
      return reaches(owner) ? inner().read(links_[owner.value()].rank, id, bytes) : std::span<const std::byte>{};
    }
    void release(Rank owner, SharedCopyId id) noexcept override { inner().release(links_[owner.value()].rank, id); }

   private:
    [[nodiscard]] SharedCopies& inner() const noexcept { return *driver_->shared_copies(); }

    const std::vector<Link>& links_;
    Driver* driver_ = nullptr;
  };

 public:
  CombinedDriver(Rank self, std::uint32_t rank_count, std::vector<CombinedPart> parts)
      : Driver{traits_of(self, rank_count, parts)}, links_(rank_count) {
    spare_.reserve(spare_max);
    parts_.reserve(parts.size());
    for (CombinedPart& given : parts) {
      Part& part = parts_.emplace_back(Part{std::move(given.driver), std::move(given.called)});
      for (const Rank rank : given.serves) {
        connect(part, rank);
      }
      if (!copies_.exist() && part.driver->shared_copies() != nullptr) {
        copies_.use(*part.driver);
      }
    }
    const auto lost = std::ranges::find(links_, nullptr, &Link::part);
    if (lost != links_.end()) {
      refuse("is served by no driver", Rank{static_cast<std::uint32_t>(lost - links_.begin())});
    }
  }

  [[nodiscard]] std::size_t bulk_in_flight_max(Rank peer) const noexcept override {
    const Link& link = links_[peer.value()];
    return link.part->driver->bulk_in_flight_max(link.rank);
  }

  [[nodiscard]] std::size_t copied_bytes_max(Rank peer) const noexcept override {
    const Link& link = links_[peer.value()];
    return link.part->driver->copied_bytes_max(link.rank);
  }

  [[nodiscard]] bool passes_network(Rank peer) const noexcept override {
    const Link& link = links_[peer.value()];
    return link.part->driver->passes_network(link.rank);
  }

  /// Those of the first part that has any: parts that share memory are one to a host.
  [[nodiscard]] SharedCopies* shared_copies() noexcept override { return copies_.exist() ? &copies_ : nullptr; }

  [[nodiscard]] Packet acquire() override {
    if (!spare_.empty()) {
      Packet packet = std::move(spare_.back());
      spare_.pop_back();
      return packet;
    }
    // Packets stay in the part that sent them; if one sends more than it receives, they must be returned from it.
    Part& richest = *std::ranges::max_element(parts_, {}, &Part::packets_lent);
    --richest.packets_lent;
    return richest.driver->acquire();
  }

  void recycle(Packet&& packet) noexcept override {
    if (!packet) {
      return;
    }
    if (spare_.size() < spare_max) {
      packet.resize(0);
      spare_.push_back(std::move(packet));  // capacity was reserved: does not throw
      return;
    }
    Part& poorest = *std::ranges::min_element(parts_, {}, &Part::packets_lent);
    ++poorest.packets_lent;
    poorest.driver->recycle(std::move(packet));
  }

  [[nodiscard]] Post send(Rank to, Packet&& packet) override {
    expect(to.value() < links_.size(), "a rank of this network");
    const Link& link = links_[to.value()];
    const Post post = ask(*link.part, [&](Driver& driver) { return driver.send(link.rank, std::move(packet)); });
    link.part->packets_lent += post == Post::retry ? 0 : 1;
    return post;
  }

  [[nodiscard]] Post send_copy(Rank to, std::span<const std::byte> head, std::span<const std::byte> data) override {
    expect(to.value() < links_.size(), "a rank of this network");
    const Link& link = links_[to.value()];
    return ask(*link.part, [&](Driver& driver) { return driver.send_copy(link.rank, head, data); });
  }

  [[nodiscard]] Post send_bulk(const BulkSend& bulk) override {
    expect(bulk.to.value() < links_.size(), "a rank of this network");
    const Link& link = links_[bulk.to.value()];
    return ask(*link.part,
               [&](Driver& driver) { return driver.send_bulk({link.rank, bulk.slot, bulk.data, bulk.cookie}); });
  }

  [[nodiscard]] Post receive_bulk(const BulkReceive& bulk) override {
    expect(bulk.from.value() < links_.size(), "a rank of this network");
    const Link& link = links_[bulk.from.value()];
    return ask(*link.part,
               [&](Driver& driver) { return driver.receive_bulk({link.rank, bulk.slot, bulk.buffer, bulk.cookie}); });
  }

  [[nodiscard]] Polled poll(std::span<Arrival> arrivals, std::span<BulkDone> bulk) override {
    Polled polled;
    for (std::size_t polls = 0; polls < parts_.size(); ++polls) {
      const std::size_t index = first_ + polls;
      poll_part(parts_[index < parts_.size() ? index : index - parts_.size()], polled, arrivals, bulk);
    }
    first_ = first_ + 1 < parts_.size() ? first_ + 1 : 0;
    return polled;
  }

  /// On the first part with peers that can wake this rank, while the others are polled after each sleep.
  [[nodiscard]] bool announce_rest() override {
    const auto found = std::ranges::find_if(
        parts_, [](const Part& part) { return part.called.size() > 1 && part.driver->announce_rest(); });
    sleeper_.store(found != parts_.end() ? found->driver.get() : nullptr, std::memory_order_release);  // with rest()
    return found != parts_.end();
  }
  void rest(nanoseconds longest) override {
    if (Driver* const driver = sleeper_.load(std::memory_order_acquire)) {  // with announce_rest()
      driver->rest(longest);
    }
  }
  void wake() noexcept override {
    if (Driver* const driver = sleeper_.load(std::memory_order_acquire)) {  // with announce_rest()
      driver->wake();
    }
  }

  [[nodiscard]] bool is_idle() const noexcept override {
    return std::ranges::all_of(parts_, [](const Part& part) { return part.driver->is_idle(); });
  }

  [[nodiscard]] bool is_busy(Rank to) const noexcept override {
    const Link& link = links_[to.value()];
    return link.part->driver->is_busy(link.rank);
  }

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

  /// Drops the parts without peers, and combines the traits of the others.
  static DriverTraits traits_of(Rank self, std::uint32_t rank_count, std::vector<CombinedPart>& parts) {
    if (self.value() >= rank_count) {
      refuse("is not below the number of ranks", self);
    }
    std::erase_if(parts, [](const CombinedPart& part) { return part.serves.empty(); });
    DriverTraits all{.self = self,
                     .rank_count = rank_count,
                     .packet_bytes_max = std::numeric_limits<std::size_t>::max(),
                     .packets_in_flight_max = std::numeric_limits<std::uint32_t>::max(),
                     .bulk_slot_count = std::numeric_limits<std::uint32_t>::max(),
                     .clock = parts.empty() ? nullptr : &parts.front().driver->clock()};
    for (const CombinedPart& part : parts) {
      const DriverTraits& one = part.driver->traits();
      all.packet_bytes_max = std::min(all.packet_bytes_max, one.packet_bytes_max);
      all.packets_in_flight_max = std::min(all.packets_in_flight_max, one.packets_in_flight_max);
      all.bulk_slot_count = std::min(all.bulk_slot_count, one.bulk_slot_count);
      all.name += (all.name.empty() ? "" : " + ") + one.name;
    }
    return all;
  }

  void connect(Part& part, Rank rank) {
    const auto own = std::ranges::find(part.called, rank);
    if (rank.value() >= links_.size() || own == part.called.end()) {
      refuse("is not known to the driver that is to serve it", rank);
    }
    Link& link = links_[rank.value()];
    if (link.part != nullptr) {
      refuse("is served by two drivers", rank);
    }
    link = {&part, Rank{static_cast<std::uint32_t>(own - part.called.begin())}};
  }

  /// Returns the result of `call`; its errors name the peer as the whole network does.
  template <class Call>
  std::invoke_result_t<const Call&, Driver&> ask(Part& part, const Call& call) {
    try {
      return call(*part.driver);
    } catch (const Error& error) {
      if (!error.rank() || error.rank().value() >= part.called.size()) {
        throw;
      }
      throw Error{error.code(), error.what(), part.called[error.rank().value()]};
    }
  }

  void poll_part(Part& part, Polled& polled, std::span<Arrival> arrivals, std::span<BulkDone> bulk) {
    const std::span<Arrival> room = arrivals.subspan(polled.arrivals);
    const Polled now = ask(part, [&](Driver& driver) { return driver.poll(room, bulk.subspan(polled.bulk)); });
    for (Arrival& arrival : room.first(now.arrivals)) {
      arrival.peer = part.called[arrival.peer.value()];
      part.packets_lent -= arrival.packet ? 1 : 0;
    }
    polled.arrivals += now.arrivals;
    polled.bulk += now.bulk;
  }

  std::vector<Part> parts_;  ///< Those with peers; never changed, so that links can point to them.
  std::vector<Link> links_;  ///< By rank.
  PartCopies copies_{links_};
  std::size_t first_ = 0;  ///< The part that is polled first next time.
  std::vector<Packet> spare_;
  std::atomic<Driver*> sleeper_ = nullptr;  ///< The part in whose `rest` this rank sleeps.
};

}  // namespace

std::unique_ptr<Driver> make_combined_driver(Rank self, std::uint32_t rank_count, std::vector<CombinedPart> parts) {
  return std::make_unique<CombinedDriver>(self, rank_count, std::move(parts));
}

}  // namespace plait::net
