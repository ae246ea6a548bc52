// SPDX-License-Identifier: Apache-2.0
// Flows in which ranks submit only their own tasks: the results of the whole program, and errors where ranks disagree.
#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "plait/task/flow/data_grid.hpp"
#include "plait/task/flow/flow.hpp"
#include "plait/testing/local_rank.hpp"

namespace plait::task::own_tasks_test {
namespace {

using plait::test::errors_on_ranks;
using plait::test::LocalRank;
using Word = std::uint32_t;
using Words = std::span<Word>;
using ConstWords = std::span<const Word>;

constexpr Rank r0{0};
constexpr Rank r1{1};
constexpr FlowOptions own{.submission = Submission::own_tasks};

// ---- random programs ----

/// `to` becomes a function of itself and of what the step reads; at each `is_wait` all ranks wait before it.
struct Step {
  std::size_t to;
  std::array<std::size_t, 2> from;
  Word constant;
  bool is_wait;
  bool sends_by_task;  ///< Owners of what is read submit the reading task in the place of a call of `send`.
};

struct Program {
  std::vector<Rank> owners;
  std::vector<Step> steps;
};

constexpr std::size_t words_of_datum = 17;

Program random_program(unsigned seed, std::uint32_t rank_count) {
  std::mt19937 random{seed};
  Program program;
  const std::size_t count = 3 + random() % 8;
  for (std::size_t i = 0; i < count; ++i) {
    program.owners.emplace_back(static_cast<Word>(random() % rank_count));
  }
  const std::size_t steps = 30 + random() % 150;
  for (std::size_t i = 0; i < steps; ++i) {
    std::vector<std::size_t> all(count);
    for (std::size_t index = 0; index < count; ++index) {
      all[index] = index;
    }
    std::ranges::shuffle(all, random);
    program.steps.push_back(
        {all[0], {all[1], all[2]}, static_cast<Word>(random()), random() % 40 == 0, random() % 3 == 0});
  }
  return program;
}

void update(Words to, ConstWords a, ConstWords b, Word constant) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    to[i] = to[i] * 3 + a[i] + 5 * b[to.size() - 1 - i] + constant;
  }
}

using Values = std::vector<std::vector<Word>>;

Values execute(const Program& program) {
  Values values(program.owners.size(), std::vector<Word>(words_of_datum, 1));
  for (const Step& step : program.steps) {
    update(values[step.to], values[step.from[0]], values[step.from[1]], step.constant);
  }
  return values;
}

/// This rank's part of a step. `versions`: of all data, which each rank counts.
void submit_part(Flow& flow, const Step& step, const std::vector<Data<Word>>& data, std::vector<Word>& versions) {
  const auto read = [&](std::size_t index) { return r(data[index], versions[index]); };
  const Rank executes = data[step.to].owner();
  const bool has_input =
      std::ranges::any_of(step.from, [&](std::size_t from) { return data[from].owner() == flow.self(); });
  if (executes == flow.self() || (has_input && step.sends_by_task)) {
    flow.submit([constant = step.constant](Words to, ConstWords a, ConstWords b) { update(to, a, b, constant); },
                rw(data[step.to]),
                read(step.from[0]),
                read(step.from[1]));
  } else if (has_input) {
    for (const std::size_t from : step.from) {
      flow.send(read(from), std::array{executes});  // of others' data: nothing
    }
  }
  if (executes != flow.self()) {
    flow.flush(data[step.to]);  // a copy of the value before
  }
  ++versions[step.to];
}

Values run(const Program& program, std::uint32_t rank_count, std::uint32_t workers, const FlowOptions& options) {
  Values found(program.owners.size());
  plait::test::run_on_ranks(
      {.ranks = rank_count}, {.worker_count = workers, .stall_max = std::chrono::seconds{60}}, [&](LocalRank& rank) {
        Flow flow{rank, options};
        std::vector<Data<Word>> data;
        std::vector<Word> versions(program.owners.size());
        for (const Rank owner : program.owners) {
          data.push_back(flow.data<Word>(owner, words_of_datum));
          if (owner == rank.self()) {
            std::ranges::fill(data.back().local(), 1U);
          }
        }
        for (const Step& step : program.steps) {
          if (step.is_wait) {
            flow.wait();
            std::ranges::fill(versions, 0U);
          }
          submit_part(flow, step, data, versions);
        }
        flow.wait();
        for (std::size_t i = 0; i < data.size(); ++i) {
          if (data[i].owner() == rank.self()) {
            found[i].assign(data[i].local().begin(), data[i].local().end());
          }
        }
      });
  return found;
}

