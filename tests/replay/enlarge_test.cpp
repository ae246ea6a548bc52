// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/enlarge.hpp"

#include <set>

#include <gtest/gtest.h>

#include "plait/replay/check.hpp"
#include "plait/replay/synthetic.hpp"

#include "replay/hand_made.hpp"
#include "replay/random_schedule.hpp"

namespace plait::replay::enlarge_test {
namespace {

using Line = std::vector<std::uint32_t>;

/// Messages by source, destination and bytes, of an exchange that must end.
auto messages_of(const Schedule& schedule) {
  const auto result = carry_out(schedule);
  EXPECT_TRUE(result.is_finished) << result.stuck;
  EXPECT_EQ(find_trouble(schedule), std::vector<std::string>{});
  return result.messages;
}

std::set<std::uint32_t> peers_of(const Schedule& schedule, std::uint32_t rank) {
  std::set<std::uint32_t> peers;
  for (const auto& [message, count] : messages_of(schedule)) {
    if (std::get<0>(message) == rank) {
      peers.insert(std::get<1>(message));
    }
  }
  return peers;
}

/// Three steps of a line: sizes differ by direction, the ends have one neighbour.
Schedule open_line(std::uint32_t ranks) {
  HandMade made{ranks};
  for (int step = 0; step < 3; ++step) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      made.add(rank, {.action = Action::compute, .took = nanoseconds{1000}});
      std::vector<std::uint32_t> begun;
      if (rank > 0) {
        begun.push_back(made.receive(rank, rank - 1, 1, 100));
        begun.push_back(made.send(rank, rank - 1, 2, 60));
      }
      if (rank + 1 < ranks) {
        begun.push_back(made.receive(rank, rank + 1, 2, 60));
        begun.push_back(made.send(rank, rank + 1, 1, 100));
      }
      made.wait(rank, begun);
    }
  }
  return made.get();
}

/// Blocking sends and receives from the first rank to the last.
Schedule pipeline(std::uint32_t ranks) {
  HandMade made{ranks};
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    if (rank > 0) {
      made.wait(rank, {made.receive(rank, rank - 1, 1, 100)});
    }
    made.add(rank, {.action = Action::compute, .took = nanoseconds{1000}});
    if (rank + 1 < ranks) {
      made.wait(rank, {made.send(rank, rank + 1, 1, 100)});
    }
  }
  return made.get();
}

Schedule enlarged_by(const Schedule& schedule, const Growth& growth) {
  return enlarge(schedule, find_grid(schedule).value(), growth).value();
}

TEST(Enlarge, makes_of_a_small_halo_the_large_one) {
  const Schedule four = synthetic_schedule("pattern=halo,ranks=27,mean=100").value();
  const RankGrid grid = synthetic_grid("pattern=halo,ranks=27").value().value();
  const Schedule tiled = enlarge(four, grid, {.replicas = {2, 2, 2}}).value();
  EXPECT_EQ(messages_of(tiled), messages_of(synthetic_schedule("pattern=halo,ranks=216,mean=100").value()));
}

TEST(Enlarge, makes_of_a_halo_of_two_by_two_the_one_of_a_thousand_ranks) {
  const Schedule four = synthetic_schedule("pattern=halo,ranks=4,mean=100,steps=2").value();
  const RankGrid grid = synthetic_grid("pattern=halo,ranks=4").value().value();
  const auto copies = copies_along(grid, 256).value();
  EXPECT_EQ(copies, (Line{16, 16, 1}));
  const Schedule tiled = enlarge(four, grid, {.replicas = copies}).value();
  EXPECT_EQ(tiled.ranks.size(), 1024);
  const auto messages = messages_of(tiled);
  EXPECT_EQ(messages.size(), 8U * 1024U);
  for (std::uint32_t rank = 0; rank < 1024; ++rank) {
    const std::uint32_t x = rank % 32;
    const std::uint32_t y = rank / 32;
    EXPECT_EQ(messages.at({rank, (x + 1) % 32 + y * 32, 100}), 2);
    EXPECT_EQ(messages.at({rank, (x + 31) % 32 + (y + 31) % 32 * 32, 100}), 2);
  }
}

