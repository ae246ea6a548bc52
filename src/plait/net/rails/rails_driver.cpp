// SPDX-License-Identifier: Apache-2.0
#include "plait/net/rails/rails_driver.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plait/base/error.hpp"
#include "plait/net/detail/driver_parts.hpp"
#include "plait/net/rails/detail/rates.hpp"

namespace plait::net {
namespace {

using detail::rails::Division;
using detail::rails::Rates;

/// The rail of packets, and that of the driver's own ones.
constexpr std::size_t packet_rail = 0;
constexpr std::size_t division_rail = 1;
/// Events of one rail that a poll takes.
constexpr std::size_t events_per_poll = 16;

/// What a receiver sends to the sender for each transfer.
struct DivisionPacket {
  std::uint64_t slot;
  Division parts;
};
static_assert(std::is_trivially_copyable_v<DivisionPacket> && sizeof(DivisionPacket) <= 1024, "fits every packet");

/// A transfer whose parts are on the rails.
struct Transfer {
  std::uint64_t cookie = 0;
  std::size_t parts_left = 0;  ///< Not complete.
  // Of what is received only:
  Rank from;
  BulkSlot slot;
  Division parts{};
  nanoseconds posted{0};
};

/// Transfers by number. A number is used again once its transfer has ended.
class Transfers {
 public:
  [[nodiscard]] std::uint32_t add(const Transfer& transfer) {
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(all_.size()));
      all_.emplace_back();
    }
    const std::uint32_t number = free_.back();
    free_.pop_back();
    all_[number] = transfer;
    return number;
  }
  void remove(std::uint64_t number) { free_.push_back(static_cast<std::uint32_t>(number)); }
  [[nodiscard]] Transfer& operator[](std::uint64_t number) { return all_[number]; }
  [[nodiscard]] bool is_empty() const noexcept { return free_.size() == all_.size(); }

 private:
  std::vector<Transfer> all_;
  std::vector<std::uint32_t> free_;
};

/// A part of a transfer that its rail has refused.
template <class Bulk>
struct Refused {
  std::size_t rail = 0;
  Bulk bulk;
};

class RailsDriver final : public Driver {
 public:
  RailsDriver(std::vector<Rail> rails, const RailsOptions& options)
      : Driver{traits_of(rails)}, rails_{std::move(rails)}, divided_bytes_min_{options.divided_bytes_min} {
    for (const Rail& rail : rails_) {
      assumed_rates_.push_back(rail.rate);
    }
  }

  [[nodiscard]] std::size_t bulk_in_flight_max(Rank peer) const noexcept override {
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    std::size_t sum = 0;
    for (const Rail& rail : rails_) {
      const std::size_t one = rail.driver->bulk_in_flight_max(peer);
      sum = one > most - sum ? most : sum + one;
    }
    return sum;
  }
  [[nodiscard]] std::size_t copied_bytes_max(Rank peer) const noexcept override {
    return rails_[packet_rail].driver->copied_bytes_max(peer);
  }
  [[nodiscard]] bool passes_network(Rank peer) const noexcept override {
    return rails_[packet_rail].driver->passes_network(peer);
  }

  [[nodiscard]] Packet acquire() override { return rails_[packet_rail].driver->acquire(); }
  void recycle(Packet&& packet) noexcept override { rails_[packet_rail].driver->recycle(std::move(packet)); }

  [[nodiscard]] Post send(Rank to, Packet&& packet) override {
    return ask(packet_rail, [&](Driver& driver) { return driver.send(to, std::move(packet)); });
  }
  [[nodiscard]] Post send_copy(Rank to, std::span<const std::byte> head, std::span<const std::byte> data) override {
    return ask(packet_rail, [&](Driver& driver) { return driver.send_copy(to, head, data); });
  }

  [[nodiscard]] Post send_bulk(const BulkSend& bulk) override {
    detail::expect_valid(*this, bulk);
    if (!refused_sends_.empty()) {
      return Post::retry;
    }
    if (bulk.to == self()) {
      return post_own(sends_, bulk);
    }
    const auto known = divisions_.find({bulk.to, bulk.slot});
    if (known == divisions_.end()) {
      const bool is_new = undivided_.try_emplace({bulk.to, bulk.slot}, bulk).second;
      expect(is_new, "a slot serves one transfer at a time");
      return Post::posted;
    }
    const Division parts = known->second;
    divisions_.erase(known);
    send_parts(bulk, parts);
    return Post::posted;
  }

