// SPDX-License-Identifier: Apache-2.0
#include "plait/task/open_run.hpp"

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "plait/net/loopback/loopback.hpp"
#include "plait/task/detail/node.hpp"
#include "plait/task/run/kinds.hpp"

namespace plait::task::open_run_test {
namespace {

using detail::Node;

/// One rank with workers, and tasks of no graph that it owns.
class OpenRuns : public testing::TestWithParam<std::uint32_t>, protected detail::Ending {
 protected:
  Node& task(Body body, std::uint32_t waits = 0) {
    Node& node = *nodes_.emplace_back(std::make_unique<Node>(TaskKind{0}));
    node.body = std::move(body);
    node.ending = this;
    node.label = &label_;
    node.waits = waits + 1;
    return node;
  }
  void ended(Node& node, detail::ReadySink& sink) noexcept override {
    ++ended_count_;
    if (node.object != 0) {  // its successor's place
      Node& next = *nodes_[node.object];
      if (next.waits.fetch_sub(1) == 1) {
        sink.ready(next);
      }
    }
    if (&node == repeated_ && repeats_left_ > 0) {
      --repeats_left_;
      sink.again(node);
    }
  }

  net::LoopbackNetwork network_{1};
  SteadyClock clock_;
  trace::Recorder recorder_{clock_};
  std::unique_ptr<net::Driver> driver_ = network_.driver(Rank{0});
  comm::Endpoint endpoint_{*driver_, recorder_};
  detail::Label label_{"dynamic", recorder_.name(trace::Role::task, "dynamic")};
  std::vector<std::unique_ptr<Node>> nodes_;
  std::atomic<int> ended_count_ = 0;
  Node* repeated_ = nullptr;
  int repeats_left_ = 0;
  Scheduler scheduler_{endpoint_, recorder_, {.worker_count = GetParam()}};
};

TEST_P(OpenRuns, run_what_comes_while_they_go_on_and_can_be_opened_again) {
  std::atomic<int> ran = 0;
  for (int round = 0; round < 3; ++round) {
    OpenRun run{scheduler_, [] { return std::string{}; }};
    for (int i = 0; i < 100; ++i) {
      run.submit(task([&](TaskContext&) { ++ran; }));
    }
    run.help_until([&] { return ended_count_ >= round * 110 + 50; });
    for (int i = 0; i < 10; ++i) {
      run.submit(task([&](TaskContext&) { ++ran; }));
    }
    run.close();
    EXPECT_EQ(ended_count_, (round + 1) * 110);
  }
  EXPECT_EQ(ran, 330);
}

TEST_P(OpenRuns, hand_over_what_the_owner_of_an_ended_task_finds_ready) {
  int value = 0;
  Node& first = task([&](TaskContext&) { value = 1; });
  Node& second = task([&](TaskContext&) { value = value * 10 + 2; }, 1);
  first.object = 1;
  OpenRun run{scheduler_, [] { return std::string{}; }};
  run.submit(second);
  run.submit(first);
  run.close();
  EXPECT_EQ(value, 12);
}

TEST_P(OpenRuns, run_a_task_again_that_its_owner_hands_over_again) {
  std::atomic<int> ran = 0;
  repeated_ = &task([&](TaskContext&) { ++ran; });
  repeats_left_ = 4;
  OpenRun run{scheduler_, [] { return std::string{}; }};
  run.submit(*repeated_);
  run.close();
  EXPECT_EQ(ran, 5);
}

TEST_P(OpenRuns, run_a_task_that_goes_on_from_its_beginning_when_it_comes_again) {
  std::atomic<int> begun = 0;
  std::atomic<int> gone_on = 0;
  OpenRun run{scheduler_, [] { return std::string{}; }};
  Node& node = task([&](TaskContext& context) {
    ++begun;
    context.then([&](TaskContext&) { ++gone_on; });
  });
  repeated_ = &node;
  repeats_left_ = 2;
  run.submit(node);
  run.close();
  EXPECT_EQ(begun, 3);
  EXPECT_EQ(gone_on, 3);
}

TEST_P(OpenRuns, wait_for_events_that_another_thread_tells) {
  Node& event = task({});
  event.role = detail::Role::event;
  OpenRun run{scheduler_, [] { return std::string{}; }};
  run.expect_end(event);
  std::jthread other{[&] { run.has_ended(event); }};
  run.close();
  EXPECT_EQ(ended_count_, 1);
}

TEST_P(OpenRuns, throw_what_a_task_threw_with_its_name) {
  OpenRun run{scheduler_, [] { return std::string{}; }};
  run.submit(task([](TaskContext&) { throw std::runtime_error{"out of ink"}; }));
  try {
    run.close();
    FAIL() << "the exception comes out of close";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "task 'dynamic' on rank 0 threw: out of ink");
  }
  EXPECT_THROW((OpenRun{scheduler_, {}}), Error);
}

TEST_P(OpenRuns, take_tasks_from_any_thread_and_from_tasks_of_other_runs) {
  std::atomic<int> ran = 0;
  std::vector<Node*> nodes;
  for (int i = 0; i < 200; ++i) {
    nodes.push_back(&task([&](TaskContext&) { ++ran; }));
  }
  OpenRun first{scheduler_, nullptr};
  OpenRun second{scheduler_, nullptr};
  Node& from_task = task([&](TaskContext&) {
    for (int i = 0; i < 100; ++i) {
      second.submit(*nodes[i]);
    }
  });
  first.submit(from_task);
  std::jthread other{[&] {
    for (int i = 100; i < 200; ++i) {
      second.submit(*nodes[i]);
    }
  }};
  second.help_until([&] { return ran == 200; });
  other.join();
  second.close();
  first.close();
  EXPECT_EQ(ran, 200);
}

TEST_P(OpenRuns, close_by_themselves_when_their_condition_is_met) {
  std::atomic<int> ran = 0;
  std::atomic<bool> is_complete = false;
  OpenRun run{scheduler_, nullptr};
  run.submit(task([&](TaskContext&) { ++ran; }));
  run.close_when([&] { return is_complete.load(); });
  Node& event = task({});
  event.role = detail::Role::event;
  run.expect_end(event);
  EXPECT_FALSE(run.test());
  run.has_ended(event);
  is_complete = true;
  run.wait();
  EXPECT_TRUE(run.is_over());
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(ended_count_, 2);
}

TEST_P(OpenRuns, end_without_a_waiting_thread_if_there_are_workers) {
  if (GetParam() == 1) {
    GTEST_SKIP() << "the only worker executes tasks only while a thread waits";
  }
  std::atomic<int> ran = 0;
  OpenRun run{scheduler_, nullptr};
  for (int i = 0; i < 10; ++i) {
    run.submit(task([&](TaskContext&) { ++ran; }));
  }
  run.close_when([] { return true; });
  const comm::Request request = run.request();
  while (!request.is_complete()) {
    std::this_thread::yield();
  }
  EXPECT_TRUE(run.is_over());
  EXPECT_EQ(ran, 10);
}

INSTANTIATE_TEST_SUITE_P(Workers, OpenRuns, testing::Values(1U, 3U));

}  // namespace
}  // namespace plait::task::open_run_test
