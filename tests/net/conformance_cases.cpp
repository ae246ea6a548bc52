// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <optional>

#include <gtest/gtest.h>

#include "plait/base/random.hpp"
#include "plait/net/shared_copies.hpp"

#include "net/conformance.hpp"

namespace plait::net::conformance {
namespace {

using Bytes = std::vector<std::byte>;

/// Bytes that depend on their sender and their message.
Bytes pattern(std::uint32_t from, std::uint64_t number, std::size_t size) {
  Bytes bytes(size);
  Random random{(std::uint64_t{from} << 40U) + number};
  for (std::size_t i = 0; i < size; i += sizeof(std::uint64_t)) {
    const std::uint64_t word = random();
    std::memcpy(bytes.data() + i, &word, std::min(sizeof word, size - i));
  }
  return bytes;
}

bool equal(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0;
}

std::uint64_t number_in(const Arrival& arrival) {
  std::uint64_t number = 0;
  EXPECT_EQ(arrival.packet.size(), sizeof number);
  std::memcpy(&number, arrival.packet.data(), std::min(sizeof number, arrival.packet.size()));
  return number;
}

/// All small sizes, those around powers of two, some of the others, and all close to `size_max`.
std::vector<std::size_t> packet_sizes(std::size_t size_max) {
  std::vector<std::size_t> sizes;
  for (std::size_t size = 1; size <= size_max; ++size) {
    const std::size_t power = std::bit_floor(size + 1);
    const bool is_near_power = size + 1 >= power && size <= power + 1;
    if (size <= 160 || is_near_power || size % 61 == 0 || size + 16 > size_max) {
      sizes.push_back(size);
    }
  }
  return sizes;
}

/// The next arrival, its packet given back at the end of scope.
class Taken {
 public:
  explicit Taken(Player& player) : player_{player}, arrival_{std::move(player.arrivals.front())} {
    player.arrivals.pop_front();
  }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;
  ~Taken() { player_.driver().recycle(std::move(arrival_.packet)); }

  const Arrival& operator*() const { return arrival_; }
  const Arrival* operator->() const { return &arrival_; }