  [[nodiscard]] Post receive_bulk(const BulkReceive& bulk) override {
    detail::expect_valid(*this, bulk);
    if (!refused_receives_.empty() || !unsent_divisions_.empty()) {
      return Post::retry;
    }
    if (bulk.from == self()) {
      return post_own(receives_, bulk);
    }
    Rates& rates = rates_of(bulk.from);
    const std::size_t bytes = bulk.buffer.size();
    const Division parts = bytes < divided_bytes_min_ ? rates.give_to_one(bytes) : rates.divide(bytes);
    const std::uint32_t number =
        receives_.add({bulk.cookie, parts_in(parts), bulk.from, bulk.slot, parts, clock().now()});
    std::size_t offset = 0;
    for (std::size_t rail = 0; rail < rails_.size(); offset += parts[rail], ++rail) {
      if (parts[rail] > 0) {
        post_or_keep(refused_receives_,
                     {rail, {bulk.from, bulk.slot, bulk.buffer.subspan(offset, parts[rail]), number}});
      }
    }
    unsent_divisions_.push_back(number);
    send_divisions();
    return Post::posted;
  }

  [[nodiscard]] Polled poll(std::span<Arrival> arrivals, std::span<BulkDone> bulk) override {
    Polled polled{.arrivals = poll_rail(packet_rail, arrivals)};
    for (std::size_t rail = division_rail; rail < rails_.size(); ++rail) {
      std::array<Arrival, events_per_poll> own;
      for (Arrival& arrival : std::span{own}.first(poll_rail(rail, own))) {
        take_division(arrival);
        rails_[rail].driver->recycle(std::move(arrival.packet));
      }
    }
    post_refused();
    polled.bulk = detail::take(done_, next_done_, bulk);
    return polled;
  }

  [[nodiscard]] bool is_full() const noexcept override { return rails_[packet_rail].driver->is_full(); }
  [[nodiscard]] bool is_idle() const noexcept override {
    return sends_.is_empty() && undivided_.empty() && unsent_divisions_.empty() &&
           std::ranges::all_of(rails_, [](const Rail& rail) { return rail.driver->is_idle(); });
  }
  [[nodiscard]] bool is_busy(Rank to) const noexcept override { return rails_[packet_rail].driver->is_busy(to); }

 private:
  /// The peer, and the receiver's slot.
  using Place = std::pair<Rank, BulkSlot>;

  static DriverTraits traits_of(const std::vector<Rail>& rails) {
    require(rails.size() >= 2 && rails.size() <= rails_max, "rails driver: it needs 2 to 8 rails");
    const Driver& first = *rails.front().driver;
    DriverTraits all = first.traits();
    std::vector<std::string> names;
    for (const Rail& rail : rails) {
      const Driver& driver = *rail.driver;
      if (driver.self() != first.self() || driver.rank_count() != first.rank_count() || !(rail.rate > 0)) {
        throw Error{ErrorCode::bad_argument,
                    fmt::format("rails driver: rail {} is rank {} of {} with rate {}; rail {} is rank {} of {}. All "
                                "rails need the same ranks, and a positive rate",
                                rail.name,
                                driver.self().value(),
                                driver.rank_count(),
                                rail.rate,
                                rails.front().name,
                                first.self().value(),
                                first.rank_count())};
      }
      all.bulk_slot_count = std::min(all.bulk_slot_count, driver.bulk_slot_count());
      names.push_back(fmt::format("{}: {}", rail.name, driver.name()));
    }
    all.clock = &first.clock();
    all.name = fmt::format("{} rails ({})", rails.size(), fmt::join(names, ", "));
    return all;
  }

  /// Returns the result of `call`; its errors name the rail.
  template <class Call>
  std::invoke_result_t<const Call&, Driver&> ask(std::size_t rail, const Call& call) {
    try {
      return call(*rails_[rail].driver);
    } catch (const Error& error) {
      throw Error{error.code(), fmt::format("rail {}: {}", rails_[rail].name, error.what()), error.rank()};
    }
  }

  [[nodiscard]] Post post(std::size_t rail, const BulkSend& bulk) {
    return ask(rail, [&](Driver& driver) { return driver.send_bulk(bulk); });
  }
  [[nodiscard]] Post post(std::size_t rail, const BulkReceive& bulk) {
    return ask(rail, [&](Driver& driver) { return driver.receive_bulk(bulk); });
  }

  template <class Bulk>
  void post_or_keep(std::vector<Refused<Bulk>>& refused, const Refused<Bulk>& part) {
    if (post(part.rail, part.bulk) == Post::retry) {
      refused.push_back(part);
    }
  }

  /// Data of this rank to itself.
  template <class Bulk>
  [[nodiscard]] Post post_own(Transfers& transfers, Bulk bulk) {
    const std::uint32_t number = transfers.add({.cookie = bulk.cookie, .parts_left = 1, .from = self()});
    bulk.cookie = number;
    const Post posted = post(packet_rail, bulk);
    if (posted == Post::retry) {
      transfers.remove(number);
    }
    return posted;
  }