TEST(Enlarge, continues_an_open_line_of_any_length) {
  for (const std::uint32_t ranks : {2U, 3U, 4U, 5U}) {
    const Schedule tiled = enlarged_by(open_line(ranks), {.replicas = {3}});
    const auto messages = messages_of(tiled);
    EXPECT_EQ(messages.size(), 2U * (3 * ranks - 1)) << ranks;
    EXPECT_EQ(peers_of(tiled, 0), (std::set<std::uint32_t>{1}));
    EXPECT_EQ(peers_of(tiled, ranks), (std::set<std::uint32_t>{ranks - 1, ranks + 1}));
    if (ranks > 2) {  // of two, one cannot know which of the sizes is that to the other side
      EXPECT_EQ(messages, messages_of(open_line(3 * ranks))) << ranks;
    }
  }
}

TEST(Enlarge, continues_a_pipeline_in_one_direction) {
  const Schedule tiled = enlarged_by(pipeline(4), {.replicas = {3}});
  EXPECT_EQ(messages_of(tiled), messages_of(pipeline(12)));
}

TEST(Enlarge, reports_that_two_ranks_show_no_chain) {
  const Schedule tiled = enlarged_by(pipeline(2), {.replicas = {2}});
  EXPECT_NE(tiled.notices.back().find("1 recorded messages go one way"), std::string::npos) << tiled.notices.back();
  EXPECT_EQ(find_trouble(tiled), std::vector<std::string>{});
}

TEST(Enlarge, sends_all_to_all_in_smaller_messages) {
  const Schedule four = synthetic_schedule("pattern=all-to-all,ranks=4,mean=400").value();
  const Schedule tiled = enlarge(four, {}, {.replicas = {3}}).value();
  EXPECT_EQ(messages_of(tiled), messages_of(synthetic_schedule("pattern=all-to-all,ranks=12,mean=133").value()));
  const Schedule finer = enlarge(four, {}, {.replicas = {2}, .volume = 0.5}).value();
  EXPECT_EQ(messages_of(finer), messages_of(synthetic_schedule("pattern=all-to-all,ranks=8,mean=100").value()));
}

