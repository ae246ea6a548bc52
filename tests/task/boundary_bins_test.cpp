// SPDX-License-Identifier: Apache-2.0
#include "plait/task/boundary_bins.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "plait/net/loopback/loopback.hpp"
#include "plait/task/partner_check.hpp"

namespace plait::task::boundary_bins_test {
namespace {

using Object = TimeBins::Object;

/// Objects with neighbours, spread over ranks at random.
struct World {
  World(unsigned seed, std::size_t count, std::uint32_t ranks) : neighbours(count), owner(count) {
    std::mt19937 random{seed};
    for (std::size_t object = 0; object < count; ++object) {
      owner[object] = static_cast<std::uint32_t>(random() % ranks);
    }
    for (std::size_t link = 0; link < count + count / 2; ++link) {
      const auto left = static_cast<Object>(random() % count);
      const auto right = static_cast<Object>(random() % count);
      if (left != right && !std::ranges::count(neighbours[left], right)) {
        neighbours[left].push_back(right);
        neighbours[right].push_back(left);
      }
    }
  }
  /// What `object` would like at `now`: anything, but the same on all ranks.
  static TimeBin wanted(Object object, Ticks now) {
    std::mt19937 random{static_cast<unsigned>(now * 1000 + object)};
    return TimeBin{static_cast<std::uint8_t>(random() % 12)};
  }

  std::vector<std::vector<Object>> neighbours;
  std::vector<std::uint32_t> owner;
};

/// What one rank has of the world: its objects, and copies of their neighbours.
struct Part {
  Part(const World& world, std::uint32_t self) {
    std::map<std::uint32_t, std::set<Object>> mine;
    std::map<std::uint32_t, std::set<Object>> theirs;
    for (Object object = 0; object < world.owner.size(); ++object) {
      if (world.owner[object] != self) {
        continue;
      }
      add(object);
      for (const Object other : world.neighbours[object]) {
        if (world.owner[other] != self) {
          mine[world.owner[other]].insert(object);
          theirs[world.owner[other]].insert(other);
        }
      }
    }
    for (const auto& [rank, objects] : theirs) {
      Boundary& boundary = boundaries.emplace_back(Boundary{.rank = Rank{rank}, .mine = {}, .theirs = {}});
      for (const Object object : mine[rank]) {
        boundary.mine.push_back(number_of[object]);
      }
      for (const Object object : objects) {
        boundary.theirs.push_back(add(object));
      }
    }
    neighbours.resize(globals.size());
    for (Object here = 0; here < globals.size(); ++here) {
      for (const Object other : world.neighbours[globals[here]]) {
        if (number_of.contains(other)) {
          neighbours[here].push_back(number_of[other]);
        }
      }
    }
  }
  Object add(Object global) {
    const auto [place, is_new] = number_of.try_emplace(global, static_cast<Object>(globals.size()));
    if (is_new) {
      globals.push_back(global);
    }
    return place->second;
  }