 private:
  Player& player_;
  Arrival arrival_;
};

// --- packets --------------------------------------------------------------------------------------

Part tells_who_it_is(Player& player, const Terms&) {
  Driver& driver = player.driver();
  EXPECT_LT(driver.self().value(), driver.rank_count());
  EXPECT_GE(driver.packet_bytes_max(), 1024U);
  EXPECT_GE(driver.packets_in_flight_max(), 1U);
  EXPECT_GE(driver.bulk_slot_count(), 1U);
  EXPECT_NE(std::string{driver.name()}, "");
  EXPECT_TRUE(driver.is_idle());
  Packet packet = driver.acquire();
  EXPECT_EQ(packet.size(), 0U);
  EXPECT_GE(packet.capacity(), driver.packet_bytes_max());
  driver.recycle(std::move(packet));
  co_return;
}

Part keeps_the_order_of_each_pair(Player& player, const Terms& terms) {
  constexpr std::uint64_t count = 100;
  const std::uint32_t rank_count = player.rank_count();
  for (std::uint64_t number = 0; number < count; ++number) {
    for (std::uint32_t to = 0; to < rank_count; ++to) {
      co_await until([&] { return player.send_number(Rank{to}, number); });
    }
  }
  std::map<Rank, std::vector<std::uint64_t>> received;
  for (std::uint64_t total = 0; total < count * rank_count; ++total) {
    co_await until([&] { return !player.arrivals.empty(); });
    const Taken arrival{player};
    received[arrival->peer].push_back(number_in(*arrival));
  }
  EXPECT_EQ(received.size(), rank_count);
  for (auto& [peer, numbers] : received) {
    EXPECT_EQ(numbers.size(), count);
    if (terms.keeps_order) {
      EXPECT_TRUE(std::ranges::is_sorted(numbers)) << "from rank " << peer.value();
    }
    std::ranges::sort(numbers);
    EXPECT_EQ(std::ranges::adjacent_find(numbers), numbers.end()) << "a packet came twice";
  }
}

Part brings_packets_of_any_size_unchanged(Player& player, const Terms&) {
  const std::vector<std::size_t> to_send = packet_sizes(player.driver().copied_bytes_max(player.next()));
  const std::vector<std::size_t> to_receive = packet_sizes(player.driver().copied_bytes_max(player.previous()));
  const std::uint32_t from = player.previous().value();
  std::map<std::size_t, int> came;
  const auto take_all = [&] {
    while (!player.arrivals.empty()) {
      const Taken arrival{player};
      const std::size_t size = arrival->packet.size();
      EXPECT_EQ(arrival->peer, player.previous());
      EXPECT_EQ(++came[size], 1) << size << " bytes came again";
      EXPECT_TRUE(equal(arrival->packet.bytes(), pattern(from, size, size))) << size << " bytes";
    }
  };
  for (const std::size_t size : to_send) {
    const Bytes bytes = pattern(player.rank(), size, size);
    co_await until([&] { return player.send(player.next(), bytes); });
    take_all();
  }
  while (came.size() < to_receive.size()) {
    co_await until([&] { return !player.arrivals.empty(); });
    take_all();
  }
}

Part brings_packets_to_itself(Player& player, const Terms&) {
  constexpr std::uint64_t count = 50;
  for (std::uint64_t number = 0; number < count; ++number) {
    co_await until([&] { return player.send_number(player.driver().self(), number); });
  }
  std::uint64_t sum = 0;
  for (std::uint64_t taken = 0; taken < count; ++taken) {
    co_await until([&] { return !player.arrivals.empty(); });
    const Taken arrival{player};
    EXPECT_EQ(arrival->peer, player.driver().self());
    sum += number_in(*arrival);
  }
  EXPECT_EQ(sum, count * (count - 1) / 2);
}

Part leaves_a_refused_packet_untouched(Player& player, const Terms&) {
  // No rank polls in this loop: sooner or later a bounded queue is full.
  constexpr std::uint64_t count = 1500;
  const std::size_t size = player.driver().packet_bytes_max() / 2;
  std::uint64_t sent = 0;
  for (; sent < count; ++sent) {
    const Bytes bytes = pattern(player.rank(), sent, size);
    Packet packet = player.driver().acquire();
    packet.resize(size);
    std::ranges::copy(bytes, packet.data());
    const std::byte* place = packet.data();
    if (player.driver().send(player.next(), std::move(packet)) == Post::retry) {
      EXPECT_EQ(packet.data(), place);  // NOLINT(bugprone-use-after-move): refused, so still here
      EXPECT_TRUE(equal(packet.bytes(), bytes));
      player.driver().recycle(std::move(packet));
      break;
    }
  }
  std::uint64_t received = 0;
  const auto take_all = [&] {
    while (!player.arrivals.empty()) {
      const Taken arrival{player};
      EXPECT_EQ(arrival->packet.size(), size);
      ++received;
    }
  };
  for (; sent < count; ++sent) {
    const Bytes bytes = pattern(player.rank(), sent, size);
    co_await until([&] { return player.send(player.next(), bytes); });
    take_all();
  }
  while (received < count) {
    co_await until([&] { return !player.arrivals.empty(); });
    take_all();
  }
}

Part survives_a_flood_from_all_to_all(Player& player, const Terms&) {
  constexpr std::uint64_t count = 400;
  const std::uint32_t rank_count = player.rank_count();
  std::uint64_t received = 0;
  std::uint64_t sum = 0;
  const auto take_all = [&] {
    for (; !player.arrivals.empty(); ++received) {
      const Taken arrival{player};
      sum += number_in(*arrival);
    }
  };
  for (std::uint64_t number = 0; number < count; ++number) {
    for (std::uint32_t shift = 0; shift < rank_count; ++shift) {
      const Rank to{(player.rank() + shift) % rank_count};
      co_await until([&] { return player.send_number(to, number); });
      take_all();
    }
  }
  while (received < count * rank_count) {
    co_await until([&] { return !player.arrivals.empty(); });
    take_all();
  }
  EXPECT_EQ(sum, rank_count * count * (count - 1) / 2);
}

Part serves_many_senders_to_one(Player& player, const Terms&) {
  constexpr std::uint64_t count = 300;
  const Rank root{0};
  for (std::uint64_t number = 0; number < count; ++number) {
    co_await until([&] { return player.send_number(root, number); });
  }
  if (player.driver().self() != root) {
    co_return;
  }
  std::map<Rank, std::uint64_t> sums;
  for (std::uint64_t total = 0; total < count * player.rank_count(); ++total) {
    co_await until([&] { return !player.arrivals.empty(); });
    const Taken arrival{player};
    sums[arrival->peer] += number_in(*arrival);
  }
  for (std::uint32_t rank = 0; rank < player.rank_count(); ++rank) {
    EXPECT_EQ(sums[Rank{rank}], count * (count - 1) / 2) << "from rank " << rank;
  }
}

Part loses_nothing_when_polled_with_little_room(Player& player, const Terms&) {
  constexpr std::uint64_t count = 300;
  constexpr std::size_t bulk_bytes = 5000;
  const std::uint32_t slots = std::min(player.driver().bulk_slot_count(), 8U);
  const Rank self = player.driver().self();
  const Bytes data = pattern(player.rank(), 0, bulk_bytes);
  std::vector<Bytes> buffers(slots, Bytes(bulk_bytes));
  player.set_poll_room(1, 0);
  for (std::uint32_t slot = 0; slot < slots; ++slot) {
    const BulkReceive receive{self, BulkSlot{slot}, buffers[slot], slot};
    const BulkSend send{self, BulkSlot{slot}, data, slot};
    co_await until([&] { return player.driver().receive_bulk(receive) == Post::posted; });
    co_await until([&] { return player.driver().send_bulk(send) == Post::posted; });
  }
  for (std::uint64_t number = 0; number < count; ++number) {
    co_await until([&] { return player.send_number(player.next(), number); });
  }
  co_await until([&] { return player.arrivals.size() >= count / 2; });
  EXPECT_TRUE(player.done.empty()) << "no room was given";
  player.set_poll_room(0, 1);
  co_await until([&] { return player.done.size() == 2 * std::size_t{slots}; });
  player.set_poll_room(1, 1);
  co_await until([&] { return player.arrivals.size() == count; });
  std::uint64_t sum = 0;
  while (!player.arrivals.empty()) {
    const Taken arrival{player};
    sum += number_in(*arrival);
  }
  EXPECT_EQ(sum, count * (count - 1) / 2);
  for (std::uint32_t slot = 0; slot < slots; ++slot) {
    EXPECT_TRUE(player.has_done(TransferDirection::sent, slot));
    EXPECT_TRUE(player.has_done(TransferDirection::received, slot));
    EXPECT_TRUE(equal(buffers[slot], data));
  }
}

// --- bulk data ------------------------------------------------------------------------------------

Part moves_bulk_of_any_size_in_both_directions(Player& player, const Terms& terms) {
  constexpr std::size_t mebi = 1024 * 1024;
  std::vector<std::size_t> sizes = {1, 7, 4095, 4096, 8193, 65536, mebi + 1, 4 * mebi, 4 * mebi + 1, 9 * mebi};
  std::erase_if(sizes, [&](std::size_t size) { return size >= terms.bulk_bytes_max; });
  sizes.push_back(terms.bulk_bytes_max);
  const BulkSlot slot{0};
  for (const std::size_t size : sizes) {
    const Bytes data = pattern(player.rank(), size, size);
    Bytes buffer(size);
    co_await until(
        [&] { return player.driver().receive_bulk({player.previous(), slot, buffer, size}) == Post::posted; });
    co_await until([&] { return player.send_number(player.previous(), size); });
    co_await until([&] { return !player.arrivals.empty(); });
    {
      const Taken ready{player};
      EXPECT_EQ(number_in(*ready), size);
    }
    co_await until([&] { return player.driver().send_bulk({player.next(), slot, data, size}) == Post::posted; });
    co_await until([&] {
      return player.has_done(TransferDirection::sent, size) && player.has_done(TransferDirection::received, size);
    });
    EXPECT_EQ(player.done.size(), 2U);
    EXPECT_TRUE(equal(buffer, pattern(player.previous().value(), size, size))) << size << " bytes";
    player.done.clear();
  }
}

Part fills_all_slots_at_once(Player& player, const Terms&) {
  const std::uint32_t slots = player.driver().bulk_slot_count();
  const auto size_of = [](std::uint32_t slot) { return std::size_t{1} + slot * 30011U; };
  std::vector<Bytes> buffers;
  std::vector<Bytes> data;
  for (std::uint32_t slot = 0; slot < slots; ++slot) {
    buffers.emplace_back(size_of(slot));
    data.push_back(pattern(player.rank(), slot, size_of(slot)));
  }
  for (std::uint32_t slot = 0; slot < slots; ++slot) {
    const BulkReceive receive{player.previous(), BulkSlot{slot}, buffers[slot], slot};
    co_await until([&] { return player.driver().receive_bulk(receive) == Post::posted; });
  }
  co_await until([&] { return player.send_number(player.previous(), slots); });
  co_await until([&] { return !player.arrivals.empty(); });
  EXPECT_EQ(number_in(*Taken{player}), slots);
  for (std::uint32_t slot = slots; slot-- > 0;) {
    const BulkSend send{player.next(), BulkSlot{slot}, data[slot], slot};
    co_await until([&] { return player.driver().send_bulk(send) == Post::posted; });
  }
  co_await until([&] { return player.done.size() == 2 * std::size_t{slots}; });
  for (std::uint32_t slot = 0; slot < slots; ++slot) {
    EXPECT_TRUE(player.has_done(TransferDirection::sent, slot)) << slot;
    EXPECT_TRUE(player.has_done(TransferDirection::received, slot)) << slot;
    EXPECT_TRUE(equal(buffers[slot], pattern(player.previous().value(), slot, size_of(slot))));
  }
}

Part uses_one_slot_again_and_again(Player& player, const Terms&) {
  constexpr std::uint64_t rounds = 30;
  constexpr std::size_t size = 20000;
  const BulkSlot slot{player.driver().bulk_slot_count() - 1};
  Bytes buffer(size);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const Bytes data = pattern(player.rank(), round, size);
    co_await until(
        [&] { return player.driver().receive_bulk({player.previous(), slot, buffer, round}) == Post::posted; });
    co_await until([&] { return player.send_number(player.previous(), round); });
    co_await until([&] { return !player.arrivals.empty(); });
    EXPECT_EQ(number_in(*Taken{player}), round);
    co_await until([&] { return player.driver().send_bulk({player.next(), slot, data, round}) == Post::posted; });
    co_await until([&] { return player.done.size() == 2; });
    EXPECT_TRUE(equal(buffer, pattern(player.previous().value(), round, size))) << round;
    player.done.clear();
  }
}

Part moves_bulk_to_itself(Player& player, const Terms&) {
  const Rank self = player.driver().self();
  for (const std::size_t size : {std::size_t{1}, std::size_t{4096}, std::size_t{1500001}}) {
    const Bytes data = pattern(player.rank(), size, size);
    Bytes buffer(size);
    co_await until([&] { return player.driver().receive_bulk({self, BulkSlot{0}, buffer, 1}) == Post::posted; });
    co_await until([&] { return player.driver().send_bulk({self, BulkSlot{0}, data, 2}) == Post::posted; });
    co_await until([&] { return player.done.size() == 2; });
    EXPECT_TRUE(player.has_done(TransferDirection::received, 1));
    EXPECT_TRUE(player.has_done(TransferDirection::sent, 2));
    EXPECT_TRUE(equal(buffer, data)) << size << " bytes";
    player.done.clear();
  }
}

Part lets_packets_pass_beside_bulk(Player& player, const Terms&) {
  constexpr std::size_t size = 1000017;
  constexpr std::uint64_t count = 500;
  const Bytes data = pattern(player.rank(), 1, size);
  Bytes buffer(size);
  co_await until(
      [&] { return player.driver().receive_bulk({player.previous(), BulkSlot{0}, buffer, 1}) == Post::posted; });
  co_await until([&] { return player.send_number(player.previous(), 0); });
  co_await until([&] { return !player.arrivals.empty(); });
  EXPECT_EQ(number_in(*Taken{player}), 0U);
  co_await until([&] { return player.driver().send_bulk({player.next(), BulkSlot{0}, data, 1}) == Post::posted; });
  std::uint64_t received = 0;
  const auto take_all = [&] {
    for (; !player.arrivals.empty(); ++received) {
      const Taken arrival{player};
    }
  };
  // In the other direction than the packets that mean ready, so that they cannot be confused.
  for (std::uint64_t number = 0; number < count; ++number) {
    co_await until([&] { return player.send_number(player.previous(), number); });
    take_all();
  }
  while (received < count) {
    co_await until([&] { return !player.arrivals.empty(); });
    take_all();
  }
  co_await until([&] { return player.done.size() == 2; });
  EXPECT_TRUE(equal(buffer, pattern(player.previous().value(), 1, size)));
}

// --- shared copies --------------------------------------------------------------------------------

Part lets_all_read_one_copy(Player& player, const Terms&) {
  SharedCopies* const copies = player.driver().shared_copies();
  if (copies == nullptr) {
    co_return;
  }
  constexpr std::uint64_t rounds = 30;  // more than there is memory for
  const auto size_of = [&](std::uint64_t round) { return copies->bytes_max() * (round + 1) / rounds; };
  std::vector<Rank> readers;
  for (std::uint32_t rank = 0; rank < player.rank_count(); ++rank) {
    if (copies->reaches(Rank{rank})) {
      readers.emplace_back(rank);
    }
  }
  EXPECT_TRUE(copies->reaches(player.driver().self()));
  std::uint64_t left = rounds * readers.size();
  const auto read_arrived = [&] {
    for (; !player.arrivals.empty(); --left) {
      const Taken arrival{player};
      const std::uint64_t round = number_in(*arrival) >> 32U;
      const SharedCopyId id{static_cast<std::uint32_t>(number_in(*arrival))};
      EXPECT_TRUE(equal(copies->read(arrival->peer, id, size_of(round)),
                        pattern(arrival->peer.value(), round, size_of(round))));
      copies->release(arrival->peer, id);
    }
  };
  for (std::uint64_t round = 0; round < rounds; ++round) {
    std::optional<SharedCopies::Created> created;
    co_await until([&] {
      read_arrived();
      created = copies->create(size_of(round), static_cast<std::uint32_t>(readers.size()));
      return created.has_value();
    });
    std::ranges::copy(pattern(player.rank(), round, size_of(round)), created->bytes.begin());
    for (const Rank reader : readers) {
      co_await until([&] {
        read_arrived();
        return player.send_number(reader, (round << 32U) + created->id.value());
      });
    }
  }
  co_await until([&] {
    read_arrived();
    return left == 0;
  });
}

}  // namespace

