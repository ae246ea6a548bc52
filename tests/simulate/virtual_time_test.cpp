// SPDX-License-Identifier: Apache-2.0
#include "plait/simulate/virtual_time.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "plait/base/error.hpp"
#include "plait/comm/collectives/barrier.hpp"
#include "plait/net/loopback/loopback.hpp"
#include "plait/runtime/runtime.hpp"
#include "plait/task/flow/flow.hpp"
#include "plait/testing/world.hpp"

namespace plait::simulate::virtual_time_test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// Runs `rank` on `rank_count` simulated ranks; returns the time at the end.
nanoseconds simulate(std::uint32_t rank_count,
                     TaskCosts& costs,
                     const std::function<void(Runtime&)>& rank,
                     std::uint32_t workers = 1) {
  const SteadyClock machine;
  VirtualTime time{rank_count, costs, machine};
  net::SimOptions network_options;
  network_options.executors = time.executors();
  net::SimNetwork network{rank_count, network_options};
  time.run(network, [&](Rank self) {
    Options options;
    options.worker_count = workers;
    Runtime runtime{network.driver(self), options};
    rank(runtime);
  });
  return network.clock().now();
}

/// Ranks add numbers in a ring, and each multiplies what has arrived: a graph with messages.
std::uint64_t ring(Runtime& runtime, std::string* log) {
  const std::uint32_t self = runtime.self().value();
  const std::uint32_t count = runtime.rank_count();
  std::array<std::uint64_t, 1> out{self + 1};
  std::array<std::uint64_t, 1> in{};
  std::uint64_t sum = 0;
  task::Graph graph;
  task::Task first = graph.task("work", [&] { out[0] *= 3; });
  task::Task send = graph.send(
      "message", {.rank = Rank{(self + 1) % count}, .tag = Tag{7}}, [&] { return std::as_bytes(std::span{out}); });
  const task::Task receive = graph.receive(
      "message", {.rank = Rank{(self + count - 1) % count}, .tag = Tag{7}}, std::as_writable_bytes(std::span{in}));
  send.after(first);
  graph.task("work", [&] { sum = out[0] + in[0]; }).after(receive).after(first);
  for (int step = 0; step < 3; ++step) {
    runtime.run(graph);
    if (log != nullptr) {
      *log += fmt::format("{} {} {} {}\n", self, step, sum, runtime.trace().now().count());
    }
    out[0] = sum;
  }
  return sum;
}

TEST(VirtualTime, a_graph_with_messages_computes_what_threads_compute) {
  std::vector<std::uint64_t> real(2);
  test::throw_first(test::run_threads({.ranks = 2}, [&](auto driver, const auto&) {
    Runtime runtime{std::move(driver), Options{}};
    real[runtime.self().value()] = ring(runtime, nullptr);
  }));
  std::vector<std::uint64_t> simulated(2);
  TaskCosts costs{{.kinds = {{"work", milliseconds{1}}}}};
  const nanoseconds end =
      simulate(2, costs, [&](Runtime& runtime) { simulated[runtime.self().value()] = ring(runtime, nullptr); });
  EXPECT_EQ(simulated, real);
  EXPECT_GE(end, milliseconds{6});  // three steps of two tasks one after the other
  EXPECT_LT(end, milliseconds{7});
}

TEST(VirtualTime, repeats_a_run_event_by_event) {
  for (const std::uint32_t workers : {1U, 3U}) {
    std::array<std::string, 2> logs;
    for (std::string& log : logs) {
      TaskCosts costs{{.kinds = {{"work", microseconds{37}}}}};
      (void)simulate(5, costs, [&](Runtime& runtime) { (void)ring(runtime, &log); }, workers);
    }
    EXPECT_FALSE(logs[0].empty());
    EXPECT_EQ(logs[0], logs[1]);
  }
}