  std::vector<Object> globals;  ///< The number in the world, by number here.
  std::map<Object, Object> number_of;
  std::vector<Boundary> boundaries;
  std::vector<std::vector<Object>> neighbours;
};

/// The bins of all objects at some times, by a world that is all on one rank.
std::vector<std::vector<TimeBin>> bins_on_one_rank(const World& world, int steps) {
  TimeBins bins{world.owner.size()};
  std::vector<std::vector<TimeBin>> all;
  Ticks now = 0;
  for (int step = 0; step < steps; ++step, now = bins.next_time(now)) {
    const std::vector<Object> active = bins.active(now);
    for (const Object object : active) {
      bins.start(object, World::wanted(object, now), now);
    }
    bins.limit(active, [&](Object object) { return std::span{world.neighbours[object]}; }, now);
    std::vector<TimeBin>& row = all.emplace_back();
    for (Object object = 0; object < world.owner.size(); ++object) {
      row.push_back(bins.bin_of(object));
    }
  }
  return all;
}

/// A send and a receive for each pair of neighbours on two ranks and each way.
void add_messages(const World& world, Part& part, std::uint32_t self, Graph& graph, ActiveTasks& active) {
  for (const Boundary& boundary : part.boundaries) {
    for (const Object mine : boundary.mine) {
      for (const Object theirs : part.neighbours[mine]) {
        if (world.owner[part.globals[theirs]] != boundary.rank.value()) {
          continue;
        }
        const Tag out{part.globals[mine] * 1000ULL + part.globals[theirs]};
        const Tag in{part.globals[theirs] * 1000ULL + part.globals[mine]};
        active.add(graph.send("send", {boundary.rank, out}, [] { return std::span<const std::byte>{}; }),
                   {mine, theirs});
        active.add(graph.receive("receive", {boundary.rank, in}, std::span<std::byte>{}), {mine, theirs});
      }
    }
  }
  EXPECT_FALSE(part.boundaries.empty()) << "rank " << self;
}

void run_rank(const World& world,
              std::uint32_t self,
              comm::Endpoint& endpoint,
              const std::vector<std::vector<TimeBin>>& expected) {
  Part part{world, self};
  TimeBins bins{part.globals.size()};
  BoundaryBins boundary{endpoint, part.boundaries};
  Graph graph;
  ActiveTasks active{part.globals.size()};
  add_messages(world, part, self, graph, active);
  Ticks now = 0;
  for (const std::vector<TimeBin>& row : expected) {
    // Both ranks of each message decide alike: none lacks its partner.
    ASSERT_NO_THROW(check_partners(endpoint, graph, active.at(bins, now)));
    for (const Object object : bins.active(now)) {
      if (world.owner[part.globals[object]] == self) {
        bins.start(object, World::wanted(part.globals[object], now), now);
      }
    }
    boundary.settle(bins, [&](Object object) { return std::span{part.neighbours[object]}; }, now);
    for (Object object = 0; object < part.globals.size(); ++object) {
      ASSERT_EQ(bins.bin_of(object), row[part.globals[object]]) << "rank " << self << " at " << now;
    }
    Ticks next = line_ticks;
    for (const TimeBin bin : row) {
      next = std::min(next, next_active(bin, now));
    }
    now = boundary.next_time(bins, now);
    ASSERT_EQ(now, next);
  }
}

void on_ranks(std::uint32_t count, const std::function<void(std::uint32_t, comm::Endpoint&)>& use) {
  const SteadyClock clock;
  trace::Recorder recorder{clock};
  net::LoopbackNetwork network{count};
  std::vector<std::unique_ptr<net::Driver>> drivers;
  std::vector<std::unique_ptr<comm::Endpoint>> endpoints;
  for (std::uint32_t rank = 0; rank < count; ++rank) {
    drivers.push_back(network.driver(Rank{rank}));
    endpoints.push_back(std::make_unique<comm::Endpoint>(*drivers.back(), recorder));
  }
  std::vector<std::jthread> threads;
  for (std::uint32_t rank = 0; rank < count; ++rank) {
    threads.emplace_back([&, rank] { use(rank, *endpoints[rank]); });
  }
}

TEST(BoundaryBins, are_those_of_one_rank_that_has_all_objects) {
  for (unsigned seed = 0; seed < 5; ++seed) {
    const World world{seed, 40, 3};
    const auto expected = bins_on_one_rank(world, 40);
    on_ranks(3, [&](std::uint32_t rank, comm::Endpoint& endpoint) { run_rank(world, rank, endpoint, expected); });
  }
}

TEST(BoundaryBins, tell_ranks_that_see_different_boundaries) {
  on_ranks(2, [](std::uint32_t rank, comm::Endpoint& endpoint) {
    TimeBins bins{3};
    const std::vector<Object> mine = rank == 0 ? std::vector<Object>{0, 1} : std::vector<Object>{0};
    BoundaryBins boundary{endpoint, {{.rank = Rank{1 - rank}, .mine = mine, .theirs = {2}}}};
    const auto none = [](Object) { return std::span<const Object>{}; };
    if (rank == 1) {
      EXPECT_THROW(boundary.settle(bins, none, 0), Error);
      endpoint.stop_all(Error{ErrorCode::bad_argument, "stop"});
    } else {
      EXPECT_THROW(boundary.settle(bins, none, 0), Error) << "the other rank has stopped the run";
    }
  });
}

TEST(BoundaryBins, are_between_two_ranks) {
  on_ranks(1, [](std::uint32_t, comm::Endpoint& endpoint) {
    EXPECT_THROW((BoundaryBins{endpoint, {{.rank = Rank{0}, .mine = {}, .theirs = {}}}}), Error);
    EXPECT_THROW((BoundaryBins{endpoint, {{.rank = Rank{1}, .mine = {}, .theirs = {}}}}), Error);
  });
}

}  // namespace
}  // namespace plait::task::boundary_bins_test