void Player::set_poll_room(std::size_t arrival_count, std::size_t bulk_count) {
  arrival_room_.resize(arrival_count);
  bulk_room_.resize(bulk_count);
}

void Player::poll() {
  const Polled polled = driver_.poll(arrival_room_, bulk_room_);
  for (std::size_t i = 0; i < polled.arrivals; ++i) {
    Arrival& arrival = arrivals.emplace_back(std::move(arrival_room_[i]));
    if (!arrival.packet) {  // kept beyond the next poll
      const std::size_t bytes = arrival.in_place.size();
      arrival.packet = bytes <= driver_.packet_bytes_max() ? driver_.acquire() : Packet{bytes};
      arrival.packet.resize(arrival.in_place.size());
      std::ranges::copy(arrival.in_place, arrival.packet.data());
    }
  }
  done.insert(done.end(), bulk_room_.begin(), bulk_room_.begin() + static_cast<std::ptrdiff_t>(polled.bulk));
}

bool Player::send(Rank to, const Bytes& bytes) {
  if (++attempts_ % 2 == 0 || bytes.size() > driver_.packet_bytes_max()) {
    const auto [head, data] =
        std::pair{std::span{bytes}.first(bytes.size() / 3), std::span{bytes}.subspan(bytes.size() / 3)};
    return driver_.send_copy(to, head, data) != Post::retry;
  }
  Packet packet = driver_.acquire();
  packet.resize(bytes.size());
  std::ranges::copy(bytes, packet.data());
  if (driver_.send(to, std::move(packet)) != Post::retry) {
    EXPECT_FALSE(packet);  // NOLINT(bugprone-use-after-move): what is accepted is taken
    return true;
  }
  driver_.recycle(std::move(packet));
  return false;
}