TEST(VirtualTime, workers_of_a_rank_compute_side_by_side) {
  for (const std::uint32_t workers : {1U, 2U, 4U}) {
    TaskCosts costs{{.kinds = {{"work", seconds{1}}}, .bodies = BodyUse::skipped}};
    int bodies = 0;
    const nanoseconds end = simulate(
        1,
        costs,
        [&](Runtime& runtime) {
          task::Graph graph;
          const task::TaskKind work = graph.kind("work");
          for (int task = 0; task < 8; ++task) {
            (void)graph.task(work, [&] { ++bodies; });
          }
          runtime.run(graph);
        },
        workers);
    EXPECT_EQ(bodies, 0);
    EXPECT_GE(end, seconds{8 / workers});
    EXPECT_LT(end, seconds{8 / workers} + milliseconds{10}) << workers;
  }
}

TEST(VirtualTime, a_rank_that_sleeps_lets_others_go_on) {
  TaskCosts costs{{}};
  const SteadyClock machine;
  VirtualTime time{2, costs, machine};
  net::SimOptions options;
  options.executors = time.executors();
  net::SimNetwork network{2, options};
  std::vector<std::uint32_t> order;
  time.run(network, [&](Rank self) {
    EXPECT_EQ(time.running(), self);
    time.wait_for(seconds{2 - self.value()});
    order.push_back(self.value());
  });
  EXPECT_EQ(order, (std::vector<std::uint32_t>{1, 0}));
  EXPECT_EQ(network.clock().now(), seconds{2});
  EXPECT_FALSE(time.running());
}

/// A clock that the test moves.
class HandClock final : public Clock {
 public:
  [[nodiscard]] nanoseconds now() const noexcept override { return now_; }
  void advance(nanoseconds length) noexcept { now_ += length; }

 private:
  nanoseconds now_{};
};

TEST(VirtualTime, a_measured_task_that_waits_is_not_charged_for_what_others_compute) {
  TaskCosts costs{{}};
  HandClock machine;
  VirtualTime time{2, costs, machine};
  net::SimOptions options;
  options.executors = time.executors();
  net::SimNetwork network{2, options};
  std::array<nanoseconds, 2> ends{};
  time.run(network, [&](Rank self) {
    Executor& executor = *time.executors()[self.value()];
    if (self == Rank{0}) {
      executor.execute("waits", [&](BodyUse) {
        machine.advance(milliseconds{3});
        time.wait_for(milliseconds{10});
        machine.advance(milliseconds{4});
      });
    } else {
      time.wait_for(milliseconds{1});
      executor.execute("computes", [&](BodyUse) { machine.advance(seconds{1}); });
    }
    ends[self.value()] = network.clock().now();
  });
  EXPECT_EQ(ends[0], milliseconds{17});
  EXPECT_EQ(ends[1], milliseconds{1001});
}

TEST(VirtualTime, a_task_with_a_cost_is_not_charged_for_what_its_body_computes) {
  TaskCosts costs{{.kinds = {{"known", milliseconds{7}}}}};
  HandClock machine;
  VirtualTime time{1, costs, machine, {.outside = OutsideCost::measured}};
  net::SimOptions options;
  options.executors = time.executors();
  net::SimNetwork network{1, options};
  time.run(network, [&](Rank) {
    time.executors()[0]->execute("known", [&](BodyUse) {
      machine.advance(milliseconds{3});
      EXPECT_EQ(time.peek_clock(), nanoseconds{0});
      time.wait_for(milliseconds{10});
      machine.advance(milliseconds{4});
    });
    machine.advance(milliseconds{2});
  });
  EXPECT_EQ(time.outside(), milliseconds{2});
  EXPECT_EQ(network.clock().now(), milliseconds{19});
}

TEST(VirtualTime, a_run_that_waits_for_ever_ends_with_an_error) {
  TaskCosts costs{{}};
  try {
    (void)simulate(2, costs, [](Runtime& runtime) {
      if (runtime.self() == Rank{0}) {
        std::array<std::byte, 8> buffer{};
        runtime.messages().receive({.rank = Rank{1}, .tag = Tag{1}}, std::span{buffer}).wait();
      }
    });
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::timeout);
    EXPECT_NE(std::string{error.what()}.find("is stuck"), std::string::npos) << error.what();
  }
}