TEST(Enlarge, scales_computing_as_volume_and_neighbours_as_surface) {
  const Schedule schedule = synthetic_schedule("pattern=halo,ranks=27,mean=8000,compute=80us").value();
  const RankGrid grid = synthetic_grid("pattern=halo,ranks=27").value().value();
  const Schedule finer = enlarge(schedule, grid, {.replicas = {2, 2, 2}, .volume = 1.0 / 8}).value();
  EXPECT_EQ(messages_of(finer), messages_of(synthetic_schedule("pattern=halo,ranks=216,mean=2000").value()));
  EXPECT_EQ(finer.ranks[100].streams[0].operations[0].took, nanoseconds{10'000});
  const Schedule flat = enlarge(schedule, grid, {.volume = 4, .dimension = 2}).value();
  EXPECT_EQ(messages_of(flat), messages_of(synthetic_schedule("pattern=halo,ranks=27,mean=16000").value()));
  EXPECT_NE(flat.notices.back().find("surface in 2 dimensions"), std::string::npos) << flat.notices.back();
}

TEST(Enlarge, keeps_what_is_to_no_neighbour_within_its_copy) {
  HandMade made{6};
  for (std::uint32_t rank = 0; rank < 6; ++rank) {
    made.send(rank, (rank + 1) % 6, 0, 10);
    made.receive(rank, (rank + 5) % 6, 0, 10);
  }
  made.send(0, 3, 1, 7);
  made.receive(3, 0, 1, 7);
  const Schedule tiled = enlarged_by(made.get(), {.replicas = {2}, .volume = 0.5});
  const auto messages = messages_of(tiled);
  EXPECT_EQ(messages.at({0, 3, 7}), 1);
  EXPECT_EQ(messages.at({6, 9, 7}), 1);
  EXPECT_EQ(messages.at({5, 6, 10}), 1);
  EXPECT_EQ(messages.at({11, 0, 10}), 1);
  EXPECT_NE(tiled.notices.back().find("1 of 7 recorded messages"), std::string::npos) << tiled.notices.back();
}

TEST(Enlarge, lets_collectives_of_lines_grow_with_the_grid) {
  HandMade made{4};
  made.get().communicators = {{1, {0, 1}}, {2, {2, 3}}, {3, {0, 2}}, {4, {1, 3}}, {5, {0, 1, 2, 3}}};
  for (const auto& [communicator, members] : made.get().communicators) {
    for (const std::uint32_t rank : members) {
      made.wait(rank,
                {made.add(rank,
                          {.action = Action::collective,
                           .collective = Collective::all_to_all,
                           .communicator = communicator,
                           .bytes = 800,
                           .bytes_got = 800})});
    }
  }
  const Schedule tiled =
      enlarge(made.get(), find_grid(made.get()).value(), {.replicas = {2, 3}, .volume = 0.5}).value();
  EXPECT_TRUE(carry_out(tiled).is_finished);
  std::map<std::size_t, int> sizes;
  for (const auto& [communicator, members] : tiled.communicators) {
    ++sizes[members.size()];
  }
  EXPECT_EQ(sizes, (std::map<std::size_t, int>{{4, 6}, {6, 4}, {24, 1}}));
  EXPECT_EQ(tiled.ranks[7].streams[0].operations[0].bytes, 400);
}

TEST(Enlarge, sizes_what_gathers_with_its_members_and_shares_by_model) {
  HandMade made{2};
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    made.add(rank, {.action = Action::collective, .collective = Collective::all_gather, .bytes = 8, .bytes_got = 16});
    const std::uint32_t shared = made.add(
        rank, {.action = Action::collective, .collective = Collective::all_to_all, .bytes = 300, .bytes_got = 300});
    made.shares(rank, shared, {100, 200});
    made.add(rank, {.action = Action::collective, .collective = Collective::broadcast, .peer = 1, .bytes = 8});
  }
  const Schedule tiled = enlarged_by(made.get(), {.replicas = {2}});
  const Stream& stream = tiled.ranks[3].streams[0];
  EXPECT_EQ(stream.operations[0].bytes_got, 32);
  EXPECT_EQ(stream.shares, (std::vector<std::uint64_t>{50, 100, 50, 100}));
  EXPECT_EQ(stream.operations[2].peer, 1);
  EXPECT_TRUE(carry_out(tiled).is_finished);
}

TEST(Enlarge, matches_whatever_was_recorded) {
  Random random{5};
  for (int i = 0; i < 150; ++i) {
    const auto ranks = 2 + static_cast<std::uint32_t>(random.below(6));
    const Schedule schedule = random_schedule(random, ranks, 60);
    for (const bool is_all : {false, true}) {
      GridChoice choice{.is_all_to_all = is_all, .sizes = {ranks}, .is_periodic = random.below(2) == 0};
      const RankGrid grid = find_grid(schedule, choice).value();
      const Schedule tiled = enlarge(schedule, grid, {.replicas = {2}, .volume = 0.7}).value();
      const auto result = carry_out(tiled);
      // Copies of a periodic pattern do what was recorded. Other models, put together by chance, may wait in a cycle.
      EXPECT_TRUE(result.is_finished || is_all || !choice.is_periodic.value()) << i << ": " << result.stuck;
      for (const std::string& trouble : find_trouble(tiled, 1)) {
        EXPECT_TRUE(trouble.find("waits forever") != std::string::npos || trouble.find("more") != std::string::npos)
            << trouble;
      }
    }
  }
}

TEST(Enlarge, refuses_copies_that_do_not_fit) {
  const Schedule schedule = open_line(3);
  const RankGrid grid = find_grid(schedule).value();
  EXPECT_FALSE(enlarge(schedule, grid, {.replicas = {2, 2}}));
  EXPECT_FALSE(enlarge(schedule, grid, {.replicas = {0}}));
  EXPECT_FALSE(enlarge(schedule, grid, {.replicas = {1U << 22U}}));
  EXPECT_EQ(copies_along(find_grid(open_line(2)).value(), 6).value(), Line{6});
  EXPECT_FALSE(copies_along({.dimensions = {{.size = 1}}}, 2));
}

}  // namespace
}  // namespace plait::replay::enlarge_test
