// SPDX-License-Identifier: Apache-2.0
// Multicasts: the tree, delivery into ordinary matching, late receivers, order beside direct messages.
#include "plait/comm/detail/multicast.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <map>

#include <gtest/gtest.h>

#include "plait/net/combined/combined_driver.hpp"

#include "comm/loopback_ranks.hpp"

namespace plait::comm::multicast_test {
namespace {

using test::LoopbackRanks;
using test::pattern;

std::vector<wire::Stop> stops_of(std::size_t count) {
  std::vector<wire::Stop> stops;
  for (std::uint32_t rank = 0; rank < count; ++rank) {
    stops.push_back({rank, rank * 10});
  }
  return stops;
}

/// Visits the tree below; notes each stop, and its depth.
void walk(std::span<const wire::Stop> stops, int depth, std::map<std::uint32_t, int>& depths) {
  for (const detail::Branch& branch : detail::branches(stops, 1000)) {
    EXPECT_TRUE(depths.emplace(branch.to.rank, depth).second) << "rank " << branch.to.rank << " twice";
    EXPECT_EQ(branch.to.sequence, branch.to.rank * 10);
    walk(branch.stops, depth + 1, depths);
  }
}

TEST(MulticastTree, reaches_everybody_once_with_few_copies_of_the_root_and_little_depth) {
  for (std::size_t count = 0; count < 200; ++count) {
    const std::vector<wire::Stop> stops = stops_of(count);
    const auto bound = static_cast<std::size_t>(std::ceil(std::log2(count + 1)));
    EXPECT_LE(detail::branches(stops, 1000).size(), bound);
    std::map<std::uint32_t, int> depths;
    walk(stops, 1, depths);
    EXPECT_EQ(depths.size(), count);
    for (const auto& [rank, depth] : depths) {
      EXPECT_LE(static_cast<std::size_t>(depth), bound);
    }
  }
}

TEST(MulticastTree, puts_the_most_urgent_next_to_the_root) {
  std::map<std::uint32_t, int> depths;
  walk(stops_of(31), 1, depths);
  for (std::uint32_t rank = 0; rank < 5; ++rank) {
    EXPECT_EQ(depths.at(rank), 1);
  }
}

TEST(MulticastTree, cuts_lists_that_do_not_fit_a_packet) {
  for (const detail::Branch& branch : detail::branches(stops_of(500), 20)) {
    EXPECT_LE(branch.stops.size(), 20U);
  }
}

/// Follows the tree that ranks on `nodes` make of `stops`; counts copies to each rank, and those to another node.
struct Followed {
  std::vector<std::uint32_t> nodes;
  std::size_t stops_max = 1000;
  std::map<std::uint32_t, int> copies = {};
  std::size_t crossings = 0;

