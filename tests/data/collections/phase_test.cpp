// SPDX-License-Identifier: Apache-2.0
// Phases that return at once: several in flight, beside other runs and messages of the program.
#include "plait/data/collections/phase.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "plait/comm/coroutine.hpp"
#include "plait/data/collections/collection.hpp"
#include "plait/data/references/work.hpp"
#include "plait/task/graph.hpp"
#include "plait/testing/local_rank.hpp"

#include "data/leaks_allowed.hpp"

namespace plait::data::phase_test {
namespace {

using plait::test::errors_on_ranks;
using plait::test::LocalRank;
using plait::test::run_on_ranks;

constexpr std::uint32_t count = 24;

/// Hears from its neighbour, which passes each message on `hops` times.
struct Cell {
  std::uint64_t steps = 0;
  std::uint64_t heard = 0;

  void hear(ElementContext& context, std::uint64_t hops) {
    ++heard;
    if (hops > 0) {
      context.send<&Cell::hear>(ElementId{(context.id().value() + 7) % count}, hops - 1);
    }
  }
  void step(ElementContext& context) {
    ++steps;
    context.send<&Cell::hear>(ElementId{(context.id().value() + 1) % count}, 3U);
  }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(steps, heard);
  }
};
using Cells = Collection<Cell>;

Cells make_cells(LocalRank& rank, const std::string& name) {
  return {rank, Shape{count}, [](ElementId, Index) { return Cell{}; }, {.name = name}};
}

net::SimOptions rough(std::uint64_t seed) {
  return {.seed = seed, .delay_max = std::chrono::microseconds{30}, .order = net::SimOrder::free};
}

void expect_phases(const Cells& cells, std::uint64_t phases) {
  for (const auto& [id, cell] : cells.local()) {
    EXPECT_EQ(cell.steps, phases);
  }
  EXPECT_EQ(cells.all_reduce([](const Cell& cell) { return cell.heard; }), phases * 4 * count);
}

void on_some_ranks(const std::function<void(LocalRank&)>& body) {
  for (const std::uint32_t workers : {1U, 2U}) {
    for (const std::uint32_t ranks : {1U, 3U}) {
      run_on_ranks({.ranks = ranks, .network = rough(ranks + workers)}, {.worker_count = workers}, body);
    }
  }
}

TEST(Phase, runs_beside_those_of_other_collections) {
  on_some_ranks([](LocalRank& rank) {
    Cells first = make_cells(rank, "first");
    Cells second = make_cells(rank, "second");
    for (std::uint64_t phase = 0; phase < 5; ++phase) {
      Phase one = first.start(&Cell::step);
      Phase other = second.start(&Cell::step, {.name = "other"});
      const PhaseReport later = phase % 2 == 0 ? other.wait() : one.wait();
      const PhaseReport earlier = phase % 2 == 0 ? one.wait() : other.wait();
      EXPECT_EQ(later.steps, first.local_count());
      EXPECT_EQ(earlier.steps, first.local_count());
      EXPECT_GE(later.took.count(), 0);
    }
    expect_phases(first, 5);
    expect_phases(second, 5);
  });
}

TEST(Phase, lets_the_program_exchange_messages_before_it_is_waited_for) {
  on_some_ranks([](LocalRank& rank) {
    Cells cells = make_cells(rank, "cells");
    const Rank next{(rank.self().value() + 1) % rank.rank_count()};
    for (std::uint64_t phase = 0; phase < 3; ++phase) {
      Phase open = cells.start(&Cell::step);
      std::uint64_t got = 0;
      comm::Request receive = rank.messages().receive({any_source, Tag{1}}, std::as_writable_bytes(std::span{&got, 1}));
      rank.messages().send({next, Tag{1}}, std::as_bytes(std::span{&phase, 1})).wait();
      receive.wait();
      EXPECT_EQ(got, phase);
      (void)open.wait();
    }
    expect_phases(cells, 3);
  });
}

TEST(Phase, runs_beside_a_graph_and_deferred_tasks) {
  on_some_ranks([](LocalRank& rank) {
    Cells cells = make_cells(rank, "cells");
    Work work{rank.messages(), rank.scheduler(), rank.trace()};
    task::Graph graph;
    std::atomic<int> ran = 0;
    for (int i = 0; i < 10; ++i) {
      graph.task("some", [&ran] { ++ran; });
    }
    Phase open = cells.start(&Cell::step);
    Ref<int> sum = work.ref<int>(0);
    for (int i = 0; i < 10; ++i) {
      sum = work([i](int& value) { value += i; }, std::move(sum));
    }
    rank.scheduler().run(graph);
    EXPECT_EQ(ran, 10);
    EXPECT_EQ(work.take(std::move(sum)), 45);
    (void)open.wait();
    work.wait();
    expect_phases(cells, 1);
  });
}

comm::AsyncOperation await_phase(comm::Endpoint& /*endpoint*/, Cells& cells, std::uint64_t& steps) {
  Phase phase = cells.start(&Cell::step);
  const PhaseReport report = co_await phase;
  steps = report.steps;
}

TEST(Phase, is_waited_for_by_tests_requests_callbacks_and_coroutines) {
  on_some_ranks([](LocalRank& rank) {
    Cells cells = make_cells(rank, "cells");
    const std::uint64_t local = cells.local_count();
    Phase tested = cells.start(&Cell::step);
    while (!tested.test()) {
    }
    EXPECT_TRUE(tested.is_over());
    EXPECT_EQ(tested.wait().steps, local);
    EXPECT_FALSE(tested);

    std::atomic<int> calls = 0;
    Phase told = cells.start(&Cell::step);
    told.then([&calls] { ++calls; });
    (void)told.wait();
    while (calls == 0) {  // another worker may still be on its way to it
      std::this_thread::yield();
    }
    EXPECT_EQ(calls, 1);

    std::uint64_t steps = 0;
    const comm::AsyncOperation operation = await_phase(rank.messages(), cells, steps);
    task::Graph graph;
    const task::TaskKind kind = graph.kind("wait");
    graph.task(kind, [&](task::TaskContext& context) { context.wait_for(kind, operation.request()); });
    rank.scheduler().run(graph);
    EXPECT_EQ(steps, local);
    rank.messages().flush();
    expect_phases(cells, 3);
  });
}

TEST(Phase, that_is_dropped_is_waited_for) {
  on_some_ranks([](LocalRank& rank) {
    Cells cells = make_cells(rank, "cells");
    {
      const Phase dropped = cells.start(&Cell::step);
    }
    Phase replaced = cells.start(&Cell::step);
    replaced = Phase{};
    expect_phases(cells, 2);
  });
}

TEST(Phase, outlives_the_handle_of_its_collection) {
  on_some_ranks([](LocalRank& rank) {
    Phase open;
    {
      Cells cells = make_cells(rank, "cells");
      open = cells.start(&Cell::step);
    }
    EXPECT_GT(open.wait().steps, 0U);
  });
}

TEST(Phase, refuses_every_use_of_its_collection_while_it_is_open) {
  run_on_ranks({.ranks = 2, .network = rough(1)}, {.worker_count = 1}, [](LocalRank& rank) {
    Cells cells = make_cells(rank, "cells");
    const ElementId here = cells.local().front().id;
    Phase open = cells.start(&Cell::step, {.name = "sweep"});
    const std::vector<std::function<void()>> uses{
        [&] { (void)cells.start(&Cell::step); },
        [&] { cells.each(&Cell::step); },
        [&] { (void)cells.migrate({}); },
        [&] { cells.create(ElementId{1000}, Cell{}); },
        [&] { (void)cells.take_out(here); },
        [&] { cells.erase(here); },
        [&] { (void)cells.swap_in(here, Cell{}); },
        [&] { cells.send<&Cell::hear>(here, 0U); },
        [&] { cells.replace([] { return std::vector<std::pair<ElementId, Cell>>{}; }); },
        [&] { cells.reset_loads(); },
        [&] { (void)cells.find(here); },
        [&] { (void)cells.local(); },
        [&] { (void)cells.loads(); },
        [&] { (void)cells.pack_element(here); },
        [&] { (void)cells.count(); }};
    for (std::size_t i = 0; i < uses.size(); ++i) {
      try {
        uses[i]();
        ADD_FAILURE() << "use " << i << " is allowed";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::bad_argument);
        EXPECT_NE(std::string{error.what()}.find("phase 'sweep' is open"), std::string::npos) << error.what();
      }
    }
    (void)open.wait();
    expect_phases(cells, 1);
  });
}