TEST(VirtualTime, a_rank_whose_sends_are_refused_tries_again_soon) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    TaskCosts costs{{.kinds = {{"work", milliseconds{1}}}}};
    const SteadyClock machine;
    VirtualTime time{3, costs, machine};
    net::SimOptions network_options{.seed = seed, .retry_probability = 0.5, .send_queue_packets_max = 1};
    network_options.executors = time.executors();
    net::SimNetwork network{3, network_options};
    time.run(network, [&](Rank self) {
      Runtime runtime{network.driver(self), Options{}};
      (void)ring(runtime, nullptr);
    });
    EXPECT_LT(network.clock().now(), milliseconds{7}) << seed;  // an idle step is longer
  }
}

TEST(VirtualTime, names_what_ranks_wait_for_in_a_run_that_is_stuck) {
  TaskCosts costs{{}};
  const SteadyClock machine;
  VirtualTime time{
      2, costs, machine, {.describe_wait = [](Rank rank) { return fmt::format("rank {}", 1 - rank.value()); }}};
  net::SimOptions network_options;
  network_options.executors = time.executors();
  net::SimNetwork network{2, network_options};
  try {
    time.run(network, [&](Rank self) {
      while (self == Rank{0}) {
        time.executors()[0]->wait();
      }
    });
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string{error.what()}.find("1 ranks wait (rank 0 for rank 1)"), std::string::npos) << error.what();
  }
}

TEST(VirtualTime, a_thread_that_polls_for_ever_ends_with_an_error) {
  TaskCosts costs{{}};
  const SteadyClock machine;
  VirtualTime time{2, costs, machine, {.resumes_max = 1000}};
  net::SimOptions network_options;
  network_options.executors = time.executors();
  net::SimNetwork network{2, network_options};
  std::uint32_t polls = 0;
  try {
    time.run(network, [&](Rank self) {
      while (self == Rank{0}) {
        ++polls;
        time.wait_for(microseconds{1});
      }
    });
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::timeout);
    EXPECT_NE(std::string{error.what()}.find("threads only poll"), std::string::npos) << error.what();
  }
  EXPECT_LE(polls, 1000U);
}

/// The ends of two ranks that execute ten tasks of 1 ms, with the settings of a fault.
std::array<nanoseconds, 2> ends_of_tasks(const VirtualTimeOptions& options, std::vector<net::SimFailure> failures) {
  TaskCosts costs{{.kinds = {{"work", milliseconds{1}}}}};
  const SteadyClock machine;
  VirtualTime time{2, costs, machine, options};
  net::SimOptions network_options;
  network_options.failures = std::move(failures);
  network_options.executors = time.executors();
  net::SimNetwork network{2, network_options};
  std::array<nanoseconds, 2> ends{};
  time.run(network, [&](Rank self) {
    for (int task = 0; task < 10; ++task) {
      time.executors()[self.value()]->execute("work", [](BodyUse) {});
    }
    ends[self.value()] = network.clock().now();
  });
  return ends;
}

TEST(VirtualTime, tasks_of_a_slow_rank_take_longer_from_its_time_on) {
  const auto ends = ends_of_tasks({.slow_ranks = {{.rank = Rank{1}, .since = milliseconds{4}}}}, {});
  EXPECT_EQ(ends[0], milliseconds{10});
  EXPECT_EQ(ends[1], milliseconds{4 + 2 * 6});
  EXPECT_THROW(ends_of_tasks({.slow_ranks = {{.rank = Rank{2}}}}, {}), Error);
}

TEST(VirtualTime, a_rank_that_dies_does_not_go_on) {
  const auto ends = ends_of_tasks({}, {{.rank = Rank{1}, .at = microseconds{4500}}});
  EXPECT_EQ(ends[0], milliseconds{10});
  EXPECT_EQ(ends[1], nanoseconds{0});
}

