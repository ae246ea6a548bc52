// SPDX-License-Identifier: Apache-2.0
#include "plait/task/flow/coroutine.hpp"

#include <array>
#include <atomic>
#include <numeric>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "plait/task/flow/flow.hpp"
#include "plait/testing/local_rank.hpp"

namespace plait::task::coroutine_test {
namespace {

using plait::test::LocalRank;
using plait::test::run_on_ranks;
using Ints = std::span<int>;
using ConstInts = std::span<const int>;

constexpr Rank r0{0};
constexpr Rank r1{1};

class Coroutines : public testing::TestWithParam<std::uint32_t> {
 protected:
  SchedulerOptions options() const { return {.worker_count = GetParam()}; }
};

TEST_P(Coroutines, may_end_without_waiting) {
  run_on_ranks({.ranks = 1}, options(), [](LocalRank& rank) {
    Flow flow{rank};
    const Data<int> a = flow.data<int>(r0, 1);
    flow.submit(
        [](Ints value) -> Coroutine {
          value[0] = 5;
          co_return;
        },
        w(a));
    flow.wait();
    EXPECT_EQ(a.local()[0], 5);
  });
}

TEST_P(Coroutines, wait_for_messages_without_a_worker) {
  run_on_ranks({.ranks = 2}, options(), [](LocalRank& rank) {
    Flow flow{rank};
    const Rank other{1 - rank.self().value()};
    constexpr int count = 20;  // more than workers: all wait at once
    std::array<Data<int>, 2> sums{flow.data<int>(r0, count), flow.data<int>(r1, count)};
    std::array<int, count> incoming{};
    std::array<int, count> outgoing{};
    std::array<Data<int>, count> parts;
    for (int i = 0; i < count; ++i) {
      parts[i] = flow.data<int>(r0, 1);
      flow.submit(
          [&, i](Ints part) -> Coroutine {
            const Tag tag{static_cast<std::uint64_t>(i)};
            const std::span bytes{&incoming[i], 1};
            const comm::Status status =
                co_await rank.messages().receive({.rank = other, .tag = tag}, std::as_writable_bytes(bytes));
            EXPECT_EQ(status.bytes, sizeof(int));
            part[0] = incoming[i] * 2;
          },
          w(parts[i]));
      flow.submit(
          {.on = r1},
          [&, i](Ints) -> Coroutine {
            outgoing[i] = i + 1;
            co_await rank.messages().send({.rank = other, .tag = Tag{static_cast<std::uint64_t>(i)}},
                                          std::as_bytes(std::span{&outgoing[i], 1}));
          },
          w(sums[1]));
    }
    flow.wait();
    if (rank.self() == r0) {
      for (int i = 0; i < count; ++i) {
        EXPECT_EQ(parts[i].local()[0], 2 * (i + 1));
      }
    }
  });
}

TEST_P(Coroutines, start_without_a_datum_that_comes_later) {
  run_on_ranks({.ranks = 2}, options(), [](LocalRank& rank) {
    Flow flow{rank};
    const Data<int> a = flow.data<int>(r0, 3);
    const Data<int> b = flow.data<int>(r1, 3);
    std::atomic<bool> has_begun = false;
    const auto make = [](Ints value) { std::iota(value.begin(), value.end(), 4); };
    flow.submit(make, w(a));
    for (int round = 0; round < 10; ++round) {
      flow.submit(
          [&](Ints to, Later<int> from) -> Coroutine {
            has_begun = true;
            to[0] = 0;
            const ConstInts values = co_await from;
            to[0] = values[2];
            EXPECT_EQ((co_await from)[0], values[0]) << "asked again it is there";
          },
          w(b),
          later(a));
      flow.submit([](Ints value) { ++value[2]; }, rw(a));  // not before it was read
    }
    int seen = 0;
    flow.submit([&](ConstInts value) { seen = value[0]; }, r(b));
    flow.wait();
    EXPECT_EQ(has_begun, rank.self() == r1);
    if (rank.self() == r1) {
      EXPECT_EQ(seen, 6 + 9);
    }
  });
}

TEST_P(Coroutines, that_never_ask_for_a_later_datum_do_not_let_its_writer_be_overtaken) {
  run_on_ranks({.ranks = 1}, options(), [](LocalRank& rank) {
    Flow flow{rank};
    const Data<int> a = flow.data<int>(r0, 1);
    const Data<int> b = flow.data<int>(r0, 1);
    for (int round = 0; round < 200; ++round) {
      flow.submit([](Ints value) { value[0] = 1; }, w(a));
      flow.submit([](Ints, Later<int>) -> Coroutine { co_return; }, w(b), later(a));
      flow.submit([](Ints value) { value[0] = 2; }, w(a));
    }
    flow.wait();
    EXPECT_EQ(a.local()[0], 2);
  });
}

TEST_P(Coroutines, wait_for_other_tasks) {
  run_on_ranks({.ranks = 1}, options(), [](LocalRank& rank) {
    Flow flow{rank};
    std::vector<Data<int>> data;
    std::vector<Submitted> tasks;
    std::atomic<int> ended = 0;
    for (int i = 0; i < 30; ++i) {
      data.push_back(flow.data<int>(r0, 1));
      tasks.push_back(flow.submit([&](Ints) { ++ended; }, w(data.back())));
    }
    const Data<int> result = flow.data<int>(r0, 1);
    const Submitted nothing;
    flow.submit(
        [&, tasks](Ints value) -> Coroutine {
          for (const Submitted& task : tasks) {
            co_await task;
          }
          co_await nothing;
          value[0] = ended;
        },
        w(result));
    flow.wait();
    EXPECT_EQ(result.local()[0], 30);
  });
}

TEST_P(Coroutines, can_be_spawned_without_data_on_one_rank) {
  run_on_ranks({.ranks = 2}, options(), [](LocalRank& rank) {
    Flow flow{rank};
    int received = 0;
    const int sent = 17;
    if (rank.self() == r0) {
      flow.spawn([&]() -> Coroutine {
        co_await rank.messages().receive({.rank = r1, .tag = Tag{3}}, std::as_writable_bytes(std::span{&received, 1}));
        ++received;
      });
    } else {
      flow.spawn([&] { (void)rank.messages().send({.rank = r0, .tag = Tag{3}}, std::as_bytes(std::span{&sent, 1})); });
    }
    flow.wait();
    EXPECT_EQ(received, rank.self() == r0 ? 18 : 0);
  });
}

TEST_P(Coroutines, end_the_run_with_what_they_throw_after_a_wait) {
  const auto errors = plait::test::errors_on_ranks({.ranks = 1}, options(), [](LocalRank& rank) {
    Flow flow{rank};
    const Data<int> a = flow.data<int>(r0, 1);
    const Data<int> b = flow.data<int>(r0, 1);
    flow.submit([](Ints) {}, w(a));
    flow.submit(
        {.kind = flow.kind("sleeper")},
        [](Ints, Later<int> other) -> Coroutine {
          co_await other;
          throw std::runtime_error{"bad dream"};
        },
        w(b),
        later(a));
    flow.wait();
  });
  EXPECT_EQ(errors[0], "task 'sleeper' on rank 0 threw: bad dream");
}

INSTANTIATE_TEST_SUITE_P(Workers, Coroutines, testing::Values(1U, 3U));

}  // namespace
}  // namespace plait::task::coroutine_test
