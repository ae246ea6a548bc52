// SPDX-License-Identifier: Apache-2.0
#include "plait/data/checkpoints/buddy.hpp"

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"
#include "plait/testing/local_rank.hpp"

#include "data/leaks_allowed.hpp"

namespace plait::data::buddy_test {
namespace {

using plait::test::LocalRank;
using plait::test::run_on_ranks;

/// The elements of rank `rank` at `step`: one more than its number.
Checkpoint part_of(std::uint32_t rank, std::uint64_t step) {
  Checkpoint checkpoint{.program = "walk", .step = step, .values = {{"time", 0.5}}};
  PackedElements& mine = checkpoint.collections.emplace_back();
  mine.collection = "patches";
  mine.type = "Patch";
  for (std::uint64_t i = 0; i <= rank; ++i) {
    mine.add(ElementId{100 * rank + i}, Bytes(3000 * i, static_cast<std::byte>(rank + step)));
  }
  return checkpoint;
}

/// What the ranks of a run have left, by the number of the rank.
using Memories = std::map<std::uint32_t, BuddyMemory>;

/// What remains of a run of `ranks` after copies of steps 1 and 2, when rank `lost`, if any, is no more.
Memories run_until_loss(std::uint32_t ranks, std::uint32_t lost) {
  Memories memories;
  std::mutex mutex;
  run_on_ranks({.ranks = ranks}, {}, [&](LocalRank& rank) {
    const std::uint32_t self = rank.self().value();
    BuddyCopies copies{rank.messages()};
    copies.copy(part_of(self, 1));
    copies.copy(part_of(self, 2));
    EXPECT_EQ(copies.memory().copies.size(), ranks == 1 ? 1U : 2U);
    const std::lock_guard lock{mutex};
    if (self != lost) {
      memories[self] = copies.memory();
    }
  });
  return memories;
}

/// All elements that ranks with these memories recover, with the rank that got each.
std::map<std::uint64_t, std::pair<std::uint32_t, Bytes>> recover_all(const std::vector<BuddyMemory>& memories,
                                                                     std::uint64_t step) {
  std::map<std::uint64_t, std::pair<std::uint32_t, Bytes>> elements;
  std::size_t count = 0;
  std::mutex mutex;
  run_on_ranks({.ranks = static_cast<std::uint32_t>(memories.size())}, {}, [&](LocalRank& rank) {
    const std::uint32_t self = rank.self().value();
    const Checkpoint whole = recover(rank.messages(), memories[self]);
    EXPECT_EQ(whole.step, step);
    EXPECT_EQ(whole.value<double>("time"), 0.5);
    const PackedElements& mine = whole.elements("patches", "Patch", {});
    const std::lock_guard lock{mutex};
    for (std::size_t place = 0; place < mine.count(); ++place) {
      const auto bytes = mine.element(place);
      elements[mine.ids[place].value()] = {self, Bytes(bytes.begin(), bytes.end())};
      ++count;
    }
  });
  EXPECT_EQ(count, elements.size()) << "no element twice";
  return elements;
}

void expect_state(const std::map<std::uint64_t, std::pair<std::uint32_t, Bytes>>& elements,
                  std::uint32_t ranks,
                  std::uint64_t step) {
  std::size_t expected = 0;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const PackedElements part = part_of(rank, step).collections[0];
    expected += part.count();
    for (std::size_t place = 0; place < part.count(); ++place) {
      const auto found = elements.find(part.ids[place].value());
      ASSERT_NE(found, elements.end());
      const auto bytes = part.element(place);
      EXPECT_EQ(found->second.second, Bytes(bytes.begin(), bytes.end()));
    }
  }
  EXPECT_EQ(elements.size(), expected);
}

TEST(BuddyCopies, give_all_elements_back_to_fewer_ranks_when_one_is_lost) {
  for (const std::uint32_t ranks : {2U, 3U, 4U, 5U}) {
    for (std::uint32_t lost = 0; lost < ranks; ++lost) {
      std::vector<BuddyMemory> left;
      for (auto& [rank, memory] : run_until_loss(ranks, lost)) {
        left.push_back(std::move(memory));
      }
      expect_state(recover_all(left, 2), ranks, 2);
    }
  }
}

TEST(BuddyCopies, give_a_newcomer_what_the_lost_rank_had) {
  constexpr std::uint32_t ranks = 4;
  constexpr std::uint32_t lost = 2;
  Memories memories = run_until_loss(ranks, lost);
  std::vector<BuddyMemory> places(ranks);
  for (auto& [rank, memory] : memories) {
    places[rank] = std::move(memory);
  }
  const auto elements = recover_all(places, 2);
  expect_state(elements, ranks, 2);
  for (const auto& [id, element] : elements) {
    EXPECT_EQ(element.first, id / 100) << "every part is on the rank of its number";
  }
}

TEST(BuddyCopies, reach_more_ranks_than_there_were) {
  Memories memories = run_until_loss(2, 2);
  expect_state(recover_all({memories[0], memories[1], {}, {}}, 2), 2, 2);
}

TEST(BuddyCopies, keep_the_older_generation_until_all_have_the_newer) {
  Memories memories = run_until_loss(4, 4);
  // Rank 0 and 2 hold each other's copies of a third generation, the others were lost before they had any.
  for (const std::uint32_t rank : {0U, 2U}) {
    for (const std::uint32_t of : {0U, 2U}) {
      memories[rank].copies.push_back({3, Rank{of}, 4, Bytes(10)});
    }
  }
  expect_state(recover_all({memories[0], memories[1], memories[2], memories[3]}, 2), 4, 2);
}

TEST(BuddyCopies, that_fail_while_they_are_made_leave_the_older_generation) {
  std::vector<BuddyMemory> left(3);
  EXPECT_THROW(
      run_on_ranks({.ranks = 3},
                   {},
                   [&](LocalRank& rank) {
                     const test::LeaksAllowed leaks;
                     BuddyCopies copies{rank.messages()};
                     try {
                       copies.copy(part_of(rank.self().value(), 7));  // the others may be in its last lines yet
                       if (rank.self() == Rank{1}) {
                         throw Error{ErrorCode::io, "this rank is lost"};
                       }
                       copies.copy(part_of(rank.self().value(), 8));
                     } catch (const Error& error) {
                       rank.messages().stop_all(error);
                       left[rank.self().value()] = copies.memory();
                       throw;
                     }
                   }),
      Error);
  left[1] = {};
  expect_state(recover_all(left, 7), 3, 7);
}

TEST(BuddyCopies, say_so_when_a_rank_and_its_partner_are_lost) {
  Memories memories = run_until_loss(4, 0);
  std::set<std::string> sentences;
  std::mutex mutex;
  run_on_ranks({.ranks = 2}, {}, [&](LocalRank& rank) {
    try {
      (void)recover(rank.messages(), memories[rank.self() == Rank{0} ? 1 : 3]);
    } catch (const Error& error) {
      const std::lock_guard lock{mutex};
      sentences.insert(error.what());
    }
  });
  ASSERT_EQ(sentences.size(), 1U);
  EXPECT_NE(sentences.begin()->find("rank 0 is lost"), std::string::npos) << *sentences.begin();
}

TEST(BuddyCopies, roll_back_a_rank_that_has_thrown_everything_away) {
  run_on_ranks({.ranks = 3}, {}, [&](LocalRank& rank) {
    const std::uint32_t self = rank.self().value();
    BuddyCopies copies{rank.messages()};
    copies.copy(part_of(self, 4));
    if (self == 1) {
      copies.memory() = {};
    }
    const Checkpoint back = copies.roll_back();
    const Checkpoint expected = part_of(self, 4);
    EXPECT_EQ(back.step, 4U);
    EXPECT_EQ(back.collections[0].ids, expected.collections[0].ids);
    EXPECT_EQ(back.collections[0].bytes, expected.collections[0].bytes);
  });
}

TEST(BuddyCopies, come_back_bit_for_bit_over_a_network_that_delays_and_reorders) {
  for (const std::uint32_t ranks : {2U, 5U}) {
    const std::uint32_t lost = ranks / 2;
    const net::SimOptions rough{.seed = ranks,
                                .delay_max = std::chrono::microseconds{50},
                                .order = net::SimOrder::free,
                                .retry_probability = 0.1};
    std::vector<BuddyMemory> left(ranks);
    run_on_ranks({.ranks = ranks, .network = rough}, {.worker_count = 1}, [&](LocalRank& rank) {
      const std::uint32_t self = rank.self().value();
      BuddyCopies copies{rank.messages()};
      for (const std::uint64_t step : {1U, 2U, 3U}) {
        copies.copy(part_of(self, step));
      }
      if (self != lost) {
        left[self] = copies.memory();
      }
    });
    run_on_ranks({.ranks = ranks, .network = rough}, {.worker_count = 1}, [&](LocalRank& rank) {
      const Checkpoint back = recover(rank.messages(), left[rank.self().value()]);
      const Checkpoint expected = part_of(rank.self().value(), 3);
      EXPECT_EQ(back.step, 3U);
      EXPECT_EQ(back.collections[0].ids, expected.collections[0].ids);
      EXPECT_EQ(back.collections[0].offsets, expected.collections[0].offsets);
      EXPECT_EQ(back.collections[0].bytes, expected.collections[0].bytes);
    });
  }
}

}  // namespace
}  // namespace plait::data::buddy_test
