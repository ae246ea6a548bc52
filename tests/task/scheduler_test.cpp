// SPDX-License-Identifier: Apache-2.0
#include "plait/task/scheduler.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "plait/comm/collectives/reduce.hpp"
#include "plait/comm/coroutine.hpp"
#include "plait/net/loopback/loopback.hpp"

namespace plait::task::scheduler_test {
namespace {

/// One rank: an endpoint on a loopback network, and workers.
struct OneRank {
  OneRank(net::LoopbackNetwork& network, std::uint32_t rank, SchedulerOptions options)
      : driver{network.driver(Rank{rank})}, scheduler{endpoint, recorder, std::move(options)} {}

  SteadyClock clock;
  trace::Recorder recorder{clock};
  std::unique_ptr<net::Driver> driver;
  comm::Endpoint endpoint{*driver, recorder};
  Scheduler scheduler;
};

class Workers : public testing::TestWithParam<std::uint32_t> {
 protected:
  net::LoopbackNetwork network_{1};
  OneRank rank_{network_, 0, {.worker_count = GetParam()}};
  Scheduler& scheduler_ = rank_.scheduler;
};

TEST_P(Workers, run_each_task_after_all_that_it_depends_on) {
  std::mt19937 random{GetParam()};
  for (int graph_number = 0; graph_number < 20; ++graph_number) {
    constexpr std::size_t count = 200;
    Graph graph;
    std::vector<Task> tasks;
    std::vector<std::vector<std::size_t>> earlier(count);
    std::vector<std::atomic<int>> ended(count);
    std::atomic<int> wrong = 0;
    for (std::size_t i = 0; i < count; ++i) {
      tasks.push_back(graph.task("node", [&, i] {
        for (const std::size_t before : earlier[i]) {
          wrong += ended[before].load() != ended[i].load() + 1 ? 1 : 0;
        }
        ++ended[i];
      }));
      for (std::size_t links = i == 0 ? 0 : random() % 4; links > 0; --links) {
        earlier[i].push_back(random() % i);
        tasks[i].after(tasks[earlier[i].back()]);
      }
    }
    for (int run = 1; run <= 3; ++run) {
      scheduler_.run(graph);
      ASSERT_TRUE(std::ranges::all_of(ended, [&](const auto& n) { return n == run; }));
    }
    ASSERT_EQ(wrong, 0);
  }
}

TEST_P(Workers, count_dependencies_among_active_tasks_only) {
  Graph graph;
  std::mutex mutex;
  std::vector<std::string> order;
  const auto note = [&](const char* name) {
    return [&, name] {
      const std::lock_guard lock{mutex};
      order.emplace_back(name);
    };
  };
  Task a = graph.task("a", note("a"));
  Task b = graph.task("b", note("b"));
  Task c = graph.task("c", note("c"));
  b.after(a);
  c.after(b);
  scheduler_.run(graph, std::array{c, a});
  EXPECT_EQ(std::set(order.begin(), order.end()), (std::set<std::string>{"a", "c"}));
  order.clear();
  scheduler_.run(graph, std::array{c, b});
  EXPECT_EQ(order, (std::vector<std::string>{"b", "c"}));
  scheduler_.run(graph, {});
}

TEST_P(Workers, never_run_two_tasks_that_lock_the_same_branch) {
  Graph graph;
  Resource root;
  Resource left{&root};
  Resource right{&root};
  int left_count = 0;  // unprotected but by the locks
  int right_count = 0;
  for (int i = 0; i < 300; ++i) {
    graph.task("left", [&] { ++left_count; }).locks(left);
    graph.task("right", [&] { ++right_count; }).locks(right);
    graph
        .task("both",
              [&] {
                ++left_count;
                ++right_count;
              })
        .locks(root);
    graph.task("pair", [&] { ++left_count, ++right_count; }).locks(left).locks(right);
  }
  scheduler_.run(graph);
  EXPECT_EQ(left_count, 900);
  EXPECT_EQ(right_count, 900);
}

TEST_P(Workers, never_run_a_task_that_locks_beside_one_that_shares) {
  Graph graph;
  Resource root;
  Resource leaf{&root};
  int count = 0;  // unprotected but by the locks
  std::atomic<int> readers = 0;
  std::atomic<int> wrong = 0;
  const auto read = [&] {
    ++readers;
    wrong += count % 2;
    --readers;
  };
  const auto write = [&] {
    ++count;
    wrong += readers > 0 ? 1 : 0;
    ++count;
  };
  for (int i = 0; i < 200; ++i) {
    graph.task("write", write).locks(leaf);
    graph.task("read all", read).shares(root);
    graph.task("read", read).shares(leaf);
  }
  const TaskKind spawned = graph.kind("spawned");
  graph.task("spawn", [&](TaskContext& context) {
    for (int i = 0; i < 100; ++i) {
      context.spawn({.kind = spawned, .body = [&](TaskContext&) { read(); }, .resources = {{&leaf, Access::shared}}});
      context.spawn({.kind = spawned, .body = [&](TaskContext&) { write(); }, .resources = {&root}});
    }
  });
  scheduler_.run(graph);
  EXPECT_EQ(count, 600);
  EXPECT_EQ(wrong, 0);
}

TEST_P(Workers, what_is_after_a_task_waits_for_all_that_it_spawned) {
  Graph graph;
  std::atomic<int> leaves = 0;
  int seen = -1;
  const TaskKind kind = graph.kind("leaf");
  Task parent = graph.task("parent", [&](TaskContext& context) {
    for (int i = 0; i < 100; ++i) {
      context.spawn({.kind = kind, .body = [&](TaskContext& inner) {
                       inner.spawn({.kind = kind, .body = [&](TaskContext&) { ++leaves; }});
                     }});
    }
  });
  graph.task("end", [&] { seen = leaves; }).after(parent);
  for (int run = 1; run <= 5; ++run) {
    scheduler_.run(graph);
    EXPECT_EQ(seen, run * 100);
  }
}

TEST_P(Workers, go_on_with_a_task_when_what_it_has_spawned_has_ended) {
  Graph graph;
  const TaskKind kind = graph.kind("fib");
  struct Fib {
    TaskKind kind;
    int n;
    int* result;
    void operator()(TaskContext& context) const {
      if (n < 2) {
        *result = n;
        return;
      }
      auto parts = std::make_shared<std::array<int, 2>>();
      context.spawn(kind, Fib{kind, n - 1, parts->data()});
      context.spawn(kind, Fib{kind, n - 2, parts->data() + 1});
      context.then([to = result, parts] { *to = (*parts)[0] + (*parts)[1]; });
    }
  };
  int result = 0;
  int seen = 0;
  Task fib = graph.task(kind, Fib{kind, 15, &result});
  graph.task("end", [&] { seen = result; }).after(fib);
  for (int run = 0; run < 3; ++run) {  // the first body is back in its place
    seen = result = 0;
    scheduler_.run(graph);
    EXPECT_EQ(seen, 610);
  }
}

TEST_P(Workers, go_on_more_than_once_with_the_same_locks) {
  Graph graph;
  Resource cell;
  int count = 0;  // unprotected but by the lock
  for (int i = 0; i < 50; ++i) {
    graph
        .task("three parts",
              [&](TaskContext& context) {
                ++count;
                context.then([&](TaskContext& later) {
                  ++count;
                  later.then([&] { ++count; });
                });
              })
        .locks(cell);
  }
  scheduler_.run(graph);
  scheduler_.run(graph);
  EXPECT_EQ(count, 300);
}

TEST_P(Workers, destroy_what_a_task_would_have_gone_on_with_when_the_run_fails) {
  const auto held = std::make_shared<int>(1);
  {
    Graph graph;
    const TaskKind kind = graph.kind("bad");
    graph.task(kind, [&](TaskContext& context) {
      context.spawn(kind, [] { throw std::runtime_error{"no"}; });
      context.then([held] {});
    });
    EXPECT_THROW(scheduler_.run(graph), Error);
  }
  EXPECT_EQ(held.use_count(), 1);
}

TEST_P(Workers, use_the_memory_of_ended_tasks_again) {
  Graph graph;
  std::atomic<int> count = 0;
  const TaskKind kind = graph.kind("link");
  struct Link {
    TaskKind kind;
    std::atomic<int>* count;
    void operator()(TaskContext& context) const {
      if (++*count % 100'000 != 0) {
        context.spawn(kind, *this);
      }
    }
  };
  // Each link waits for the one that it has spawned: memory for all of them at once, then for none.
  graph.task("start", Link{kind, &count});
  scheduler_.run(graph);
  scheduler_.run(graph);
  EXPECT_EQ(count, 200'000);
}

TEST_P(Workers, pass_through_long_chains_of_joins) {
  Graph graph;
  bool is_reached = false;
  Task last = graph.task("start", [] {});
  for (int i = 0; i < 100'000; ++i) {
    last = graph.join("join").after(last);
  }
  graph.task("end", [&] { is_reached = true; }).after(last);
  scheduler_.run(graph);
  EXPECT_TRUE(is_reached);
}

TEST_P(Workers, end_the_run_with_the_first_exception) {
  Graph graph;
  bool is_reached = false;
  Task bad = graph.task("bad", [] { throw std::runtime_error{"division by cucumber"}; });
  graph.task("later", [&] { is_reached = true; }).after(bad);
  try {
    scheduler_.run(graph);
    FAIL() << "the exception comes out of run";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::user_task);
    EXPECT_STREQ(error.what(), "task 'bad' on rank 0 threw: division by cucumber");
  }
  EXPECT_FALSE(is_reached);
  EXPECT_THROW(scheduler_.run(graph), Error) << "what has failed stays failed";
}

TEST_P(Workers, count_where_their_time_went) {
  Graph graph;
  graph.task("work", [] {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds{2};
    while (std::chrono::steady_clock::now() < end) {
    }
  });
  scheduler_.run(graph);
  nanoseconds busy{};
  std::uint64_t tasks = 0;
  for (const WorkerTimes& times : scheduler_.worker_times()) {
    busy += times.busy;
    tasks += times.tasks;
    EXPECT_LE(times.busy, times.total);
  }
  EXPECT_GE(busy, std::chrono::milliseconds{2});
  EXPECT_EQ(tasks, 1U);
}

INSTANTIATE_TEST_SUITE_P(Counts, Workers, testing::Values(1U, 2U, 4U));

/// Ranks that each run one graph in their own thread, as processes would.
class Ranks : public testing::TestWithParam<std::uint32_t> {};

TEST_P(Ranks, pass_a_growing_message_around_a_ring_through_tasks) {
  constexpr std::uint32_t rank_count = 3;
  net::LoopbackNetwork network{rank_count};
  std::vector<std::size_t> sizes(rank_count);
  const auto body = [&](std::uint32_t self) {
    OneRank rank{network, self, {.worker_count = GetParam()}};
    Graph graph;
    Bytes incoming;
    Bytes outgoing;
    const Rank next{(self + 1) % rank_count};
    const Rank previous{(self + rank_count - 1) % rank_count};
    Task make = graph.task("make", [&] {
      outgoing = incoming;
      outgoing.resize(incoming.size() + 1000);
    });
    Task send = graph.send("send", {next, Tag{1}}, [&] { return std::span<const std::byte>{outgoing}; });
    Task receive = graph.receive("receive", {previous, Tag{1}}, incoming);
    send.after(make);
    // Rank 0 starts; the others pass on. The receive of rank 0 comes last: it must not overwrite what it reads.
    self == 0 ? receive.after(make) : make.after(receive);
    for (int round = 0; round < 20; ++round) {
      rank.scheduler.run(graph);
    }
    sizes[self] = incoming.size();
    rank.endpoint.drain();
  };
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t self = 0; self < rank_count; ++self) {
      threads.emplace_back(body, self);
    }
  }
  EXPECT_EQ(sizes[0], 20U * rank_count * 1000);
}

