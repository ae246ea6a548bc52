// SPDX-License-Identifier: Apache-2.0
#include "plait/task/flow/flow.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <numeric>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "plait/testing/local_rank.hpp"

namespace plait::task::flow_test {
namespace {

using plait::test::LocalRank;
using plait::test::run_on_ranks;
using Ints = std::span<int>;
using ConstInts = std::span<const int>;

constexpr Rank r0{0};
constexpr Rank r1{1};
constexpr Rank r2{2};

class Flows : public testing::TestWithParam<std::uint32_t> {
 protected:
  SchedulerOptions options() const { return {.worker_count = GetParam()}; }
};

TEST_P(Flows, order_tasks_by_what_they_do_with_which_datum) {
  run_on_ranks({.ranks = 1}, options(), [](LocalRank& rank) {
    Flow flow{rank};
    const Data<int> a = flow.data<int>(r0, 1);
    std::vector<int> seen(100);
    flow.submit([](Ints value) { value[0] = 0; }, w(a));
    for (int i = 0; i < 100; ++i) {
      flow.submit([](Ints value) { ++value[0]; }, rw(a));
      flow.submit([&seen, i](ConstInts value) { seen[i] = value[0]; }, r(a));
    }
    flow.wait();
    std::vector<int> expected(100);
    std::iota(expected.begin(), expected.end(), 1);
    EXPECT_EQ(seen, expected);
    EXPECT_EQ(a.local()[0], 100);
  });
}

TEST_P(Flows, execute_where_the_written_datum_is_owned_and_send_what_is_read_there) {
  run_on_ranks({.ranks = 3}, options(), [](LocalRank& rank) {
    Flow flow{rank};
    std::array<Data<int>, 3> data;
    for (std::uint32_t owner = 0; owner < 3; ++owner) {
      data[owner] = flow.data<int>(Rank{owner}, 1000);
    }
    std::atomic<int> executed = 0;
    flow.submit([](Ints first) { std::iota(first.begin(), first.end(), 5); }, w(data[0]));
    for (std::size_t i = 1; i < 3; ++i) {
      flow.submit(
          [&](ConstInts from, Ints to) {
            ++executed;
            std::ranges::transform(from, to.begin(), [](int value) { return value * 2; });
          },
          r(data[i - 1]),
          w(data[i]));
    }
    flow.wait();
    EXPECT_EQ(executed, rank.self() == r0 ? 0 : 1);
    const std::size_t self = rank.self().value();
    EXPECT_EQ(data[self].local()[999], (5 + 999) << self);
    EXPECT_EQ(flow.statistics().copy_bytes, 0U) << "wait() leaves no copies";
  });
}

TEST_P(Flows, start_with_what_the_owner_has_set_and_go_on_after_a_wait) {
  run_on_ranks({.ranks = 2}, options(), [](LocalRank& rank) {
    Flow flow{rank};
    std::vector<int> mine(4, 7);
    const Data<int> a = flow.data<int>(r0, 4, std::span{mine});
    const Data<int> b = flow.data<int>(r1, 4);
    if (rank.self() == r1) {
      std::ranges::fill(b.local(), 1);
    }
    for (int round = 0; round < 3; ++round) {
      flow.submit([](ConstInts from, Ints to) { to[2] += from[2]; }, r(a), rw(b));
      flow.wait();
      if (rank.self() == r0) {
        mine[2] += 10;  // the copies are gone: the next round must see it
      } else {
        EXPECT_EQ(b.local()[2], (std::array<int, 3>{1 + 7, 8 + 17, 25 + 27}[round]));
      }
    }
  });
}

TEST_P(Flows, send_a_datum_once_to_a_rank_until_it_is_written_again_or_flushed) {
  run_on_ranks({.ranks = 2}, options(), [](LocalRank& rank) {
    Flow flow{rank};
    const Data<int> a = flow.data<int>(r0, 100);
    const Data<int> b = flow.data<int>(r1, 1);
    const auto read_often = [&] {
      for (int i = 0; i < 10; ++i) {
        flow.submit([](ConstInts from, Ints to) { to[0] = from[99]; }, r(a), w(b));
      }
    };
    flow.submit([](Ints value) { value[99] = 1; }, w(a));
    read_often();
    flow.wait();
    EXPECT_EQ(flow.statistics().messages_received, rank.self() == r1 ? 1U : 0U);
    flow.submit([](Ints value) { value[99] = 2; }, w(a));
    read_often();
    flow.flush(a);
    read_often();
    flow.wait();
    EXPECT_EQ(flow.statistics().messages_received, rank.self() == r1 ? 3U : 0U);
    if (rank.self() == r1) {
      EXPECT_EQ(b.local()[0], 2);
    }
  });
}

TEST_P(Flows, send_to_several_readers_as_one_multicast) {
  constexpr std::uint32_t count = 4;
  for (const Fanout fanout : {Fanout::multicast, Fanout::single_messages}) {
    run_on_ranks({.ranks = count}, options(), [&](LocalRank& rank) {
      Flow flow{rank, {.fanout = fanout}};
      const Data<int> a = flow.data<int>(r0, 10'000);
      std::vector<Data<int>> sums;
      std::atomic<bool> may_start = false;
      flow.submit(
          [&](Ints value) {
            while (!may_start) {  // until all readers are submitted
              std::this_thread::yield();
            }
            std::ranges::fill(value, 3);
          },
          w(a));
      for (std::uint32_t owner = 0; owner < count; ++owner) {
        sums.push_back(flow.data<int>(Rank{owner}, 1));
        flow.submit([](ConstInts from, Ints to) { to[0] = std::accumulate(from.begin(), from.end(), 0); },
                    r(a),
                    w(sums.back()));
      }
      may_start = true;
      flow.wait();
      EXPECT_EQ(sums[rank.self().value()].local()[0], 30'000);
      const FlowStatistics statistics = flow.statistics();
      if (rank.self() == r0) {
        EXPECT_EQ(statistics.messages_sent, fanout == Fanout::multicast ? 1U : count - 1);
        EXPECT_EQ(statistics.ranks_sent_to, count - 1);
      }
    });
  }
}

TEST_P(Flows, execute_elsewhere_when_told_and_bring_the_value_home_at_the_end) {
  run_on_ranks({.ranks = 3}, options(), [](LocalRank& rank) {
    Flow flow{rank};
    const Data<int> a = flow.data<int>(r0, 1);
    std::set<std::uint32_t> executed_by;
    std::mutex mutex;
    flow.submit([](Ints value) { value[0] = 1; }, w(a));
    for (std::uint32_t step = 0; step < 6; ++step) {
      flow.submit(
          {.on = Rank{step % 3}},
          [&](Ints value) {
            const std::lock_guard lock{mutex};
            executed_by.insert(rank.self().value());
            value[0] = value[0] * 3 + 1;
          },
          rw(a));
    }
    flow.submit({.on = r2}, [](Ints value) { value[0] += 1; }, rw(a));
    flow.flush(a);
    flow.submit({.on = r1}, [](Ints value) { value[0] += 1; }, rw(a));
    flow.wait();
    EXPECT_EQ(executed_by, std::set<std::uint32_t>{rank.self().value()});
    if (rank.self() == r0) {
      EXPECT_EQ(a.local()[0], 1093 + 2);
    }
  });
}

TEST_P(Flows, write_elsewhere_what_was_never_at_home) {
  run_on_ranks({.ranks = 2}, options(), [](LocalRank& rank) {
    Flow flow{rank};
    const Data<int> a = flow.data<int>(r0, 3);
    flow.submit({.on = r1}, [](Ints value) { std::ranges::fill(value, 9); }, w(a));
    flow.wait();
    if (rank.self() == r0) {
      EXPECT_EQ(a.local()[2], 9);
    }
  });
}

TEST_P(Flows, commute_in_any_order_but_one_at_a_time) {
  run_on_ranks({.ranks = 1}, options(), [](LocalRank& rank) {
    Flow flow{rank};
    const Data<int> sum = flow.data<int>(r0, 1);
    std::vector<Data<int>> inputs;
    flow.submit([](Ints value) { value[0] = 0; }, w(sum));
    std::atomic<int> inside = 0;
    std::atomic<int> crowded = 0;
    for (int i = 0; i < 300; ++i) {
      inputs.push_back(flow.data<int>(r0, 1));
      flow.submit([i](Ints value) { value[0] = i; }, w(inputs.back()));
      flow.submit(
          [&](ConstInts input, Ints value) {
            crowded += inside.fetch_add(1);
            value[0] += input[0];
            --inside;
          },
          r(inputs.back()),
          commute(sum));
    }
    int seen = 0;
    flow.submit([&](ConstInts value) { seen = value[0]; }, r(sum));
    flow.submit([](Ints value) { value[0] += 1; }, commute(sum));
    flow.wait();
    EXPECT_EQ(seen, 300 * 299 / 2);
    EXPECT_EQ(sum.local()[0], seen + 1);
    EXPECT_EQ(crowded, 0);
  });
}

TEST_P(Flows, let_a_later_commuting_task_pass_one_that_waits_for_its_input) {
  run_on_ranks({.ranks = 1}, {.worker_count = GetParam()}, [](LocalRank& rank) {
    Flow flow{rank};
    const Data<int> slow = flow.data<int>(r0, 1);
    const Data<int> sum = flow.data<int>(r0, 1);
    std::vector<int> order;
    std::atomic<bool> has_passed = false;
    flow.submit([](Ints value) { value[0] = 0; }, w(sum));
    if (rank.scheduler().worker_count() > 1) {  // with one worker nothing else could run while this waits
      flow.submit(
          [&](Ints value) {
            while (!has_passed) {
              std::this_thread::yield();
            }
            value[0] = 1;
          },
          w(slow));
    } else {
      flow.submit([](Ints value) { value[0] = 1; }, w(slow));
    }
    flow.submit([&](ConstInts, Ints) { order.push_back(1); }, r(slow), commute(sum));
    flow.submit(
        [&](Ints) {
          order.push_back(2);
          has_passed = true;
        },
        commute(sum));
    flow.wait();
    EXPECT_EQ(order.size(), 2U);
    EXPECT_TRUE(rank.scheduler().worker_count() == 1 || order.front() == 2);
  });
}

TEST_P(Flows, reduce_on_each_rank_and_combine_at_the_next_use) {
  constexpr std::uint32_t count = 4;
  run_on_ranks({.ranks = count}, options(), [](LocalRank& rank) {
    Flow flow{rank};
    const Data<double> sum = flow.data<double>(r1, 5);
    sum.reduces_with(0.0, [](double& into, double from) { into += from; });
    const Data<double> twice = flow.data<double>(r2, 5);
    std::vector<Data<double>> parts;
    for (std::uint32_t i = 0; i < 40; ++i) {
      parts.push_back(flow.data<double>(Rank{i % count}, 5));
      flow.submit([i](std::span<double> part) { std::ranges::fill(part, i + 1.0); }, w(parts.back()));
    }
    for (int round = 1; round <= 2; ++round) {
      for (const Data<double>& part : parts) {  // where the part is; the sum starts from nothing
        flow.submit(
            [](std::span<const double> from, std::span<double> into) {
              for (std::size_t i = 0; i < into.size(); ++i) {
                into[i] += from[i];
              }
            },
            r(part),
            reduce(sum));
      }
      flow.submit([](std::span<const double> from, std::span<double> to) { std::ranges::copy(from, to.begin()); },
                  r(sum),
                  w(twice));
    }
    flow.wait();
    if (rank.self() == r1) {
      EXPECT_EQ(sum.local()[4], 2 * 820.0);
    }
    if (rank.self() == r2) {
      EXPECT_EQ(twice.local()[0], 2 * 820.0);
    }
    EXPECT_EQ(flow.statistics().copy_bytes, 0U);
  });
}

TEST_P(Flows, execute_the_more_urgent_of_ready_tasks_first) {
  run_on_ranks({.ranks = 1}, {.worker_count = 1}, [](LocalRank& rank) {
    Flow flow{rank};
    std::vector<int> order;
    std::vector<Data<int>> data;
    for (int i = 0; i < 20; ++i) {
      data.push_back(flow.data<int>(r0, 1));
      flow.submit({.priority = i}, [&order, i](Ints) { order.push_back(i); }, w(data.back()));
    }
    flow.wait();
    std::vector<int> expected(20);
    std::iota(expected.rbegin(), expected.rend(), 0);
    EXPECT_EQ(order, expected);
  });
}

TEST_P(Flows, keep_no_more_tasks_than_the_window) {
  run_on_ranks({.ranks = 2}, options(), [](LocalRank& rank) {
    Flow flow{rank, {.window = 64}};
    const Data<int> a = flow.data<int>(r0, 1);
    const Data<int> b = flow.data<int>(r1, 1);
    flow.submit([](Ints value) { value[0] = 0; }, w(a));
    flow.submit([](Ints value) { value[0] = 0; }, w(b));
    std::atomic<int> submitted = 0;
    std::atomic<int> executed = 0;
    std::atomic<int> most = 0;
    for (int i = 0; i < 20'000; ++i) {
      ++submitted;
      flow.submit(
          [&](Ints value) {
            ++value[0];
            most = std::max(most.load(), submitted - ++executed);
          },
          rw(i % 2 == 0 ? a : b));
    }
    flow.wait();
    EXPECT_EQ(executed, 10'000);
    EXPECT_EQ((rank.self() == r0 ? a : b).local()[0], 10'000);
    EXPECT_LE(flow.statistics().records_peak, 70U) << "memory is bounded by the window, not by the tasks";
  });
}

TEST_P(Flows, read_a_datum_for_ever_without_remembering_each_reader) {
  run_on_ranks({.ranks = 1}, options(), [](LocalRank& rank) {
    Flow flow{rank, {.window = 32}};
    const Data<int> a = flow.data<int>(r0, 1);
    flow.submit([](Ints value) { value[0] = 1; }, w(a));
    std::atomic<int> sum = 0;
    for (int i = 0; i < 5'000; ++i) {
      flow.submit([&](ConstInts value) { sum += value[0]; }, r(a));
    }
    flow.submit([](Ints value) { value[0] = 2; }, rw(a));
    flow.wait();
    EXPECT_EQ(sum, 5'000);
    EXPECT_LE(a.datum().local->home->readers.capacity(), 256U);
  });
}

TEST_P(Flows, take_receive_buffers_only_for_near_tasks_and_within_the_limit) {
  run_on_ranks({.ranks = 2}, options(), [](LocalRank& rank) {
    constexpr std::size_t count = 1000;
    Flow flow{rank, {.receive_ahead = 4, .copy_bytes_max = 8 * count * sizeof(int)}};
    const Data<int> sum = flow.data<int>(r1, 1);
    std::vector<Data<int>> inputs;
    flow.submit([](Ints value) { value[0] = 0; }, w(sum));
    for (int i = 0; i < 200; ++i) {
      inputs.push_back(flow.data<int>(r0, count));
      flow.submit([i](Ints value) { std::ranges::fill(value, i); }, w(inputs.back()));
      flow.submit([](ConstInts from, Ints to) { to[0] += from[count - 1]; }, r(inputs.back()), rw(sum));
      flow.flush(inputs.back());
    }
    flow.wait();
    const FlowStatistics statistics = flow.statistics();
    EXPECT_LE(statistics.copy_bytes_peak, 6 * count * sizeof(int));
    EXPECT_EQ(statistics.copy_bytes, 0U);
    if (rank.self() == r1) {
      EXPECT_EQ(sum.local()[0], 200 * 199 / 2);
      EXPECT_GE(statistics.copy_bytes_peak, count * sizeof(int));
    }
  });
}

TEST_P(Flows, keep_kernels_too_large_for_a_record) {
  run_on_ranks({.ranks = 1}, options(), [](LocalRank& rank) {
    Flow flow{rank};
    const Data<int> a = flow.data<int>(r0, 1);
    std::array<int, 500> large{};
    large[499] = 42;
    flow.submit([large](Ints value) { value[0] = large[499]; }, w(a));
    flow.wait();
    EXPECT_EQ(a.local()[0], 42);
  });
}

struct AddWorker {
  void operator()(TaskContext& context, Ints value) const { value[0] = 100 + context.worker().value(); }
};

TEST_P(Flows, call_function_objects_with_the_context_if_they_want_it) {
  run_on_ranks({.ranks = 1}, options(), [&](LocalRank& rank) {
    Flow flow{rank};
    const Data<int> a = flow.data<int>(r0, 1);
    flow.submit({.kind = flow.kind("add worker")}, AddWorker{}, w(a));
    flow.wait();
    EXPECT_LT(a.local()[0], 100 + static_cast<int>(GetParam()));
  });
}

TEST_P(Flows, take_accesses_that_are_known_at_run_time_only) {
  run_on_ranks({.ranks = 2}, options(), [](LocalRank& rank) {
    Flow flow{rank};
    const Data<int> sum = flow.data<int>(r1, 1);
    std::vector<AnyAccess> accesses{{&sum.datum(), rw(sum).mode}};
    flow.submit([](Ints value) { value[0] = 100; }, w(sum));
    std::vector<Data<int>> data;
    for (std::uint32_t i = 0; i < 12; ++i) {
      data.push_back(flow.data<int>(Rank{i % 2}, i + 1));
      flow.submit([i](Ints values) { std::ranges::fill(values, static_cast<int>(i)); }, w(data.back()));
      accesses.push_back({&data.back().datum(), r(data.back()).mode});
    }
    const auto add = [](TaskContext&, std::span<const std::span<std::byte>> bytes) {
      auto* const to = reinterpret_cast<int*>(bytes[0].data());
      for (const std::span<std::byte> from : bytes.subspan(1)) {
        *to += *reinterpret_cast<const int*>(from.data()) + static_cast<int>(from.size());
      }
    };
    const SubmitOptions named{.kind = flow.kind("add")};
    flow.submit_bytes(named, add, std::span{accesses}.first(3));
    flow.submit_bytes(named, add, accesses);
    flow.wait();
    if (rank.self() == r1) {
      EXPECT_EQ(sum.local()[0], 100 + (0 + 4 + 1 + 8) + (66 + 78 * 4));
    }
  });
}

TEST_P(Flows, can_follow_one_another_and_share_a_scheduler_with_graphs) {
  run_on_ranks({.ranks = 2}, options(), [](LocalRank& rank) {
    for (int round = 0; round < 3; ++round) {
      Flow flow{rank};
      const Data<int> a = flow.data<int>(r0, 1);
      const Data<int> b = flow.data<int>(r1, 1);
      flow.submit([](Ints value) { value[0] = 2; }, w(a));
      flow.submit([](ConstInts from, Ints to) { to[0] = from[0]; }, r(a), w(b));
      flow.wait();
      bool has_run = false;
      Graph graph;
      graph.task("between", [&] { has_run = true; });
      rank.scheduler().run(graph);
      EXPECT_TRUE(has_run);
      flow.wait();
    }
  });
}

TEST_P(Flows, cost_a_rank_nothing_where_tasks_concern_others_only) {
  run_on_ranks({.ranks = 3}, options(), [](LocalRank& rank) {
    Flow flow{rank};
    const Data<int> a = flow.data<int>(r0, 1);
    const Data<int> b = flow.data<int>(r1, 1);
    flow.submit([](Ints value) { value[0] = 1; }, w(a));
    for (int i = 0; i < 1'000; ++i) {
      flow.submit([](ConstInts from, Ints to) { to[0] = from[0] + 1; }, r(a), w(b));
      flow.submit([](ConstInts from, Ints to) { to[0] = from[0] + 1; }, r(b), w(a));
    }
    flow.wait();
    const FlowStatistics statistics = flow.statistics();
    if (rank.self() == r2) {
      EXPECT_EQ(statistics.executed + statistics.messages_sent + statistics.records_peak, 0U);
    } else {
      EXPECT_EQ(statistics.messages_received, 1'000U);
    }
    EXPECT_EQ(rank.self() == r0 ? a.local()[0] : 2001, 2001);
  });
}

TEST_P(Flows, of_one_program_do_not_take_each_others_messages) {
  run_on_ranks({.ranks = 2}, options(), [](LocalRank& rank) {
    const comm::CommId before = rank.messages().claim_comms(1)[0];
    const Flow first{rank};
    const Flow second{rank};
    const comm::CommId after = rank.messages().claim_comms(1)[0];
    EXPECT_EQ(after.value() - before.value(), 3U) << "each claims a communicator";
  });
}

INSTANTIATE_TEST_SUITE_P(Workers, Flows, testing::Values(1U, 3U));

}  // namespace
}  // namespace plait::task::flow_test