bool Player::send_number(Rank to, std::uint64_t number) {
  Bytes bytes(sizeof number);
  std::memcpy(bytes.data(), &number, sizeof number);
  return send(to, bytes);
}

bool Player::has_done(TransferDirection direction, std::uint64_t cookie) const {
  return std::ranges::any_of(done,
                             [&](const BulkDone& one) { return one.direction == direction && one.cookie == cookie; });
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"tells_who_it_is", tells_who_it_is},
      {"keeps_the_order_of_each_pair", keeps_the_order_of_each_pair},
      {"brings_packets_of_any_size_unchanged", brings_packets_of_any_size_unchanged},
      {"brings_packets_to_itself", brings_packets_to_itself},
      {"leaves_a_refused_packet_untouched", leaves_a_refused_packet_untouched},
      {"survives_a_flood_from_all_to_all", survives_a_flood_from_all_to_all},
      {"serves_many_senders_to_one", serves_many_senders_to_one},
      {"loses_nothing_when_polled_with_little_room", loses_nothing_when_polled_with_little_room},
      {"moves_bulk_of_any_size_in_both_directions", moves_bulk_of_any_size_in_both_directions},
      {"fills_all_slots_at_once", fills_all_slots_at_once},
      {"uses_one_slot_again_and_again", uses_one_slot_again_and_again},
      {"moves_bulk_to_itself", moves_bulk_to_itself},
      {"lets_packets_pass_beside_bulk", lets_packets_pass_beside_bulk},
      {"lets_all_read_one_copy", lets_all_read_one_copy},
  };
  return all;
}

}  // namespace plait::net::conformance