TEST_P(Ranks, all_stop_when_a_task_of_one_throws) {
  net::LoopbackNetwork network{2};
  std::array<std::string, 2> messages;
  const auto body = [&](std::uint32_t self) {
    Bytes buffer;
    OneRank rank{network, self, {.worker_count = GetParam()}};
    Graph graph;
    if (self == 0) {
      graph.task("bad", [] { throw std::runtime_error{"no"}; });
    } else {
      graph.receive("never", {Rank{0}, Tag{0}}, buffer);
    }
    try {
      rank.scheduler.run(graph);
    } catch (const Error& error) {
      messages[self] = error.what();
    }
  };
  {
    std::jthread other{body, 1};
    body(0);
  }
  EXPECT_EQ(messages[0], "task 'bad' on rank 0 threw: no");
  EXPECT_EQ(messages[1], "rank 0 stopped the run: task 'bad' on rank 0 threw: no");
}

TEST_P(Ranks, say_what_waits_when_nothing_moves) {
  net::LoopbackNetwork network{1};
  Bytes buffer;
  OneRank rank{
      network, 0, {.worker_count = GetParam(), .stall_max = std::chrono::milliseconds{50}, .stall_folder = {}}};
  Graph graph;
  Task receive = graph.receive("ghosts", {Rank{0}, Tag{7}}, buffer);
  graph.task("force", [] {}).after(receive);
  try {
    rank.scheduler.run(graph);
    FAIL() << "a message that never comes ends the run";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::timeout);
    const std::string sentence = error.what();
    EXPECT_NE(sentence.find("ghosts (from rank 0, tag 7), force (for 1 others)"), std::string::npos) << sentence;
  }
}