TEST(Phase, that_fails_ends_all_that_are_open_on_all_ranks) {
  constexpr std::uint32_t ranks = 3;
  for (const std::uint32_t workers : {1U, 2U}) {
    std::atomic<std::uint32_t> ready_ranks = 0;
    const std::vector<std::string> errors = errors_on_ranks(
        {.ranks = ranks, .network = rough(workers)}, {.worker_count = workers}, [&ready_ranks](LocalRank& rank) {
          Cells good = make_cells(rank, "good");
          Cells bad = make_cells(rank, "bad");
          Phase other = bad.start(
              [&ready_ranks](Cell&, ElementContext& context) {
                if (context.id() == ElementId{4}) {
                  while (ready_ranks < ranks) {  // else another rank could not start its second phase
                    std::this_thread::yield();
                  }
                  throw std::runtime_error{"no fields"};
                }
              },
              {.name = "break"});
          Phase one = good.start_steps(
              1'000'000'000'000,  // no rank could execute so many: none begins after the failure
              [](const Cell&, std::uint64_t) { return std::uint64_t{0}; },
              [](Cell&, ElementContext&, std::uint64_t) {});
          ++ready_ranks;
          std::string sentence;
          for (Phase* const phase : {&one, &other}) {
            try {
              (void)phase->wait();
              ADD_FAILURE() << "no error";
            } catch (const Error& error) {
              sentence = error.what();
              EXPECT_NE(sentence.find("element 4 of 'bad'"), std::string::npos) << sentence;
            }
          }
          EXPECT_THROW((void)good.start(&Cell::step), Error);
          throw Error{ErrorCode::user_task, sentence};
        });
    for (const std::string& error : errors) {
      EXPECT_NE(error.find("no fields"), std::string::npos) << error;
    }
  }
}