  void send_parts(const BulkSend& bulk, const Division& parts) {
    if (std::accumulate(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(rails_.size()), std::uint64_t{0}) !=
        bulk.data.size()) {
      throw Error{
          ErrorCode::network,
          fmt::format("rank {} divides {} bytes that this rank sends into {}: do all ranks have the same rails?",
                      bulk.to.value(),
                      bulk.data.size(),
                      fmt::join(std::span{parts}.first(rails_.size()), " + ")),
          bulk.to};
    }
    const std::uint32_t number = sends_.add({.cookie = bulk.cookie, .parts_left = parts_in(parts)});
    std::size_t offset = 0;
    for (std::size_t rail = 0; rail < rails_.size(); offset += parts[rail], ++rail) {
      if (parts[rail] > 0) {
        post_or_keep(refused_sends_, {rail, {bulk.to, bulk.slot, bulk.data.subspan(offset, parts[rail]), number}});
      }
    }
  }

  /// Sends divisions in the order of their receives, once their parts are posted.
  void send_divisions() {
    while (!unsent_divisions_.empty() && refused_receives_.empty()) {
      const Transfer& transfer = receives_[unsent_divisions_.front()];
      const DivisionPacket packet{transfer.slot.value(), transfer.parts};
      const Post sent = ask(division_rail, [&](Driver& driver) {
        return driver.send_copy(transfer.from, std::as_bytes(std::span{&packet, 1}), {});
      });
      if (sent == Post::retry) {
        return;
      }
      unsent_divisions_.pop_front();
    }
  }

  void post_refused() {
    const auto is_posted = [this](const auto& part) { return post(part.rail, part.bulk) != Post::retry; };
    std::erase_if(refused_receives_, is_posted);
    std::erase_if(refused_sends_, is_posted);
    send_divisions();
  }

  /// Polls one rail, and notes the parts that are complete. Returns the number of arrivals.
  std::size_t poll_rail(std::size_t rail, std::span<Arrival> arrivals) {
    std::array<BulkDone, events_per_poll> done;
    const Polled polled = ask(rail, [&](Driver& driver) { return driver.poll(arrivals, done); });
    for (const BulkDone& part : std::span{done}.first(polled.bulk)) {
      note_part(rail, part);
    }
    return polled.arrivals;
  }

  void note_part(std::size_t rail, const BulkDone& part) {
    const bool is_received = part.direction == TransferDirection::received;
    Transfers& transfers = is_received ? receives_ : sends_;
    Transfer& transfer = transfers[part.cookie];
    if (is_received && transfer.from != self()) {
      rates_of(transfer.from).note_arrival(rail, transfer.parts[rail], transfer.posted, clock().now());
    }
    if (--transfer.parts_left == 0) {
      done_.push_back({part.direction, transfer.cookie});
      transfers.remove(part.cookie);
    }
  }

  void take_division(const Arrival& arrival) {
    const std::span<const std::byte> bytes = arrival.bytes();
    DivisionPacket packet{};
    if (bytes.size() != sizeof packet) {
      throw Error{ErrorCode::network,
                  fmt::format("rank {} sends packets where this rank has a second rail: do all ranks have the same "
                              "rails, in the same order?",
                              arrival.peer.value()),
                  arrival.peer};
    }
    std::memcpy(&packet, bytes.data(), sizeof packet);
    const Place place{arrival.peer, BulkSlot{static_cast<std::uint32_t>(packet.slot)}};
    const auto send = undivided_.find(place);
    if (send == undivided_.end()) {
      divisions_[place] = packet.parts;
      return;
    }
    const BulkSend bulk = send->second;
    undivided_.erase(send);
    send_parts(bulk, packet.parts);
  }

  [[nodiscard]] Rates& rates_of(Rank peer) { return rates_.try_emplace(peer, assumed_rates_).first->second; }

  [[nodiscard]] static std::size_t parts_in(const Division& parts) {
    return parts.size() - static_cast<std::size_t>(std::ranges::count(parts, 0U));
  }

  std::vector<Rail> rails_;
  std::size_t divided_bytes_min_;
  std::vector<double> assumed_rates_;
  std::map<Rank, Rates> rates_;  ///< Of the peers from which data has come.
  Transfers sends_;
  Transfers receives_;
  std::map<Place, BulkSend> undivided_;         ///< Sends whose division has not come.
  std::map<Place, Division> divisions_;         ///< Those that came before their send was posted.
  std::deque<std::uint32_t> unsent_divisions_;  ///< Numbers of receives.
  std::vector<Refused<BulkSend>> refused_sends_;
  std::vector<Refused<BulkReceive>> refused_receives_;
  std::vector<BulkDone> done_;
  std::size_t next_done_ = 0;
};

}  // namespace

std::unique_ptr<Driver> make_rails_driver(std::vector<Rail> rails, const RailsOptions& options) {
  return std::make_unique<RailsDriver>(std::move(rails), options);
}

}  // namespace plait::net