TEST_P(Ranks, run_what_is_to_be_done_on_arrival_before_what_comes_after) {
  net::LoopbackNetwork network{1};
  OneRank rank{network, 0, {.worker_count = GetParam()}};
  const std::array<std::byte, 3> data{std::byte{1}, std::byte{2}, std::byte{3}};
  Bytes buffer;
  std::vector<std::string> order;
  Graph graph;
  graph.send("send", {Rank{0}, Tag{1}}, [&] { return std::span<const std::byte>{data}; });
  Task receive = graph.receive(
      "receive", {Rank{0}, Tag{1}}, buffer, [&] { order.push_back(buffer.size() == 3 ? "arrived" : "too early"); });
  graph.task("after", [&] { order.emplace_back("after"); }).after(receive);
  for (int run = 0; run < 3; ++run) {
    buffer.clear();
    order.clear();
    rank.scheduler.run(graph);
    EXPECT_EQ(order, (std::vector<std::string>{"arrived", "after"}));
  }
}

/// Whom a rank writes to is decided while the graph runs; both sides reckon it from the round.
TEST_P(Ranks, exchange_messages_that_running_tasks_decide_on) {
  constexpr std::uint32_t rank_count = 4;
  net::LoopbackNetwork network{rank_count};
  std::atomic<int> wrong = 0;
  std::atomic<int> arrived = 0;
  const auto writes = [](std::uint32_t from, std::uint32_t to, std::uint32_t round) {
    return from != to && (from * 7 + to * 3 + round) % 3 != 0;
  };
  const auto body = [&](std::uint32_t self) {
    OneRank rank{network, self, {.worker_count = GetParam()}};
    Graph graph;
    std::uint32_t round = 0;
    std::array<Bytes, rank_count> incoming;
    const TaskKind kind = graph.kind("letter");
    std::atomic<std::uint32_t> seen = 0;
    Task exchange = graph.task("exchange", [&](TaskContext& context) {
      for (std::uint32_t peer = 0; peer < rank_count; ++peer) {
        if (writes(self, peer, round)) {
          context.send(kind, {{Rank{peer}, Tag{1}}, std::as_bytes(std::span{&round, 1})});
        }
        if (writes(peer, self, round)) {
          context.receive(kind, {{Rank{peer}, Tag{1}}, incoming[peer], [&, peer](TaskContext& inner) {
                                   inner.spawn(kind, [&, peer] {
                                     ++seen;
                                     ++arrived;
                                     wrong += incoming[peer].size() == sizeof round &&
                                                      incoming[peer].front() == static_cast<std::byte>(round)
                                                  ? 0
                                                  : 1;
                                   });
                                 }});
        }
      }
    });
    graph
        .task("after",
              [&] {
                std::uint32_t expected = 0;
                for (std::uint32_t peer = 0; peer < rank_count; ++peer) {
                  expected += writes(peer, self, round) ? 1 : 0;
                }
                wrong += seen == expected ? 0 : 1;
              })
        .after(exchange);
    for (; round < 50; ++round) {
      seen = 0;
      rank.scheduler.run(graph);
    }
    rank.endpoint.drain();
  };
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t self = 0; self < rank_count; ++self) {
      threads.emplace_back(body, self);
    }
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(arrived, 300);
}

