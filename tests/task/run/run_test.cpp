// SPDX-License-Identifier: Apache-2.0
#include "plait/task/run/run.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "plait/net/loopback/loopback.hpp"
#include "plait/task/flow/flow.hpp"
#include "plait/task/open_run.hpp"
#include "plait/task/scheduler.hpp"

namespace plait::task::run_test {
namespace {

using std::chrono::milliseconds;

using RunHandle = Run;  // testing::Test has a private Run

class Runs : public testing::TestWithParam<std::uint32_t> {
 protected:
  /// A chain of tasks, of which each adds 1 to `count`.
  static void fill(Graph& graph, std::atomic<int>& count, int length) {
    Task before;
    for (int i = 0; i < length; ++i) {
      Task task = graph.task("link", [&count] { ++count; });
      if (i > 0) {
        task.after(before);
      }
      before = task;
    }
  }
  /// A task that waits for a message that no rank sends.
  Task hang(Graph& graph) { return graph.receive("hang", {.rank = Rank{0}, .tag = Tag{99}}, never_); }

  Bytes never_;
  net::LoopbackNetwork network_{1};
  SteadyClock clock_;
  trace::Recorder recorder_{clock_};
  std::unique_ptr<net::Driver> driver_ = network_.driver(Rank{0});
  comm::Endpoint endpoint_{*driver_, recorder_};
  Scheduler scheduler_{
      endpoint_, recorder_, {.worker_count = GetParam(), .stall_max = milliseconds{100}, .stall_folder = ""}};
};

TEST_P(Runs, of_several_graphs_are_under_way_at_once_and_end_in_any_order) {
  std::atomic<int> count = 0;
  std::vector<Graph> graphs(5);
  std::vector<RunHandle> runs;
  for (Graph& graph : graphs) {
    fill(graph, count, 100);
    runs.push_back(scheduler_.start(graph));
  }
  std::ranges::reverse(runs);
  for (RunHandle& run : runs) {
    run.wait();
    EXPECT_TRUE(run.is_over());
  }
  EXPECT_EQ(count, 500);
}

TEST_P(Runs, start_again_when_they_are_over) {
  std::atomic<int> count = 0;
  Graph graph;
  fill(graph, count, 10);
  for (int step = 1; step <= 200; ++step) {  // more than there are places for runs
    RunHandle run = scheduler_.start(graph);
    run.wait();
    ASSERT_EQ(count, 10 * step);
  }
}

TEST_P(Runs, of_one_graph_are_refused_while_one_is_under_way) {
  std::atomic<bool> may_end = false;
  Graph graph;
  graph.task("long", [&] {
    while (!may_end) {
      std::this_thread::yield();
    }
  });
  RunHandle run = scheduler_.start(graph);
  EXPECT_THROW((void)scheduler_.start(graph), Error);
  may_end = true;
  run.wait();
  scheduler_.run(graph);
}

TEST_P(Runs, are_refused_when_too_many_are_open) {
  std::vector<std::unique_ptr<OpenRun>> runs;
  const auto open = [&] { runs.push_back(std::make_unique<OpenRun>(scheduler_, nullptr)); };
  for (int i = 0; i < 64; ++i) {
    open();
  }
  EXPECT_THROW(open(), Error);
  runs.pop_back();
  open();
}

TEST_P(Runs, of_a_graph_go_on_beside_a_flow) {
  std::atomic<int> count = 0;
  Graph graph;
  fill(graph, count, 1000);
  Flow flow{endpoint_, scheduler_, recorder_};
  const Data<int> sum = flow.data<int>(Rank{0}, 1);
  flow.submit([](std::span<int> value) { value[0] = 0; }, w(sum));
  RunHandle run = scheduler_.start(graph);
  for (int i = 0; i < 100; ++i) {
    flow.submit([](std::span<int> value) { ++value[0]; }, rw(sum));
  }
  run.wait();
  EXPECT_EQ(count, 1000);
  scheduler_.run(graph);
  flow.wait();
  EXPECT_EQ(sum.local()[0], 100);
  EXPECT_EQ(count, 2000);
}

TEST_P(Runs, of_two_flows_go_on_beside_each_other) {
  Flow first{endpoint_, scheduler_, recorder_};
  Flow second{endpoint_, scheduler_, recorder_};
  const Data<int> a = first.data<int>(Rank{0}, 1);
  const Data<int> b = second.data<int>(Rank{0}, 1);
  a.local()[0] = b.local()[0] = 0;
  for (int i = 0; i < 300; ++i) {
    first.submit([](std::span<int> value) { ++value[0]; }, rw(a));
    second.submit([](std::span<int> value) { value[0] += 2; }, rw(b));
  }
  second.wait();
  first.wait();
  EXPECT_EQ(a.local()[0], 300);
  EXPECT_EQ(b.local()[0], 600);
}

TEST_P(Runs, can_be_tested_until_they_are_over) {
  std::atomic<int> count = 0;
  Graph graph;
  fill(graph, count, 500);
  RunHandle run = scheduler_.start(graph);
  while (!run.test()) {
  }
  EXPECT_EQ(count, 500);
  EXPECT_TRUE(RunHandle{}.test());
}

TEST_P(Runs, end_before_their_handle_does) {
  std::atomic<int> count = 0;
  Graph graph;
  fill(graph, count, 500);
  {
    const RunHandle run = scheduler_.start(graph);
  }
  EXPECT_EQ(count, 500);
  RunHandle run = scheduler_.start(graph);
  Graph other;
  fill(other, count, 500);
  run = scheduler_.start(other);  // waits for the first
  EXPECT_GE(count, 1000);
  run.wait();
  EXPECT_EQ(count, 1500);
}

TEST_P(Runs, are_continued) {
  std::atomic<int> count = 0;
  std::atomic<int> seen = 0;
  Graph graph;
  fill(graph, count, 50);
  RunHandle run = scheduler_.start(graph);
  run.then([&] { seen += count; });
  run.wait();
  run.then([&] { seen += 1000; });
  while (seen < 1050) {  // another worker may call the first
  }
  EXPECT_EQ(seen, 1050);
}

TEST_P(Runs, are_awaited_by_tasks_of_others) {
  std::atomic<int> count = 0;
  std::atomic<int> seen = 0;
  Graph first;
  fill(first, count, 200);
  RunHandle run = scheduler_.start(first);
  Graph second;
  const TaskKind kind = second.kind("after");
  Task waits = second.task(
      "wait", [&](TaskContext& context) { context.wait_for(kind, run.request(), [&] { seen = count.load(); }); });
  second.task("last", [&] { seen += 1; }).after(waits);
  scheduler_.run(second);
  EXPECT_EQ(seen, 201);
  run.wait();
}

TEST_P(Runs, are_awaited_by_coroutines_of_a_flow) {
  std::atomic<int> count = 0;
  Graph graph;
  fill(graph, count, 200);
  RunHandle run = scheduler_.start(graph);
  Flow flow{endpoint_, scheduler_, recorder_};
  const Data<int> seen = flow.data<int>(Rank{0}, 1);
  flow.submit(
      [&](std::span<int> value) -> Coroutine {
        co_await run.request();
        value[0] = count;
      },
      w(seen));
  flow.wait();
  EXPECT_EQ(seen.local()[0], 200);
  run.wait();
}

TEST_P(Runs, are_started_by_tasks_of_others_and_by_what_continues_them) {
  std::atomic<int> count = 0;
  Graph first;
  Graph second;
  fill(second, count, 100);
  RunHandle run;
  first.task("start", [&] { run = scheduler_.start(second); });
  scheduler_.run(first);
  run.wait();
  EXPECT_EQ(count, 100);
}

TEST_P(Runs, cannot_be_waited_for_in_a_task) {
  std::atomic<int> count = 0;
  Graph first;
  fill(first, count, 10);
  Graph second;
  second.task("waits", [&] { scheduler_.run(first); });
  try {
    scheduler_.run(second);
    FAIL() << "the wait is refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_argument);
  }
}

TEST_P(Runs, all_end_with_the_error_of_one) {
  Graph stuck;
  hang(stuck);
  Graph broken;
  broken.task("broken", [] { throw std::runtime_error{"out of ink"}; });
  RunHandle first = scheduler_.start(stuck);
  RunHandle second = scheduler_.start(broken);
  for (RunHandle* const run : {&first, &second, &first}) {
    try {
      run->wait();
      FAIL() << "each handle throws the error";
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "task 'broken' on rank 0 threw: out of ink");
    }
  }
  EXPECT_FALSE(first.is_over());
  EXPECT_THROW((void)scheduler_.start(broken), Error);
}

TEST_P(Runs, that_are_stuck_are_found_while_another_progresses) {
  Graph stuck;
  hang(stuck);
  Graph busy;
  std::atomic<bool> has_failed = false;
  const TaskKind kind = busy.kind("spawned");
  std::function<void(TaskContext&)> again = [&](TaskContext& context) {
    if (!has_failed) {
      std::this_thread::yield();
      context.spawn(kind, again);
    }
  };
  busy.task(kind, again);
  RunHandle second = scheduler_.start(busy);
  RunHandle first = scheduler_.start(stuck);
  try {
    first.wait();
    FAIL() << "nothing of the run moves";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::timeout);
    EXPECT_NE(std::string{error.what()}.find("hang (from rank 0, tag 99)"), std::string::npos) << error.what();
  }
  has_failed = true;
}