  void follow(Rank from, std::span<const wire::Stop> stops) {
    for (const detail::Branch& branch : detail::branches_by_node(stops, stops_max, nodes, from)) {
      EXPECT_EQ(branch.to.sequence, branch.to.rank * 10);
      EXPECT_LE(branch.stops.size(), stops_max);
      ++copies[branch.to.rank];
      crossings += nodes[branch.to.rank] == nodes[from.value()] ? 0 : 1;
      follow(Rank{branch.to.rank}, branch.stops);
    }
  }
};

const std::vector<std::vector<std::uint32_t>> node_tables{{0},
                                                          {0, 0},
                                                          {0, 1},
                                                          {5, 5, 2},
                                                          {0, 1, 0, 1},
                                                          {0, 0, 0, 1, 1},
                                                          {1, 0, 2, 0, 2, 2},
                                                          {0, 1, 2, 0, 1, 2, 0},
                                                          {3, 3, 3, 3, 3, 3, 1}};

std::size_t node_count(std::vector<std::uint32_t> nodes) {
  std::ranges::sort(nodes);
  return static_cast<std::size_t>(std::ranges::unique(nodes).begin() - nodes.begin());
}

TEST(MulticastTreeOfNodes, reaches_every_rank_once_and_every_other_node_by_one_message) {
  for (const std::vector<std::uint32_t>& nodes : node_tables) {
    for (std::uint32_t root = 0; root < nodes.size(); ++root) {
      std::vector<wire::Stop> stops = stops_of(nodes.size());
      stops.erase(stops.begin() + root);
      Followed tree{nodes};
      tree.follow(Rank{root}, stops);
      EXPECT_EQ(tree.copies.size(), stops.size());
      EXPECT_TRUE(std::ranges::all_of(tree.copies, [](const auto& copy) { return copy.second == 1; }));
      EXPECT_EQ(tree.crossings, node_count(nodes) - 1);
    }
  }
}

TEST(MulticastTreeOfNodes, cuts_lists_that_do_not_fit_a_packet) {
  std::vector<std::uint32_t> nodes(501);
  for (std::uint32_t rank = 0; rank < nodes.size(); ++rank) {
    nodes[rank] = rank % 3;
  }
  Followed tree{nodes, 20};
  tree.follow(Rank{500}, stops_of(500));
  EXPECT_EQ(tree.copies.size(), 500U);
  EXPECT_TRUE(std::ranges::all_of(tree.copies, [](const auto& copy) { return copy.second == 1; }));
}

std::vector<Destination> all_but_root(std::uint32_t count) {
  std::vector<Destination> to;
  for (std::uint32_t rank = 1; rank < count; ++rank) {
    to.push_back({Rank{rank}});
  }
  return to;
}

struct Setting {
  std::uint32_t ranks;
  std::size_t bytes;
  net::SharedCopyOptions copies = {};
};

class Multicast : public testing::TestWithParam<Setting> {};

TEST_P(Multicast, arrives_as_an_ordinary_message_at_each_destination) {
  const auto [count, bytes, copies] = GetParam();
  LoopbackRanks ranks{count, {.segment_bytes = 30'000}, {.shared_copies = copies}};
  const Bytes data = pattern(bytes, 5);
  std::vector<Bytes> buffers(count);
  std::vector<Request> receives;
  for (std::uint32_t rank = 1; rank < count; ++rank) {
    receives.push_back(ranks[rank].receive({rank % 2 == 0 ? any_source : Rank{0}, Tag{9}}, buffers[rank]));
  }
  Request send = ranks[0].multicast(all_but_root(count), Tag{9}, data);
  ranks.until([&] {
    return send.is_complete() && std::ranges::all_of(receives, [](const Request& one) { return one.is_released(); });
  });
  for (Request& receive : receives) {
    EXPECT_EQ(receive.wait().source, Rank{0});
  }
  for (std::uint32_t rank = 1; rank < count; ++rank) {
    EXPECT_EQ(buffers[rank], data);
  }
}

TEST_P(Multicast, reaches_those_behind_a_rank_that_receives_late) {
  const auto [count, bytes, copies] = GetParam();
  for (std::uint32_t late = 1; late < count; ++late) {
    LoopbackRanks ranks{count, {.segment_bytes = 30'000}, {.shared_copies = copies}};
    const Bytes data = pattern(bytes, late);
    std::vector<Bytes> buffers(count);
    std::vector<Request> receives(count);
    for (std::uint32_t rank = 1; rank < count; ++rank) {
      if (rank != late) {
        receives[rank] = ranks[rank].receive({Rank{0}, Tag{9}}, buffers[rank]);
      }
    }
    Request send = ranks[0].multicast(all_but_root(count), Tag{9}, data);
    ranks.until([&] { return std::ranges::all_of(receives, [](const Request& one) { return one.is_complete(); }); });
    receives[late] = ranks[late].receive({Rank{0}, Tag{9}}, buffers[late]);
    ranks.until([&] { return send.is_complete() && receives[late].is_released(); });
    for (std::uint32_t rank = 1; rank < count; ++rank) {
      ASSERT_EQ(buffers[rank], data);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes,
                         Multicast,
                         testing::Values(Setting{2, 0},
                                         Setting{2, 100},
                                         Setting{4, 100'000},
                                         Setting{8, 1000},
                                         Setting{8, 200'000},
                                         Setting{17, 8000},
                                         Setting{17, 60'000},
                                         Setting{3, 8192, {1, 8192}},
                                         Setting{4, 100'000, {4, 65'536}},
                                         Setting{17, 60'000, {1, 60'000}}));

TEST(Multicast, sends_one_copy_to_a_rank_that_is_named_twice) {
  LoopbackRanks ranks{3};
  const Bytes data = pattern(10, 1);
  Bytes buffer;
  const Request receive = ranks[1].receive({Rank{0}, Tag{1}}, buffer);
  Request send = ranks[0].multicast({{Rank{1}}, {Rank{1}}, {Rank{1}, 5}}, Tag{1}, data);
  ranks.until([&] { return receive.is_complete() && send.is_complete(); });
  for (int i = 0; i < 10; ++i) {
    ranks.progress();
  }
  EXPECT_FALSE(ranks[1].probe({Rank{0}, Tag{1}}));
}

TEST(Multicast, includes_the_sender_itself_when_asked) {
  LoopbackRanks ranks{2};
  const Bytes data = pattern(50'000, 1);
  std::array<Bytes, 2> buffers;
  const Request mine = ranks[0].receive({Rank{0}, Tag{1}}, buffers[0]);
  const Request other = ranks[1].receive({Rank{0}, Tag{1}}, buffers[1]);
  Request send = ranks[0].multicast({{Rank{0}}, {Rank{1}}}, Tag{1}, data);
  ranks.until([&] { return mine.is_complete() && other.is_complete() && send.is_complete(); });
  EXPECT_EQ(buffers[0], data);
  EXPECT_EQ(buffers[1], data);
}

TEST(Multicast, keeps_its_place_among_direct_messages) {
  LoopbackRanks ranks{8};
  std::vector<std::deque<Bytes>> received(8);
  std::vector<Request> all;
  std::deque<Bytes> data;
  for (unsigned number = 0; number < 30; ++number) {
    data.push_back(pattern(number % 3 == 0 ? 20'000 : 64, number));
    if (number % 2 == 0) {
      all.push_back(ranks[0].multicast(all_but_root(8), Tag{1}, data.back()));
    } else {
      for (std::uint32_t rank = 1; rank < 8; ++rank) {
        all.push_back(ranks[0].send({Rank{rank}, Tag{1}}, data.back()));
      }
    }
    for (std::uint32_t rank = 1; rank < 8; ++rank) {
      all.push_back(ranks[rank].receive({any_source, any_tag}, received[rank].emplace_back()));
    }
  }
  ranks.until([&] { return std::ranges::all_of(all, [](const Request& one) { return one.is_released(); }); });
  for (std::uint32_t rank = 1; rank < 8; ++rank) {
    EXPECT_TRUE(std::ranges::equal(received[rank], data));
  }
}

TEST(Multicast, passes_on_what_is_too_long_for_its_own_receive) {
  LoopbackRanks ranks{4};
  const Bytes data = pattern(50'000, 2);
  std::array<Bytes, 4> buffers;
  Bytes small(10);
  Request truncated = ranks[1].receive({Rank{0}, Tag{1}}, std::span{small});
  const Request second = ranks[2].receive({Rank{0}, Tag{1}}, buffers[2]);
  const Request third = ranks[3].receive({Rank{0}, Tag{1}}, buffers[3]);
  Request send = ranks[0].multicast(all_but_root(4), Tag{1}, data);
  ranks.until(
      [&] { return truncated.is_complete() && second.is_complete() && third.is_complete() && send.is_complete(); });
  EXPECT_THROW(truncated.wait(), Error);
  EXPECT_EQ(buffers[2], data);
  EXPECT_EQ(buffers[3], data);
}

TEST(Multicast, copies_once_where_ranks_share_memory_and_needs_no_receiver_then) {
  LoopbackRanks ranks{4, {}, {.shared_copies = {.count = 1, .bytes_max = 50'000}}};
  const Bytes data = pattern(50'000, 3);
  const Request send = ranks[0].multicast(all_but_root(4), Tag{1}, data);
  EXPECT_TRUE(send.is_complete());
  const Bytes next = pattern(50'000, 4);
  const Request second = ranks[0].multicast(all_but_root(4), Tag{1}, next);
  EXPECT_FALSE(second.is_complete()) << "the memory is in use, so it uses a rendezvous";

  std::array<std::array<Bytes, 2>, 4> buffers;
  std::vector<Request> receives;
  for (std::uint32_t rank = 1; rank < 4; ++rank) {
    for (Bytes& buffer : buffers[rank]) {
      receives.push_back(ranks[rank].receive({Rank{0}, Tag{1}}, buffer));
    }
  }
  ranks.until([&] { return std::ranges::all_of(receives, [](const Request& one) { return one.is_released(); }); });
  ranks.until([&] { return second.is_complete(); });
  for (std::uint32_t rank = 1; rank < 4; ++rank) {
    EXPECT_EQ(buffers[rank][0], data);
    EXPECT_EQ(buffers[rank][1], next);
  }
  EXPECT_TRUE(ranks[0].multicast(all_but_root(4), Tag{1}, data).is_complete()) << "the memory is free again";
}

TEST(Multicast, keeps_to_rendezvous_when_the_program_asks_for_it) {
  LoopbackRanks ranks{3, {.eager_bytes_max = 9999}, {.shared_copies = {.count = 1, .bytes_max = 50'000}}};
  const Bytes data = pattern(10'000, 3);
  const Request send = ranks[0].multicast(all_but_root(3), Tag{1}, data);
  EXPECT_FALSE(send.is_complete());
  std::array<Bytes, 2> buffers;
  const Request first = ranks[1].receive({Rank{0}, Tag{1}}, buffers[0]);
  const Request second = ranks[2].receive({Rank{0}, Tag{1}}, buffers[1]);
  ranks.until([&] { return send.is_complete() && first.is_complete() && second.is_complete(); });
  EXPECT_EQ(buffers[0], data);
  EXPECT_EQ(buffers[1], data);
}

TEST(Multicast, keeps_to_rendezvous_for_a_single_reader) {
  LoopbackRanks ranks{2, {}, {.shared_copies = {.count = 1, .bytes_max = 50'000}}};
  const Bytes data = pattern(50'000, 3);
  const Request send = ranks[0].multicast(all_but_root(2), Tag{1}, data);
  EXPECT_FALSE(send.is_complete()) << "which copies once";
  Bytes buffer;
  const Request receive = ranks[1].receive({Rank{0}, Tag{1}}, buffer);
  ranks.until([&] { return send.is_complete() && receive.is_complete(); });
  EXPECT_EQ(buffer, data);
}

TEST(Multicast, uses_no_more_memory_for_unexpected_copies_than_the_limit) {
  LoopbackRanks ranks{3, {.unexpected_bytes_max = 25'000}, {.shared_copies = {.count = 1, .bytes_max = 10'000}}};
  const Bytes data = pattern(10'000, 3);
  std::vector<Request> sends;
  for (int number = 0; number < 5; ++number) {
    sends.push_back(ranks[0].multicast(all_but_root(3), Tag{1}, data));
    for (int round = 0; round < 3; ++round) {
      ranks.progress();
    }
  }
  EXPECT_EQ(std::ranges::count_if(sends, &Request::is_complete), 3);
  std::array<Bytes, 10> buffers;
  std::vector<Request> receives;
  for (std::uint32_t number = 0; number < buffers.size(); ++number) {
    receives.push_back(ranks[1 + number % 2].receive({Rank{0}, Tag{1}}, buffers[number]));
  }
  ranks.until([&] { return std::ranges::all_of(receives, &Request::is_complete); });
  ranks.until([&] { return std::ranges::all_of(sends, &Request::is_complete); });
  EXPECT_TRUE(std::ranges::all_of(buffers, [&](const Bytes& buffer) { return buffer == data; }));
}

/// Two hosts, of the first and the last three of six ranks; only ranks of one host share memory.
class TwoHosts {
 public:
  TwoHosts() {
    for (std::uint32_t rank = 0; rank < 6; ++rank) {
      const std::uint32_t first = rank / 3 * 3;
      std::vector<net::CombinedPart> parts(2);
      parts[0].driver = within_[rank / 3].driver(Rank{rank % 3});
      parts[1].driver = between_.driver(Rank{rank});
      for (std::uint32_t peer = 0; peer < 6; ++peer) {
        const bool is_near = peer / 3 == rank / 3;
        parts[1].called.emplace_back(peer);
        parts[is_near ? 0 : 1].serves.emplace_back(peer);
      }
      parts[0].called = {Rank{first}, Rank{first + 1}, Rank{first + 2}};
      drivers_.push_back(net::make_combined_driver(Rank{rank}, 6, std::move(parts)));
      endpoints_.push_back(std::make_unique<Endpoint>(*drivers_.back(), recorder_));
    }
  }

  Endpoint& operator[](std::uint32_t rank) { return *endpoints_[rank]; }
  void progress() {
    for (const auto& endpoint : endpoints_) {
      endpoint->progress();
    }
  }

 private:
  SteadyClock clock_;
  trace::Recorder recorder_{clock_};
  std::array<net::LoopbackNetwork, 2> within_{net::LoopbackNetwork{3, {.shared_copies = {2, 30'000}}},
                                              net::LoopbackNetwork{3, {.shared_copies = {2, 30'000}}}};
  net::LoopbackNetwork between_{6};
  std::vector<std::unique_ptr<net::Driver>> drivers_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
};

TEST(Multicast, copies_within_its_host_and_forwards_to_the_others) {
  TwoHosts ranks;
  const Bytes data = pattern(30'000, 6);
  std::array<Bytes, 6> buffers;
  std::vector<Request> receives;
  std::vector<Destination> others;
  for (const std::uint32_t rank : {0U, 1U, 2U, 3U, 5U}) {
    others.push_back({Rank{rank}});
    receives.push_back(ranks[rank].receive({Rank{4}, Tag{1}}, buffers[rank]));
  }
  const Request send = ranks[4].multicast(others, Tag{1}, data);
  EXPECT_FALSE(send.is_complete()) << "the other host still needs the data";
  for (int round = 0; round < 1000; ++round) {
    ranks.progress();
  }
  EXPECT_TRUE(send.is_complete());
  for (std::size_t index = 0; index < receives.size(); ++index) {
    EXPECT_TRUE(receives[index].is_released());
    EXPECT_EQ(receives[index].result().source, Rank{4});
    EXPECT_EQ(buffers[others[index].rank.value()], data);
  }
}

/// Polls all ranks but one, which computes.
template <class Done>
[[nodiscard]] bool ends_without(std::uint32_t computing, std::uint32_t count, LoopbackRanks& ranks, Done is_done) {
  for (int rounds = 0; rounds < 10'000 && !is_done(); ++rounds) {
    for (std::uint32_t rank = 0; rank < count; ++rank) {
      if (rank != computing) {
        ranks[rank].progress();
      }
    }
  }
  return is_done();
}

TEST_P(Multicast, needs_no_poll_of_a_rank_whose_own_part_has_ended) {
  const auto [count, bytes, copies] = GetParam();
  for (std::uint32_t computing = 0; computing < count; ++computing) {
    LoopbackRanks ranks{count, {.segment_bytes = 30'000}, {.shared_copies = copies}};
    const Bytes data = pattern(bytes, computing);
    std::vector<Bytes> buffers(count);
    std::vector<Request> receives(count);
    for (std::uint32_t rank = 1; rank < count; ++rank) {
      receives[rank] = ranks[rank].receive({Rank{0}, Tag{9}}, buffers[rank]);
    }
    Request send = ranks[0].multicast(all_but_root(count), Tag{9}, data);
    ranks.until([&] { return computing == 0 ? send.is_complete() : receives[computing].is_released(); });
    EXPECT_TRUE(ends_without(
        computing,
        count,
        ranks,
        [&] { return std::ranges::all_of(receives, [](const Request& one) { return one.is_complete(); }); }))
        << "rank " << computing;
  }
}

TEST(Multicast, is_released_after_it_is_complete) {
  LoopbackRanks ranks{4, {.segment_bytes = 10'000, .segments_in_flight = 1}};
  const Bytes data = pattern(100'000, 2);
  std::array<Bytes, 4> buffers;
  // Ranks 2 and 3 are late, so that rank 1, which forwards to one of them, is complete before it is released.
  const Request first = ranks[1].receive({Rank{0}, Tag{1}}, buffers[1]);
  Request send = ranks[0].multicast({{Rank{1}, 2}, {Rank{2}, 1}, {Rank{3}, 0}}, Tag{1}, data);
  ranks.until([&] { return first.is_complete(); });
  const Request second = ranks[2].receive({Rank{0}, Tag{1}}, buffers[2]);
  const Request third = ranks[3].receive({Rank{0}, Tag{1}}, buffers[3]);
  ranks.until([&] { return first.is_released() && second.is_released() && third.is_released(); });
  EXPECT_EQ(buffers[3], data);
}

}  // namespace
}  // namespace plait::comm::multicast_test