TEST(VirtualTime, a_graph_without_its_message_ends_as_on_threads) {
  TaskCosts costs{{}};
  try {
    (void)simulate(2, costs, [](Runtime& runtime) {
      if (runtime.self() == Rank{0}) {
        std::array<std::byte, 8> buffer{};
        task::Graph graph;
        (void)graph.receive("late", {.rank = Rank{1}, .tag = Tag{1}}, std::span{buffer});
        runtime.run(graph);
      }
    });
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::timeout);
    EXPECT_NE(std::string{error.what()}.find("late (from rank 1"), std::string::npos) << error.what();
  }
}

/// The time at the end of a rank that computes for 5 ms of the machine's clock outside of tasks, and waits for 1 ms.
nanoseconds end_of_computation(OutsideCost outside) {
  ManualClock machine;
  TaskCosts costs{{.scale = 2}};
  VirtualTime time{1, costs, machine, {.outside = outside}};
  net::SimOptions network_options;
  network_options.executors = time.executors();
  net::SimNetwork network{1, network_options};
  time.run(network, [&](Rank) {
    machine.advance_to(milliseconds{5});
    EXPECT_EQ(time.peek_clock(), milliseconds{outside == OutsideCost::measured ? 10 : 0});
    time.wait_for(milliseconds{1});
  });
  EXPECT_EQ(time.outside(), milliseconds{outside == OutsideCost::measured ? 10 : 0});
  return network.clock().now();
}

TEST(VirtualTime, what_is_computed_outside_of_tasks_takes_its_time_if_wanted) {
  EXPECT_EQ(end_of_computation(OutsideCost::measured), milliseconds{11});
  EXPECT_EQ(end_of_computation(OutsideCost::none), milliseconds{1});
}

TEST(VirtualTime, a_thread_that_peeks_at_the_clock_keeps_running) {
  const SteadyClock machine;
  TaskCosts costs{{}};
  VirtualTime time{2, costs, machine};
  net::SimOptions network_options;
  network_options.executors = time.executors();
  net::SimNetwork network{2, network_options};
  bool has_other_run = false;
  time.run(network, [&](Rank self) {
    for (int i = 0; i < 5000 && self == Rank{0}; ++i) {
      EXPECT_EQ(time.peek_clock(), nanoseconds{0});
      EXPECT_FALSE(has_other_run);
    }
    has_other_run = self == Rank{1};
  });
  EXPECT_TRUE(has_other_run);
}

/// A chain over all ranks, by a flow: each rank doubles the number and passes it on.
void chain(Runtime& runtime, std::vector<double>& results) {
  task::Flow flow{runtime};
  const auto kind = flow.kind("double");
  const std::uint32_t count = runtime.rank_count();
  std::vector<double> own(100'000, 1.0);
  std::vector<task::Data<double>> data;
  for (std::uint32_t rank = 0; rank < count; ++rank) {
    data.push_back(
        flow.data(Rank{rank}, own.size(), runtime.self() == Rank{rank} ? std::span<double>{own} : std::span<double>{}));
  }
  for (std::uint32_t rank = 1; rank < count; ++rank) {
    flow.submit(
        {.kind = kind},
        [](std::span<const double> from, std::span<double> to) {
          for (std::size_t i = 0; i < to.size(); ++i) {
            to[i] = 2 * from[i];
          }
        },
        task::r(data[rank - 1]),
        task::rw(data[rank]));
  }
  flow.wait();
  results[runtime.self().value()] = own[99'999];
}

TEST(VirtualTime, large_messages_of_a_flow_take_their_time) {
  constexpr std::uint32_t ranks = 6;
  std::vector<double> results(ranks);
  TaskCosts costs{{.kinds = {{"double", microseconds{10}}}}};
  const nanoseconds end = simulate(ranks, costs, [&](Runtime& runtime) { chain(runtime, results); });
  EXPECT_EQ(results, (std::vector<double>{1, 2, 4, 8, 16, 32}));
  // 800 kB at 10 GB/s take 80 us; each of five messages is sent when the task before has ended.
  EXPECT_GT(end, 5 * microseconds{90});
  EXPECT_LT(end, milliseconds{3});
}

}  // namespace
}  // namespace plait::simulate::virtual_time_test