TEST_P(Runs, are_waited_for_by_several_threads_at_once) {
  std::atomic<int> count = 0;
  constexpr int thread_count = 4;
  constexpr int steps = 50;
  std::vector<Graph> graphs(thread_count);
  {
    std::vector<std::jthread> threads;
    for (Graph& graph : graphs) {
      fill(graph, count, 20);
      threads.emplace_back([&] {
        for (int step = 0; step < steps; ++step) {
          if (step % 2 == 0) {
            scheduler_.run(graph);
          } else {
            RunHandle run = scheduler_.start(graph);
            run.wait();
          }
        }
      });
    }
  }
  EXPECT_EQ(count, thread_count * steps * 20);
}

TEST_P(Runs, go_on_while_no_thread_waits_if_there_are_workers) {
  if (GetParam() == 1) {
    GTEST_SKIP() << "the only worker executes tasks only while a thread waits";
  }
  std::atomic<int> count = 0;
  Graph graph;
  fill(graph, count, 100);
  const RunHandle run = scheduler_.start(graph);
  while (!run.is_over()) {
    std::this_thread::yield();
  }
  EXPECT_EQ(count, 100);
}

INSTANTIATE_TEST_SUITE_P(Workers, Runs, testing::Values(1U, 3U));

}  // namespace
}  // namespace plait::task::run_test