TEST_P(Ranks, go_on_when_a_collective_has_ended) {
  constexpr std::uint32_t rank_count = 3;
  net::LoopbackNetwork network{rank_count};
  std::atomic<int> wrong = 0;
  const auto body = [&](std::uint32_t self) {
    OneRank rank{network, self, {.worker_count = GetParam()}};
    const comm::Group group{rank.endpoint, comm::CommId{5}};
    Graph graph;
    std::array<std::uint32_t, 1> sum{};
    std::uint32_t seen = 0;
    const TaskKind kind = graph.kind("sum");
    Task reduce = graph.task("reduce", [&](TaskContext& context) {
      sum = {self + 1};
      context.wait_for(kind, comm::all_reduce(group, std::span{sum}), [&] { seen = sum[0]; });
    });
    graph.task("after", [&] { wrong += seen == 6 ? 0 : 1; }).after(reduce);
    for (int round = 0; round < 20; ++round) {
      seen = 0;
      rank.scheduler.run(graph);
    }
    rank.endpoint.drain();
  };
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t self = 0; self < rank_count; ++self) {
      threads.emplace_back(body, self);
    }
  }
  EXPECT_EQ(wrong, 0);
}

comm::AsyncOperation receive_from(comm::Endpoint& endpoint, Rank from, Bytes& buffer) {
  co_await endpoint.receive({from, Tag{7}}, buffer);
}

