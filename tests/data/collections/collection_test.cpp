// SPDX-License-Identifier: Apache-2.0
#include "plait/data/collections/collection.hpp"

#include <array>
#include <barrier>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/clock.hpp"
#include "plait/comm/collectives/reduce.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/net/loopback/loopback.hpp"
#include "plait/task/scheduler.hpp"
#include "plait/testing/local_rank.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::data::collection_test {
namespace {

using plait::test::LocalRank;
using plait::test::run_on_ranks;

/// Remembers its messages in their order.
struct Ear {
  std::uint64_t id = 0;
  std::uint64_t heard = 0;
  std::uint64_t sum = 0;
  std::array<std::uint32_t, 4> last{};  ///< By distance of the sender.
  bool is_in_order = true;

  void hear(std::uint32_t distance, std::uint32_t number) {
    ++heard;
    sum += number;
    is_in_order = is_in_order && number > last[distance];
    last[distance] = number;
  }
};

constexpr std::uint32_t told_each = 5;

void tell_others(Ear& ear, ElementContext& context, std::uint64_t count, std::uint32_t phase) {
  for (std::uint32_t number = 1; number <= told_each; ++number) {
    for (std::uint32_t distance = 1; distance < 4; ++distance) {
      context.send<&Ear::hear>(ElementId{(ear.id + distance) % count}, distance, phase * told_each + number);
    }
  }
}

struct Layout {
  std::uint32_t ranks;
  std::uint32_t workers;
  std::uint64_t elements;
};

class Collections : public testing::TestWithParam<Layout> {};

TEST_P(Collections, take_each_message_once_and_in_order_while_elements_move) {
  const Layout layout = GetParam();
  constexpr std::uint32_t phases = 12;
  run_on_ranks({.ranks = layout.ranks}, {.worker_count = layout.workers}, [&](LocalRank& rank) {
    Collection<Ear> ears{rank, Shape{static_cast<std::uint32_t>(layout.elements)}, [](ElementId id, Index) {
                           return Ear{.id = id.value()};
                         }};
    for (std::uint32_t phase = 0; phase < phases; ++phase) {
      const PhaseReport report = ears.each(
          [&](Ear& ear, ElementContext& context) { tell_others(ear, context, layout.elements, phase); }, "tell");
      EXPECT_EQ(report.steps, ears.local_count());
      EXPECT_EQ(report.lost_count, 0U);
      std::vector<Move> moves;
      for (const auto& [id, ear] : ears.local()) {
        ASSERT_EQ(id.value(), ear.id);
        ASSERT_EQ(ear.heard, (phase + 1) * told_each * 3U) << "none lost, none doubled";
        ASSERT_TRUE(ear.is_in_order);
        moves.push_back({id, Rank{static_cast<std::uint32_t>((id.value() * 7 + phase * 5) % layout.ranks)}});
      }
      const MigrationReport migration = ears.migrate(moves);
      EXPECT_LE(migration.sent, moves.size());
      for (const auto& [id, ear] : ears.local()) {
        EXPECT_EQ((id.value() * 7 + phase * 5) % layout.ranks, rank.self().value());
        EXPECT_EQ(ears.find(id), &ear);
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(
    Layouts,
    Collections,
    testing::Values(Layout{1, 1, 7}, Layout{1, 3, 20}, Layout{2, 2, 16}, Layout{4, 1, 30}, Layout{7, 1, 5}),
    [](const auto& its) {
      return std::to_string(its.param.ranks) + "_ranks_" + std::to_string(its.param.workers) + "_workers_" +
             std::to_string(its.param.elements) + "_elements";
    });

/// Passes a message on until it has gone round.
struct Runner {
  std::uint64_t passed = 0;
  void pass(ElementContext& context, std::uint64_t left) {
    ++passed;
    if (left > 1) {
      context.send<&Runner::pass>(ElementId{(context.id().value() + 1) % context.shape().count()}, left - 1);
    }
  }
};

TEST(Collection, ends_a_phase_when_what_messages_have_set_off_has_ended) {
  run_on_ranks({.ranks = 3}, {.worker_count = 2}, [](LocalRank& rank) {
    Collection<Runner> runners{rank, Shape{10}, [](ElementId, Index) { return Runner{}; }};
    if (rank.self() == Rank{1}) {
      runners.send<&Runner::pass>(ElementId{9}, std::uint64_t{1000});
    }
    runners.each([](Runner&) {});
    for (const auto& [id, runner] : runners.local()) {
      EXPECT_EQ(runner.passed, 100U) << id.value();
    }
  });
}

TEST(Collection, works_beside_another_on_the_same_ranks) {
  run_on_ranks({.ranks = 2}, {.worker_count = 1}, [](LocalRank& rank) {
    Collection<Runner> first{rank, Shape{4}, [](ElementId, Index) { return Runner{}; }};
    Collection<Runner> second{rank, Shape{2, 3}, [](ElementId, Index) { return Runner{}; }};
    first.each([](Runner&, ElementContext& context) { context.send<&Runner::pass>(ElementId{0}, std::uint64_t{2}); });
    second.each([](Runner&, ElementContext& context) { context.send<&Runner::pass>(ElementId{5}, std::uint64_t{1}); });
    if (Runner* const runner = first.find(ElementId{1})) {
      EXPECT_EQ(runner->passed, 4U);
    }
    if (Runner* const runner = second.find(ElementId{5})) {
      EXPECT_EQ(runner->passed, 6U);
    }
  });
}

/// A rank alone, whose time the test advances.
struct ClockedRank {
  ManualClock clock;
  trace::Recorder recorder{clock};
  net::LoopbackNetwork network{1};
  std::unique_ptr<net::Driver> driver = network.driver(Rank{0});
  comm::Endpoint endpoint{*driver, recorder};
  task::Scheduler its_scheduler{endpoint, recorder, {.worker_count = 1}};

  comm::Endpoint& messages() { return endpoint; }
  task::Scheduler& scheduler() { return its_scheduler; }
  trace::Recorder& trace() { return recorder; }
};

TEST(Collection, measures_each_element_by_itself_also_when_short_ones_run_together) {
  ClockedRank rank;
  Collection<Runner> runners{rank, Shape{100}, [](ElementId, Index) { return Runner{}; }};
  const auto work = [&](ElementContext& context, std::uint64_t cost_ns) {
    rank.clock.advance_to(rank.clock.now() + nanoseconds{cost_ns});
    context.send<&Runner::pass>(ElementId{(context.id().value() + 99) % 100},
                                std::uint64_t{1});  // mostly one that has run
  };
  for (int phase = 0; phase < 3; ++phase) {
    runners.each([&](Runner&, ElementContext& context) { work(context, context.id().value() + 1); });
  }
  runners.reset_loads();
  const auto has_grown = [](ElementId id) { return id.value() % 10 == 3; };  // so that some bunches take too long
  const PhaseReport report = runners.each([&](Runner&, ElementContext& context) {
    work(context, has_grown(context.id()) ? 1'000'000 : context.id().value() + 1);
  });
  EXPECT_EQ(report.steps, 100U);
  EXPECT_EQ(report.messages, 100U);
  for (const ElementLoad& load : runners.loads()) {
    EXPECT_DOUBLE_EQ(load.seconds * 1e9, has_grown(load.id) ? 1e6 : static_cast<double>(load.id.value() + 1));
    EXPECT_EQ(runners.find(load.id)->passed, 4U);
  }
}

struct Reader {
  void read(const std::vector<double>& /*numbers*/) {}
};

TEST(Collection, counts_the_same_bytes_of_messages_to_elements_here_and_elsewhere) {
  run_on_ranks({.ranks = 2}, {.worker_count = 1}, [](LocalRank& rank) {
    Collection<Reader> readers{rank, Shape{4}, [](ElementId, Index) { return Reader{}; }};
    readers.reset_loads();
    readers.each([](Reader&, ElementContext& context) {
      for (std::uint64_t to = 0; to < 4; ++to) {
        context.send<&Reader::read>(ElementId{to}, std::vector<double>(100));
      }
    });
    for (const ElementLoad& load : readers.loads()) {
      for (const PeerBytes& peer : load.sent) {
        EXPECT_EQ(peer.bytes, 100 * sizeof(double) + sizeof(std::uint64_t)) << peer.peer.value();
      }
      EXPECT_EQ(load.sent.size(), 4U);
    }
  });
}

// ---- elements that come and go, results, steps ----

struct Cell {
  std::uint64_t id = 0;
  std::vector<std::uint64_t> seen;

  void see(std::uint64_t value) { seen.push_back(value); }
};

template <class Archive>
void serialize(Archive& archive, Cell& cell) {
  archive(cell.id, cell.seen);
}

Cell make_cell(ElementId id, Index /*at*/) {
  return {.id = id.value(), .seen = {}};
}

TEST(Collection, combines_results_of_all_elements_wherever_they_are) {
  run_on_ranks({.ranks = 4}, {.worker_count = 1}, [](LocalRank& rank) {
    Collection<Cell> cells{rank, Shape{3}, make_cell};  // fewer than ranks
    EXPECT_EQ(cells.all_reduce([](const Cell& cell) { return cell.id + 1; }), 6U);
    EXPECT_EQ(cells.all_reduce([](const Cell& cell) { return cell.id; }, comm::Maximum{}), 2U);
    EXPECT_EQ(cells.count(), 3U);
    if (rank.self() == Rank{0}) {
      cells.migrate(std::array{Move{ElementId{0}, Rank{3}}});
    } else {
      cells.migrate({});
    }
    const std::vector<std::uint64_t> sums = cells.scan([](const Cell& cell) { return cell.id + 1; });
    ASSERT_EQ(sums.size(), cells.local_count());
    if (rank.self() == Rank{3}) {
      EXPECT_EQ(sums.front(), 1U);
    }
    const auto all = cells.gather(Rank{2}, [](const Cell& cell) { return std::to_string(cell.id); });
    EXPECT_EQ(all.size(), rank.self() == Rank{2} ? 3U : 0U);
    if (!all.empty()) {
      EXPECT_EQ(all.back().second, "2");
    }
    cells.broadcast<&Cell::see>(std::uint64_t{7});
    for (const auto& [id, cell] : cells.local()) {
      EXPECT_EQ(cell.seen, std::vector<std::uint64_t>{7});
    }
  });
}

TEST(Collection, scans_in_order_of_ids_wherever_elements_are) {
  run_on_ranks({.ranks = 3}, {.worker_count = 1}, [](LocalRank& rank) {
    Collection<Cell> cells{rank, Shape{8}, make_cell};
    const auto prefixes = [&] { return cells.scan([](const Cell& cell) { return std::to_string(cell.id); }); };
    std::vector<Move> moves;
    for (const auto& [id, cell] : cells.local()) {
      moves.push_back({id, Rank{static_cast<std::uint32_t>(id.value() * 5 % 3)}});
    }
    cells.migrate(moves);
    const std::vector<std::string> here = prefixes();
    ASSERT_EQ(here.size(), cells.local_count());
    for (std::size_t i = 0; const auto& [id, cell] : cells.local()) {
      EXPECT_EQ(here[i++], std::string{"01234567"}.substr(0, id.value() + 1));
    }
    if (rank.self() == Rank{1}) {
      cells.create(ElementId{~std::uint64_t{1}}, Cell{.id = 9, .seen = {}});  // all others then in one stretch
    }
    const std::vector<std::string> with_far = prefixes();
    EXPECT_EQ(with_far.empty() ? "" : with_far.back().substr(0, 8),
              rank.self() == Rank{1} ? "01234567"
              : here.empty()         ? ""
                                     : here.back());
  });
}

TEST(Collection, needs_no_progress_of_a_rank_that_has_a_result) {
  constexpr std::uint32_t ranks = 3;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    std::barrier<> all{ranks};  // at which ranks block, as in MPI
    run_on_ranks({.ranks = ranks, .network = net::SimOptions{.seed = seed, .retry_probability = 0.5}},
                 {.worker_count = 1},
                 [&](LocalRank& rank) {
                   Collection<Cell> cells{rank, Shape{6}, make_cell};
                   for (int repetition = 0; repetition < 5; ++repetition) {
                     EXPECT_EQ(cells.count(), 6U);
                     all.arrive_and_wait();
                     EXPECT_EQ(cells.gather(Rank{1}, [](const Cell& cell) { return cell.id; }).size(),
                               rank.self() == Rank{1} ? 6U : 0U);
                     all.arrive_and_wait();
                   }
                 });
  }
}

TEST(Collection, makes_and_erases_elements_while_it_runs) {
  run_on_ranks({.ranks = 3}, {.worker_count = 2}, [](LocalRank& rank) {
    constexpr std::uint64_t first_new = 1000;
    constexpr std::uint64_t count = 12;
    Collection<Cell> cells{rank, Shape{count}, make_cell};
    cells.each([](Cell& cell, ElementContext& context) {
      context.create(ElementId{first_new + cell.id}, Cell{.id = first_new + cell.id, .seen = {}});
      context.send<&Cell::see>(ElementId{first_new + (cell.id + 1) % count}, cell.id);  // perhaps not made yet
    });
    EXPECT_EQ(cells.count(), 2 * count);
    for (const auto& [id, cell] : cells.local()) {
      EXPECT_EQ(cell.seen.size(), id.value() >= first_new ? 1U : 0U) << id.value();
    }
    cells.each([](Cell& cell, ElementContext& context) {
      if (cell.id < first_new && cell.id % 2 == 0) {
        context.erase();
      } else if (cell.id == first_new) {
        context.erase(ElementId{1});
      }
    });
    EXPECT_EQ(cells.count(), 2 * count - count / 2 - 1);
    const PhaseReport report =
        cells.each([](Cell& cell, ElementContext& context) { context.send<&Cell::see>(ElementId{1}, cell.id); });
    std::array<std::uint64_t, 1> lost{report.lost_count};
    comm::all_reduce(cells.group(), std::span{lost}).wait();
    EXPECT_EQ(lost[0], 2 * count - count / 2 - 1) << "reported, not lost silently";
    for (const LostMessage& each : report.lost) {
      EXPECT_EQ(each.to, ElementId{1});
    }
  });
}

TEST(Collection, takes_in_elements_between_phases_on_any_rank) {
  run_on_ranks({.ranks = 3}, {.worker_count = 1}, [](LocalRank& rank) {
    Collection<Cell> cells{rank, Shape{6}};
    EXPECT_EQ(cells.count(), 0U);
    for (std::uint64_t id = 0; id < 6; ++id) {
      if ((id + 1) % 3 == rank.self().value()) {
        cells.create(ElementId{id}, Cell{.id = id, .seen = {}});
      }
    }
    cells.each([](Cell& cell, ElementContext& context) { context.send<&Cell::see>(ElementId{5 - cell.id}, cell.id); });
    for (const auto& [id, cell] : cells.local()) {
      EXPECT_EQ(cell.seen, std::vector<std::uint64_t>{5 - id.value()});
    }
    if (cells.find(ElementId{2}) != nullptr) {
      EXPECT_EQ(cells.swap_in(ElementId{2}, Cell{.id = 20, .seen = {}}).id, 2U);
      EXPECT_EQ(cells.take_out(ElementId{2}).id, 20U);
      EXPECT_THROW(cells.erase(ElementId{2}), Error);
    }
    EXPECT_EQ(cells.count(), 5U);
  });
}

/// A ring in which each value follows from the two beside it a step before.
struct Stencil {
  std::uint64_t value = 0;
  std::uint64_t sum = 0;
  void take(std::uint64_t neighbour) { sum += neighbour; }
};

TEST(Collection, iterates_as_its_neighbours_allow) {
  constexpr std::uint64_t count = 17;
  constexpr std::uint64_t steps = 25;
  std::vector<std::uint64_t> expected(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    expected[i] = i * i;
  }
  for (std::uint64_t step = 1; step < steps; ++step) {
    std::vector<std::uint64_t> next(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      next[i] = expected[(i + 1) % count] + expected[(i + count - 1) % count] + i;
    }
    expected = next;
  }
  for (const std::uint32_t ranks : {1U, 3U}) {
    run_on_ranks({.ranks = ranks}, {.worker_count = 2}, [&](LocalRank& rank) {
      Collection<Stencil> cells{
          rank, Shape{count}, [](ElementId id, Index) { return Stencil{.value = id.value() * id.value()}; }};
      const auto inputs = [](const Stencil&, std::uint64_t step) { return step == 0 ? 0U : 2U; };
      const PhaseReport report =
          cells.iterate(steps, inputs, [=](Stencil& cell, ElementContext& context, std::uint64_t step) {
            if (step > 0) {
              cell.value = std::exchange(cell.sum, 0) + context.id().value();
            }
            if (step + 1 < steps) {
              context.send_step<&Stencil::take>(ElementId{(context.id().value() + 1) % count}, step + 1, cell.value);
              context.send_step<&Stencil::take>(
                  ElementId{(context.id().value() + count - 1) % count}, step + 1, cell.value);
            }
          });
      EXPECT_EQ(report.steps, cells.local_count() * steps);
      for (const auto& [id, cell] : cells.local()) {
        EXPECT_EQ(cell.value, expected[id.value()]);
      }
    });
  }
}

// ---- trouble ----

std::vector<std::string> errors_of(std::uint32_t ranks,
                                   const std::function<void(LocalRank&, Collection<Runner>&)>& act) {
  return plait::test::errors_on_ranks({.ranks = ranks}, {.worker_count = 2}, [&](LocalRank& rank) {
    Collection<Runner> runners{rank, Shape{8}, [](ElementId, Index) { return Runner{}; }, {.name = "runners"}};
    act(rank, runners);
  });
}

void expect_each_says(const std::vector<std::string>& errors, const std::string& what) {
  for (const std::string& error : errors) {
    EXPECT_NE(error.find(what), std::string::npos) << error;
  }
}

TEST(CollectionTrouble, ends_the_run_on_all_ranks_when_an_element_throws) {
  expect_each_says(errors_of(3,
                             [](LocalRank&, Collection<Runner>& runners) {
                               runners.each(
                                   [](Runner&, ElementContext& context) {
                                     if (context.id() == ElementId{5}) {
                                       throw std::runtime_error{"no fields"};
                                     }
                                   },
                                   "push");
                               runners.each([](Runner&) {});  // where ranks that were faster hear of it
                             }),
                   "element 5 of 'runners' on rank 1 threw in phase 'push': no fields");
}

TEST(CollectionTrouble, names_elements_that_wait_for_inputs_that_nobody_has_sent) {
  expect_each_says(errors_of(2,
                             [](LocalRank&, Collection<Runner>& runners) {
                               runners.iterate(
                                   3,
                                   [](const Runner&, std::uint64_t step) { return step; },
                                   [](Runner&, ElementContext& context, std::uint64_t step) {
                                     if (context.id() != ElementId{7} && step < 2) {
                                       for (std::uint64_t i = 0; i < step + 1; ++i) {
                                         context.send_step<&Runner::pass>(context.id(), step + 1, std::uint64_t{0});
                                       }
                                     }
                                   },
                                   "wait");
                               runners.each([](Runner&) {});
                             }),
                   "element 7 in step 1 (0 of 1 have come)");
}

TEST(CollectionTrouble, refuses_inputs_that_inputs_does_not_count) {
  const auto sent = [](std::uint64_t from_step, std::uint64_t to_step, int how_many) {
    return errors_of(2, [=](LocalRank&, Collection<Runner>& runners) {
      runners.iterate(
          3,
          [](const Runner&, std::uint64_t step) { return step == 0 ? 0U : 1U; },
          [=](Runner&, ElementContext& context, std::uint64_t step) {
            if (step < 2) {
              context.send_step<&Runner::pass>(context.id(), step + 1, std::uint64_t{0});
            }
            for (int i = 0; context.id() == ElementId{5} && step == from_step && i < how_many; ++i) {
              context.send_step<&Runner::pass>(context.id(), to_step, std::uint64_t{0});
            }
          });
      runners.each([](Runner&) {});
    });
  };
  expect_each_says(sent(0, 2, 1), "element 5 of 'runners' has got 2 inputs of step 2, and inputs() returned 1");
  expect_each_says(sent(1, 0, 1), "element 5 of 'runners' has got an input of step 0 from element 5 after that step");
  expect_each_says(sent(2, 3, 1), "element 5 of 'runners' has got an input of step 3 from element 5 in 3 steps");
}

TEST(CollectionTrouble, refuses_moves_that_make_no_sense_on_all_ranks) {
  const auto moved = [](const Move& move) {
    return errors_of(2, [move](LocalRank& rank, Collection<Runner>& runners) {
      runners.migrate(rank.self() == Rank{0} ? std::span{&move, 1} : std::span<const Move>{});
    });
  };
  expect_each_says(moved({ElementId{1}, Rank{2}}), "cannot move to rank 2: this run has 2 ranks");
  expect_each_says(moved({ElementId{7}, Rank{1}}), "rank 0 cannot move element 7 of 'runners', which is not there");
}

TEST(CollectionTrouble, refuses_two_elements_with_one_id) {
  expect_each_says(
      errors_of(2,
                [](LocalRank&, Collection<Runner>& runners) {
                  runners.each([](Runner&, ElementContext& context) { context.create(ElementId{99}, Runner{}); });
                  runners.each([](Runner&) {});
                }),
      "element 99 of 'runners' cannot be created");
}

}  // namespace
}  // namespace plait::data::collection_test