class OwnTasks : public testing::TestWithParam<std::tuple<std::uint32_t, std::uint32_t>> {};

TEST_P(OwnTasks, give_the_result_of_the_whole_program) {
  const auto [ranks, workers] = GetParam();
  for (unsigned seed = 0; seed < 25; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Program program = random_program(seed, ranks);
    const FlowOptions options{.submission = Submission::own_tasks,
                              .window = seed % 3 == 0 ? 5U : 1000U,
                              .receive_ahead = seed % 2 == 0 ? 1U : 50U,
                              .fanout = seed % 5 == 0 ? Fanout::single_messages : Fanout::multicast};
    ASSERT_EQ(run(program, ranks, workers, options), execute(program));
  }
}

INSTANTIATE_TEST_SUITE_P(RanksAndWorkers,
                         OwnTasks,
                         testing::Combine(testing::Values(1U, 2U, 3U, 7U), testing::Values(1U, 2U)));

// ---- what a rank does not submit ----

TEST(OwnTasksOfOneRank, cost_the_others_nothing) {
  plait::test::run_on_ranks({.ranks = 3}, {}, [](LocalRank& rank) {
    Flow flow{rank, own};
    const Data<Word> a = flow.data<Word>(r0, 1);
    if (rank.self() == r0) {
      a.local()[0] = 0;
      for (int i = 0; i < 1000; ++i) {
        flow.submit([](Words value) { ++value[0]; }, rw(a));
      }
    }
    flow.wait();
    EXPECT_EQ(flow.statistics().submitted, rank.self() == r0 ? 1001U : 1U);
    EXPECT_EQ(flow.statistics().messages_sent, 0U);
    if (rank.self() == r0) {
      EXPECT_EQ(a.local()[0], 1000U);
    }
  });
}