/// Opens elements one after the other: each when the one before it has ended.
class OneByOne final : public PhaseGate {
 public:
  explicit OneByOne(std::vector<ElementId> order) : order_{std::move(order)} {}

  void begin_phase(std::uint64_t /*placement*/) override { next_ = 0; }
  [[nodiscard]] bool is_open(ElementId id) override {
    const std::lock_guard lock{mutex_};
    return is_next(id);
  }
  [[nodiscard]] bool enter(ElementId id, std::function<void()> open) override {
    const std::lock_guard lock{mutex_};
    if (!is_next(id)) {
      waiting_[id] = std::move(open);
    }
    return is_next(id);
  }
  void leave(ElementId id) override {
    std::function<void()> open;
    {
      const std::lock_guard lock{mutex_};
      EXPECT_TRUE(is_next(id)) << "element " << id.value() << " ran before it might";
      ++next_;
      if (next_ < order_.size()) {
        open.swap(waiting_[order_[next_]]);
      }
    }
    if (open) {
      open();
    }
  }
  [[nodiscard]] bool has_ended() const { return next_ == order_.size(); }

 private:
  [[nodiscard]] bool is_next(ElementId id) const { return next_ < order_.size() && order_[next_] == id; }

  std::vector<ElementId> order_;
  std::mutex mutex_;
  std::size_t next_ = 0;
  std::map<ElementId, std::function<void()>> waiting_;
};

TEST(Phase, starts_an_element_when_its_gate_opens_and_messages_wait_until_then) {
  on_some_ranks([](LocalRank& rank) {
    Cells cells = make_cells(rank, "cells");
    std::vector<ElementId> order;
    for (const auto& [id, cell] : cells.local()) {
      order.push_back(id);
    }
    std::ranges::reverse(order);
    OneByOne gate{order};
    for (std::uint64_t phase = 1; phase < 4; ++phase) {
      (void)cells.each(
          [](Cell& cell, ElementContext& context) {
            EXPECT_EQ(cell.heard, cell.steps * 4) << "a message was taken before the first step";
            cell.step(context);
          },
          {.name = "gated", .gate = &gate});
      EXPECT_TRUE(gate.has_ended());
      // Each has heard as much as each other: four messages a phase.
      expect_phases(cells, phase);
    }
  });
}

/// Opens element 0, and throws at the next as soon as the step of the first has begun.
class Refusal final : public PhaseGate {
 public:
  void begin_phase(std::uint64_t /*placement*/) override {}
  [[nodiscard]] bool is_open(ElementId id) override { return id == ElementId{0}; }
  [[nodiscard]] bool enter(ElementId /*id*/, std::function<void()> /*open*/) override {
    was_asked = true;
    was_asked.notify_all();
    has_begun.wait(false);
    throw Error{ErrorCode::user_task, "not now"};
  }
  void leave(ElementId /*id*/) override {}

  std::atomic<bool> was_asked = false;
  std::atomic<bool> has_begun = false;
};

TEST(Phase, leaves_no_element_that_is_executed_when_its_beginning_fails) {
  std::atomic<int> ended = 0;
  const std::vector<std::string> errors = errors_on_ranks({.ranks = 1}, {.worker_count = 2}, [&](LocalRank& rank) {
    Refusal gate;
    {
      Cells cells = make_cells(rank, "cells");
      const test::LeaksAllowed leaks;
      Cells others = make_cells(rank, "others");
      const Phase other = others.start([&](Cell& /*cell*/) { gate.was_asked.wait(false); });  // a worker is awake
      EXPECT_THROW(cells.each(
                       [&](Cell& cell, ElementContext& /*context*/) {
                         gate.has_begun = true;
                         gate.has_begun.notify_all();
                         for (int i = 0; i < 20'000; ++i) {
                           std::this_thread::yield();  // the beginning fails meanwhile
                         }
                         ++cell.steps;
                         ++ended;
                       },
                       {.name = "refused", .gate = &gate}),
                   Error);
    }
    EXPECT_EQ(ended, 1);
  });
}

}  // namespace
}  // namespace plait::data::phase_test