TEST_P(Ranks, that_wait_for_an_operation_get_the_sentence_of_the_rank_that_fails) {
  constexpr std::uint32_t rank_count = 3;
  net::LoopbackNetwork network{rank_count};
  std::array<std::string, rank_count> sentences;
  const auto body = [&](std::uint32_t self) {
    OneRank rank{network, self, {.worker_count = GetParam()}};
    Graph graph;
    Bytes never;
    const TaskKind kind = graph.kind("wait");
    graph.task("begin", [&](TaskContext& context) {
      if (self == 1) {
        throw Error{ErrorCode::user_task, "the star has no fuel"};
      }
      while (!rank.endpoint.failure()) {
        rank.endpoint.progress();
      }
      context.wait_for(kind, receive_from(rank.endpoint, Rank{1}, never));  // refused: only its code is left
    });
    try {
      rank.scheduler.run(graph);
    } catch (const Error& error) {
      sentences[self] = error.what();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t self = 0; self < rank_count; ++self) {
      threads.emplace_back(body, self);
    }
  }
  for (const std::string& sentence : sentences) {
    EXPECT_NE(sentence.find("the star has no fuel"), std::string::npos) << sentence;
  }
}

TEST_P(Ranks, may_overwrite_what_they_have_received_although_others_get_it_from_them) {
  constexpr std::uint32_t rank_count = 4;
  constexpr std::size_t bytes = 300'000;
  net::LoopbackNetwork network{rank_count};
  std::atomic<int> wrong = 0;
  const auto body = [&](std::uint32_t self) {
    OneRank rank{network, self, {.worker_count = GetParam()}};
    Graph graph;
    Bytes data(bytes, std::byte{0});
    if (self == 0) {
      for (std::uint32_t to = 1; to < rank_count; ++to) {  // of one datum, ready at once: a multicast
        graph.send("send", {Rank{to}, Tag{1}}, [&] { return std::span<const std::byte>{data}; });
      }
    } else {
      Task receive = graph.receive("receive", {Rank{0}, Tag{1}}, std::span{data});
      graph
          .task("overwrite",
                [&] {
                  wrong += std::ranges::all_of(data, [&](std::byte each) { return each == std::byte{7}; }) ? 0 : 1;
                  std::ranges::fill(data, std::byte{9});
                })
          .after(receive);
    }
    for (int round = 0; round < 20; ++round) {
      std::ranges::fill(data, std::byte{self == 0 ? std::uint8_t{7} : std::uint8_t{0}});
      rank.scheduler.run(graph);
    }
    rank.endpoint.drain();
  };
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t self = 0; self < rank_count; ++self) {
      threads.emplace_back(body, self);
    }
  }
  EXPECT_EQ(wrong, 0);
}

INSTANTIATE_TEST_SUITE_P(Workers, Ranks, testing::Values(1U, 3U));

}  // namespace
}  // namespace plait::task::scheduler_test
