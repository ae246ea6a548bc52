// SPDX-License-Identifier: Apache-2.0
#include "plait/runtime/runtime.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "plait/data/collections/collection.hpp"
#include "plait/data/references/work.hpp"
#include "plait/testing/run_program.hpp"
#include "plait/testing/temporary_folder.hpp"
#include "plait/trace/reader.hpp"
#include "plait/trace/remote_task.hpp"

namespace plait::runtime_test {
namespace {

TEST(Runtime, two_in_one_process_do_not_meet) {
  net::LoopbackNetwork first_network{1};
  net::LoopbackNetwork second_network{1};
  Runtime first{first_network.driver(Rank{0}), {}};
  Runtime second{second_network.driver(Rank{0}), {.worker_count = 2}};
  Bytes received;
  comm::Request receive = first.messages().receive({Rank{0}, Tag{1}}, received);
  Bytes other;
  comm::Request never = second.messages().receive({Rank{0}, Tag{1}}, other);
  const Bytes sent(10);
  first.messages().send({Rank{0}, Tag{1}}, sent).wait();
  receive.wait();
  EXPECT_FALSE(never.test());
  EXPECT_TRUE(never.cancel());
}

TEST(Runtime, ends_only_when_what_was_sent_has_been_taken) {
  // Rank 0 leaves at once after sending a long message, which needs its help until the other has it.
  // Not by `run_program`, which helps too.
  net::LoopbackNetwork network{2};
  Bytes received;
  std::jthread sender{[&] {
    static const Bytes sent(1'000'000);
    Runtime runtime{network.driver(Rank{0}), {}};
    comm::Request request = runtime.messages().send({Rank{1}, Tag{1}}, sent);
  }};
  Runtime runtime{network.driver(Rank{1}), {}};
  runtime.messages().receive({Rank{0}, Tag{1}}, received).wait();
  EXPECT_EQ(received.size(), 1'000'000U);
}

TEST(Runtime, does_not_wait_for_others_when_an_exception_leaves) {
  EXPECT_THROW(plait::test::run_program({.ranks = 2},
                                        {},
                                        [](Runtime& runtime) {
                                          if (runtime.self() == Rank{0}) {
                                            runtime.messages().stop_all(Error{ErrorCode::bad_input, "no such file"});
                                            throw std::runtime_error{"out"};
                                          }
                                          Bytes never;
                                          runtime.messages().receive({Rank{0}, Tag{1}}, never).wait();
                                        }),
               std::runtime_error);
}

TEST(Runtime, leaves_a_trace_of_tasks_messages_and_what_ran) {
  const test::TemporaryFolder folder;
  const Options options{.trace_folder = folder.path() / "run", .command = {"bin/program", "--fast"}};
  plait::test::run_program({.ranks = 2}, options, [](Runtime& runtime) {
    const Rank other{1 - runtime.self().value()};
    const Bytes mine(100);
    Bytes theirs;
    task::Graph graph;
    task::Task send = graph.send("send halo", {other, Tag{1}}, [&] { return std::span<const std::byte>{mine}; });
    task::Task receive = graph.receive("receive halo", {other, Tag{1}}, theirs);
    graph.task("use halo", [] {}).after(receive).object(42);
    runtime.run(graph);
    runtime.run(graph, std::array{send, receive});
  });
  const trace::RunTrace run = trace::read_run(folder.path() / "run").value();
  EXPECT_EQ(run.meta.program, "program");
  EXPECT_EQ(run.meta.ranks, 2U);
  EXPECT_TRUE(run.meta.ended.has_value());
  for (const trace::RankTrace& rank : run.ranks) {
    EXPECT_TRUE(rank.notices.empty());
    ASSERT_EQ(rank.tasks.size(), 5U);
    std::map<std::uint64_t, std::string> kinds;
    for (const auto& [thread, task] : rank.tasks) {
      kinds[task.id] = rank.name(trace::Role::task, task.kind);
    }
    for (const auto& [thread, task] : rank.tasks) {
      if (task.role == trace::TaskRole::compute) {
        EXPECT_EQ(task.object, 42U);
        EXPECT_EQ(kinds[task.released_by], "receive halo");
      } else {
        EXPECT_EQ(task.object >> 32U, 1 - rank.rank.value()) << "the peer";
      }
    }
    EXPECT_EQ(std::ranges::count_if(rank.messages, [](const auto& m) { return m.event.communicator == 0; }), 4);
  }
}

/// The kinds of the tasks that an execution of a task of `kind` came after.
std::vector<std::string> kinds_before(const trace::RankTrace& rank, const std::string& kind) {
  std::map<std::uint64_t, std::string> kinds;
  for (const auto& [thread, task] : rank.tasks) {
    kinds[task.id] = rank.name(trace::Role::task, task.kind);
  }
  std::vector<std::string> found;
  for (const trace::TaskOrder& order : rank.task_orders) {
    for (const std::uint64_t earlier : order.earlier) {
      if (kinds[order.id] == kind) {
        found.push_back(kinds[earlier]);
      }
    }
  }
  return found;
}

TEST(Runtime, leaves_what_deferred_tasks_came_after) {
  const test::TemporaryFolder folder;
  plait::test::run_program({.ranks = 1}, {.trace_folder = folder.path() / "run"}, [](Runtime& runtime) {
    data::Work work{runtime};
    data::Ref<int> value = work(work.kind("make"), [] { return 1; });
    auto seen = work(work.kind("read"), [](const int& now) { return now; }, value.read());
    value = work(work.kind("change"), [](int& now) { ++now; }, std::move(value));
    EXPECT_EQ(work.take(std::move(seen)), 1);
    EXPECT_EQ(work.take(std::move(value)), 2);
    work.wait();
  });
  const trace::RankTrace rank = trace::read_run(folder.path() / "run").value().ranks[0];
  EXPECT_EQ(kinds_before(rank, "make"), std::vector<std::string>{});
  EXPECT_EQ(kinds_before(rank, "read"), std::vector<std::string>{"make"});
  EXPECT_EQ(kinds_before(rank, "change"), (std::vector<std::string>{"make", "read"}));
  EXPECT_TRUE(std::ranges::all_of(rank.task_orders, [](const auto& order) { return order.submitted > nanoseconds{}; }));
}

struct Neighbour {
  std::uint64_t taken = 0;
  void take(std::uint64_t value) { taken += value; }
};

TEST(Runtime, leaves_what_elements_came_after) {
  const test::TemporaryFolder folder;
  plait::test::run_program({.ranks = 1}, {.trace_folder = folder.path() / "run"}, [](Runtime& runtime) {
    data::Collection<Neighbour> line{runtime, data::Shape{3}, [](data::ElementId, data::Index) { return Neighbour{}; }};
    // The first two send to the next, which has its own step to do; the last one to the first, which runs once more.
    line.each([](Neighbour&, data::ElementContext& context) {
      context.send<&Neighbour::take>(data::ElementId{(context.id().value() + 1) % 3}, std::uint64_t{1});
    });
  });
  const trace::RankTrace rank = trace::read_run(folder.path() / "run").value().ranks[0];
  ASSERT_EQ(rank.tasks.size(), 4U);
  ASSERT_EQ(rank.task_orders.size(), 1U) << "only that is ordered";
  const trace::TaskEvent& again = rank.tasks.back().event;
  EXPECT_EQ(rank.task_orders[0].id, again.id);
  EXPECT_EQ(rank.task_orders[0].earlier, std::vector<std::uint64_t>{rank.tasks[2].event.id});
  EXPECT_GE(rank.task_orders[0].time, again.start);
  EXPECT_LE(rank.task_orders[0].time, again.end);
}

TEST(Runtime, leaves_which_task_of_another_rank_an_element_came_after) {
  const test::TemporaryFolder folder;
  plait::test::run_program({.ranks = 2}, {.trace_folder = folder.path() / "run"}, [](Runtime& runtime) {
    data::Collection<Neighbour> line{
        runtime, data::Shape{2}, [](data::ElementId id, data::Index) { return Neighbour{id.value()}; }};
    // The second step of element 1 needs what element 0 sends in its first.
    line.iterate(
        2,
        [](const Neighbour& element, std::uint64_t step) { return element.taken > 0 && step == 1 ? 1U : 0U; },
        [](Neighbour& element, data::ElementContext& context, std::uint64_t step) {
          if (element.taken == 0 && step == 0) {
            context.send_step<&Neighbour::take>(data::ElementId{1}, 1, std::uint64_t{1});
          }
        });
  });
  const trace::RunTrace run = trace::read_run(folder.path() / "run").value();
  std::vector<std::uint64_t> elsewhere;
  for (const trace::TaskOrder& order : run.ranks[1].task_orders) {
    std::ranges::copy_if(order.earlier, std::back_inserter(elsewhere), [](std::uint64_t entry) {
      return trace::listed_task(entry).elsewhere.has_value();
    });
  }
  EXPECT_EQ(elsewhere, std::vector<std::uint64_t>{trace::remote_task(Rank{0}, run.ranks[0].tasks[0].event.id)});
}

TEST(Runtime, leaves_its_graphs_in_the_trace_once_and_again_after_a_change) {
  const test::TemporaryFolder folder;
  plait::test::run_program({.ranks = 1}, {.trace_folder = folder.path() / "run"}, [](Runtime& runtime) {
    task::Graph graph;
    task::Task first = graph.task("first", [] {});
    task::Task gate = graph.join("gate").after(first);
    task::Task last = graph.task("last", [](task::TaskContext& context) {
      context.spawn({.kind = task::TaskKind{0}, .body = [](task::TaskContext&) {}});
    });
    last.after(gate);
    runtime.run(graph);
    runtime.run(graph, std::array{last});
    last.after(first);
    runtime.run(graph);
  });
  const trace::RankTrace rank = std::move(trace::read_run(folder.path() / "run").value().ranks.front());
  using trace::Dependency;
  EXPECT_EQ(rank.dependencies, (std::vector<Dependency>{{1, 1, 2}, {1, 2, 3}, {2, 1, 2}, {2, 1, 3}, {2, 2, 3}}));
  ASSERT_EQ(rank.graph_tasks.size(), 6U);
  EXPECT_EQ(rank.graph_tasks[1].role, trace::TaskRole::join);
  EXPECT_EQ(rank.name(trace::Role::task, rank.graph_tasks[1].kind), "gate");
  ASSERT_EQ(rank.graph_runs.size(), 3U);
  EXPECT_EQ(rank.graph_runs[1].graph, 1U);
  EXPECT_EQ(rank.graph_runs[1].active, 1U);
  EXPECT_EQ(rank.graph_runs[2].graph, 2U);
  ASSERT_EQ(rank.tasks.size(), 8U);
  const auto places = [&](std::size_t index) { return rank.tasks[index].event.place; };
  EXPECT_EQ(places(0), 1U);
  EXPECT_EQ(places(1), 3U);
  EXPECT_EQ(places(2), 0U) << "a spawned task is of no graph";
  EXPECT_EQ(rank.tasks[1].event.released_by, rank.tasks[0].event.id) << "not the join, which leaves no record";
}

TEST(Runtime, has_work_of_its_own) {
  plait::test::run_program({.ranks = 2}, {.worker_count = 2}, [](Runtime& runtime) {
    data::Ref<int> value = runtime.ref<int>(3);
    value = runtime.work([](int& now) { now *= 2; }, std::move(value));
    EXPECT_EQ(runtime.works().take(std::move(value)), 6);
    runtime.works().wait();
  });
}

TEST(Runtime, refuses_to_work_without_workers) {
  EXPECT_THROW(plait::test::run_program({.ranks = 1}, {.worker_count = 0}, [](Runtime&) {}), Error);
}

}  // namespace
}  // namespace plait::runtime_test
