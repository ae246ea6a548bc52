// SPDX-License-Identifier: Apache-2.0
// The errors of flows in programs that are wrong.
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plait/task/flow/data_grid.hpp"
#include "plait/task/flow/flow.hpp"
#include "plait/testing/local_rank.hpp"

namespace plait::task::trouble_test {
namespace {

using plait::test::errors_on_ranks;
using plait::test::LocalRank;
using Ints = std::span<int>;
using ConstInts = std::span<const int>;

constexpr Rank r0{0};
constexpr Rank r1{1};

testing::AssertionResult has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos ? testing::AssertionSuccess()
                                              : testing::AssertionFailure() << "'" << part << "' is not in: " << text;
}

class Trouble : public testing::TestWithParam<std::uint32_t> {
 protected:
  SchedulerOptions options() const { return {.worker_count = GetParam(), .stall_max = std::chrono::seconds{20}}; }
};

TEST_P(Trouble, ends_all_ranks_with_the_task_and_the_message_of_the_first_exception) {
  const auto errors = errors_on_ranks({.ranks = 3}, options(), [](LocalRank& rank) {
    Flow flow{rank};
    const Data<int> a = flow.data<int>(r1, 1);
    const Data<int> b = flow.data<int>(r0, 1);
    flow.submit({.kind = flow.kind("boil")}, [](Ints) { throw std::runtime_error{"too hot"}; }, w(a));
    flow.submit([](ConstInts, Ints) {}, r(a), w(b));
    flow.wait();
  });
  EXPECT_EQ(errors[1], "task 'boil' on rank 1 threw: too hot");
  EXPECT_TRUE(has(errors[0], "task 'boil' on rank 1 threw: too hot"));
  EXPECT_TRUE(has(errors[2], "task 'boil' on rank 1 threw: too hot")) << "although nothing of it concerns rank 2";
}

TEST_P(Trouble, a_flow_that_has_failed_can_only_be_ended) {
  const auto errors = errors_on_ranks({.ranks = 1}, options(), [](LocalRank& rank) {
    Flow flow{rank};
    const Data<int> a = flow.data<int>(r0, 1);
    flow.submit([](Ints) { throw std::runtime_error{"no"}; }, w(a));
    EXPECT_THROW(flow.wait(), Error);
    EXPECT_THROW(flow.submit([](Ints) {}, w(a)), Error);
    EXPECT_THROW(flow.wait(), Error);
  });
  EXPECT_EQ(errors[0], "");
}

TEST_P(Trouble, names_the_task_and_the_datum_when_a_kernel_writes_what_it_only_reads) {
  const auto errors = errors_on_ranks({.ranks = 1}, options(), [](LocalRank& rank) {
    Flow flow{rank, {.read_checks = ReadChecks::always}};
    const DataGrid<int> a{flow, "A", {.rows = 2, .columns = 3}, 10, BlockCyclic{}};
    flow.submit([](Ints value) { std::iota(value.begin(), value.end(), 0); }, w(a(1, 2)));
    flow.submit([](ConstInts value) { EXPECT_EQ(value[7], 7); }, r(a(1, 2)));
    flow.wait();  // tasks that only read run side by side, and the next one spoils the value
    flow.submit({.kind = flow.kind("peep")}, [](ConstInts value) { const_cast<int&>(value[7]) = 8; }, r(a(1, 2)));
    flow.wait();
  });
  EXPECT_TRUE(has(errors[0], "task 'peep' on rank 0")) << errors[0];
  EXPECT_TRUE(has(errors[0], "has written A(1, 2), which it declared as only read"));
}

TEST_P(Trouble, names_a_datum_that_is_read_but_was_never_written) {
  const auto errors = errors_on_ranks({.ranks = 2}, options(), [](LocalRank& rank) {
    Flow flow{rank};
    const DataGrid<int> a{flow, "A", {.rows = 2, .columns = 2}, 10, BlockCyclic{.rows = 2, .columns = 1}};
    flow.submit([](ConstInts, Ints) {}, r(a(1, 1)), w(a(0, 0)));
    flow.wait();
  });
  EXPECT_TRUE(has(errors[1], "A(1, 1) is read, but has no value"));
  EXPECT_TRUE(has(errors[0], "A(1, 1) is read, but has no value"));
}

TEST_P(Trouble, says_how_much_memory_for_copies_is_needed) {
  const auto errors = errors_on_ranks({.ranks = 2}, options(), [](LocalRank& rank) {
    Flow flow{rank, {.copy_bytes_max = 1000}};
    std::vector<Data<int>> inputs;
    for (int i = 0; i < 3; ++i) {
      inputs.push_back(flow.data<int>(r0, 100));
      flow.submit([](Ints value) { value[0] = 1; }, w(inputs.back()));
    }
    const Data<int> sum = flow.data<int>(r1, 1);
    flow.submit([](ConstInts a, ConstInts b, ConstInts c, Ints to) { to[0] = a[0] + b[0] + c[0]; },
                r(inputs[0]),
                r(inputs[1]),
                r(inputs[2]),
                w(sum));
    flow.wait();
  });
  EXPECT_TRUE(has(errors[1], "may take 1000 bytes on rank 1, but its next task needs 1200"));
  EXPECT_TRUE(has(errors[0], "needs 1200"));
}

TEST_P(Trouble, names_the_first_difference_between_the_programs_of_two_ranks) {
  const auto errors = errors_on_ranks({.ranks = 2}, options(), [](LocalRank& rank) {
    Flow flow{rank};
    const DataGrid<int> a{flow, "A", {.rows = 1, .columns = 4}, 10, BlockCyclic{.rows = 1, .columns = 2}};
    for (std::uint32_t column = 0; column < 4; ++column) {
      flow.submit([](Ints) {}, w(a(0, column)));
    }
    const FlowKind swim = flow.kind("swim");
    const FlowKind walk = flow.kind("walk");
    flow.submit({.kind = rank.self() == r0 ? swim : walk}, [](ConstInts, Ints) {}, r(a(0, 1)), rw(a(0, 2)));
    flow.submit([](ConstInts, Ints) {}, r(a(0, 2)), rw(a(0, 3)));
    flow.wait();
  });
  for (const std::string& error : errors) {
    EXPECT_TRUE(has(error, "the first difference is submission 6"));
    EXPECT_TRUE(has(error, "on rank 0 'swim' on r(A(0, 1)), rw(A(0, 2)), executed by rank 0"));
    EXPECT_TRUE(has(error, "on rank 1 'walk' on r(A(0, 1)), rw(A(0, 2)), executed by rank 0"));
  }
}

TEST_P(Trouble, does_not_hang_when_a_rank_waits_for_what_another_never_sends) {
  for (const Rank wrong : {r0, r1}) {
    const auto errors = errors_on_ranks({.ranks = 2}, options(), [&](LocalRank& rank) {
      Flow flow{rank, {.window = 8}};
      const Data<int> a = flow.data<int>(r0, 1);
      const Data<int> b = flow.data<int>(r1, 1);
      flow.submit([](Ints) {}, w(a));
      flow.submit([](Ints) {}, w(b));
      for (int i = 0; i < 50; ++i) {
        if (rank.self() != wrong || i != 20) {
          flow.submit([](ConstInts, Ints) {}, r(a), rw(b));
          flow.submit([](ConstInts, Ints) {}, r(b), rw(a));
        }
      }
      flow.wait();
    });
    for (const std::string& error : errors) {  // one rank reaches its end of the loop two submissions early
      EXPECT_TRUE(has(error, "the ranks submit different programs: the first difference is submission 103"));
      EXPECT_TRUE(has(error, "'wait'"));
    }
  }
}

TEST_P(Trouble, names_grids_whose_pieces_have_other_owners) {
  const auto errors = errors_on_ranks({.ranks = 2}, options(), [&](LocalRank& rank) {
    Flow flow{rank};
    const std::uint32_t rows = rank.self() == r0 ? 1 : 2;
    const DataGrid<int> grid{flow, "A", {.rows = 2, .columns = 2}, 10, BlockCyclic{.rows = rows, .columns = 3 - rows}};
    flow.wait();
  });
  for (const std::string& error : errors) {
    EXPECT_TRUE(has(error, "a new grid A of 2 x 2 with owners"));
  }
}

TEST_P(Trouble, names_a_difference_far_back) {
  const auto errors = errors_on_ranks({.ranks = 3}, options(), [&](LocalRank& rank) {
    Flow flow{rank};
    const Data<int> a = flow.data<int>(r0, 1);
    const Data<int> b = flow.data<int>(r0, 1);
    flow.submit([](Ints) {}, w(a));
    flow.submit([](Ints) {}, w(b));
    for (int i = 0; i < 3'000; ++i) {  // concerns rank 0 only
      flow.submit([](Ints) {}, rw(rank.self() == Rank{2} && i == 1'500 ? a : b));
    }
    flow.wait();
  });
  for (const std::string& error : errors) {
    EXPECT_TRUE(has(error, "the first difference is submission 1505"));
  }
}

TEST_P(Trouble, says_that_a_datum_is_named_twice_or_reduced_without_a_rule) {
  const auto twice = errors_on_ranks({.ranks = 1}, options(), [](LocalRank& rank) {
    Flow flow{rank};
    const Data<int> a = flow.data<int>(r0, 1);
    flow.submit([](Ints) {}, w(a));
    flow.submit([](ConstInts, Ints) {}, r(a), rw(a));
  });
  EXPECT_TRUE(has(twice[0], "names data 0 twice"));
  const auto without_rule = errors_on_ranks({.ranks = 1}, options(), [](LocalRank& rank) {
    Flow flow{rank};
    const Data<int> a = flow.data<int>(r0, 1);
    flow.submit([](Ints) {}, reduce(a));
  });
  EXPECT_TRUE(has(without_rule[0], "data 0 is reduced, but has no rule"));
}

TEST_P(Trouble, refuses_ranks_that_do_not_exist_and_memory_of_others) {
  const auto errors = errors_on_ranks({.ranks = 1}, options(), [](LocalRank& rank) {
    Flow flow{rank};
    EXPECT_THROW((void)flow.data<int>(Rank{1}, 1), Error);
    EXPECT_THROW((Flow{rank, {.window = 0}}), Error);
    const Data<int> a = flow.data<int>(r0, 1);
    flow.submit({.on = Rank{5}}, [](Ints) {}, w(a));
  });
  EXPECT_TRUE(has(errors[0], "rank 5 cannot execute"));
  (void)errors_on_ranks({.ranks = 2}, options(), [](LocalRank& rank) {
    Flow flow{rank};
    const Data<int> a = flow.data<int>(r0, 1);
    if (rank.self() == r1) {
      EXPECT_THROW((void)a.local(), Error);
    }
  });
}

TEST_P(Trouble, a_flow_left_with_tasks_under_way_stops_the_run) {
  const auto errors = errors_on_ranks({.ranks = 2}, options(), [](LocalRank& rank) {
    {
      Flow flow{rank};
      const Data<int> a = flow.data<int>(r0, 1);
      const Data<int> b = flow.data<int>(r1, 1);
      flow.submit([](Ints) {}, w(a));
      flow.submit([](ConstInts, Ints) {}, r(a), w(b));
      if (rank.self() == r1) {
        flow.wait();
      }
    }
  });
  EXPECT_TRUE(has(errors[1], "a run was left before its tasks had ended"));
}

INSTANTIATE_TEST_SUITE_P(Workers, Trouble, testing::Values(1U, 3U));

}  // namespace
}  // namespace plait::task::trouble_test