TEST(OwnTasksOfOneRank, name_only_their_pieces_of_a_grid) {
  std::atomic<int> asked = 0;
  plait::test::run_on_ranks({.ranks = 2}, {}, [&](LocalRank& rank) {
    Flow flow{rank, own};
    std::vector<Word> memory(4);
    const DataGrid<Word> grid{flow,
                              "A",
                              {.rows = 60'000, .columns = 60'000},
                              {.element_count = [](std::uint32_t, std::uint32_t) { return std::size_t{4}; },
                               .memory =
                                   [&](std::uint32_t row, std::uint32_t column) {
                                     EXPECT_EQ(row, 59'999U);
                                     EXPECT_EQ(column, 7U);
                                     ++asked;
                                     return std::span{memory};
                                   }},
                              BlockCyclic{.rows = 2, .columns = 1}};
    const auto piece = grid(59'999, 7);
    EXPECT_EQ(piece.owner(), r1);
    if (rank.self() == r1) {
      flow.submit([](Words value) { value[3] = 5; }, rw(piece));
    }
    flow.wait();
    EXPECT_EQ(memory[3], rank.self() == r1 ? 5U : 0U);
  });
  EXPECT_EQ(asked, 1);
}

TEST(OwnTasksOfOneRank, are_sent_a_value_once) {
  plait::test::run_on_ranks({.ranks = 2}, {}, [](LocalRank& rank) {
    Flow flow{rank, own};
    const Data<Word> a = flow.data<Word>(r0, 1);
    const Data<Word> b = flow.data<Word>(r1, 1);
    (rank.self() == r0 ? a : b).local()[0] = 1;
    for (int i = 0; i < 5; ++i) {
      if (rank.self() == r0) {
        flow.send(r(a), std::array{r1});
      } else {
        flow.submit([](ConstWords from, Words to) { to[0] += from[0]; }, r(a, 0), rw(b));
      }
    }
    flow.wait();
    EXPECT_EQ(flow.statistics().messages_sent, rank.self() == r0 ? 1U : 0U);
    if (rank.self() == r1) {
      EXPECT_EQ(b.local()[0], 6U);
    }
  });
}

// ---- ranks that disagree ----

class Disagreements : public testing::Test {
 protected:
  /// Returns the errors of two ranks; `part` gets rank 0's datum `a` and rank 1's `b`.
  static std::vector<std::string> errors_of(
      const std::function<void(Flow&, const Data<Word>&, const Data<Word>&)>& part) {
    return errors_on_ranks({.ranks = 2}, {.stall_max = std::chrono::seconds{20}}, [&](LocalRank& rank) {
      Flow flow{rank, own};
      const Data<Word> a = flow.data<Word>(r0, 1);
      const Data<Word> b = flow.data<Word>(r1, 1);
      (rank.self() == r0 ? a : b).local()[0] = 1;
      part(flow, a, b);
      flow.wait();
    });
  }
  static void add(ConstWords from, Words to) { to[0] += from[0]; }
  static void increase(Words value) { ++value[0]; }
};

void expect_on_all(const std::vector<std::string>& errors, const std::string& sentence) {
  for (const std::string& error : errors) {
    EXPECT_NE(error.find(sentence), std::string::npos) << error;
  }
}

TEST_F(Disagreements, a_value_that_is_not_sent) {
  expect_on_all(errors_of([](Flow& flow, const Data<Word>& a, const Data<Word>& b) {
                  if (flow.self() == r1) {
                    flow.submit(add, r(a, 0), rw(b));
                  }
                }),
                "rank 1 reads version 0 of");
}

TEST_F(Disagreements, a_value_that_is_waited_for_in_the_midst_of_the_program) {
  // Nothing goes between the ranks otherwise, so no sums are sent.
  const auto errors = errors_on_ranks({.ranks = 2}, {.stall_max = std::chrono::seconds{20}}, [](LocalRank& rank) {
    Flow flow{rank, {.submission = Submission::own_tasks, .window = 2}};
    const Data<Word> a = flow.data<Word>(r0, 1);
    const Data<Word> b = flow.data<Word>(r1, 1);
    (rank.self() == r0 ? a : b).local()[0] = 1;
    for (int i = 0; i < 5 && rank.self() == r1; ++i) {
      flow.submit(add, r(a, 0), rw(b));
    }
    flow.wait();
  });
  expect_on_all(errors, "rank 1 reads version 0 of");
}

TEST_F(Disagreements, a_value_that_is_not_read) {
  expect_on_all(errors_of([](Flow& flow, const Data<Word>& a, const Data<Word>&) {
                  if (flow.self() == r0) {
                    flow.send(r(a), std::array{r1});
                  }
                }),
                "but no task on rank 1 reads it");
}

TEST_F(Disagreements, another_version) {
  expect_on_all(errors_of([](Flow& flow, const Data<Word>& a, const Data<Word>& b) {
                  if (flow.self() == r0) {
                    flow.submit(increase, rw(a));
                    flow.send(r(a), std::array{r1});
                  } else {
                    flow.submit(add, r(a, 2), rw(b));
                  }
                }),
                "reads version 2 of");
}

TEST_F(Disagreements, a_version_that_the_owner_has_not) {
  expect_on_all(errors_of([](Flow& flow, const Data<Word>& a, const Data<Word>&) {
                  if (flow.self() == r0) {
                    flow.submit(increase, rw(a));
                    flow.send(r(a, 3), std::array{r1});
                  }
                }),
                "reads version 3 of");
}

TEST_F(Disagreements, no_version_of_a_datum_of_another) {
  expect_on_all(errors_of([](Flow& flow, const Data<Word>& a, const Data<Word>& b) {
                  if (flow.self() == r1) {
                    flow.submit(add, r(a), rw(b));
                  }
                }),
                "without its version");
}

TEST_F(Disagreements, a_task_that_writes_what_another_rank_owns) {
  expect_on_all(errors_of([](Flow& flow, const Data<Word>& a, const Data<Word>&) {
                  if (flow.self() == r1) {
                    flow.submit({.on = r1}, increase, rw(a));
                  }
                }),
                "which rank 0 owns: where ranks submit only their own tasks");
}

TEST_F(Disagreements, a_copy_that_is_read_after_it_was_dropped) {
  expect_on_all(errors_of([](Flow& flow, const Data<Word>& a, const Data<Word>& b) {
                  if (flow.self() == r0) {
                    flow.send(r(a), std::array{r1});
                  } else {
                    flow.submit(add, r(a, 0), rw(b));
                    flow.flush(a);
                    flow.submit(add, r(a, 0), rw(b));
                  }
                }),
                "flush it after its last use");
}

}  // namespace
}  // namespace plait::task::own_tasks_test
