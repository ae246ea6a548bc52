// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "alltoall/work.hpp"

namespace alltoall_work_test {
namespace {

using alltoall::part_of;
using alltoall::Work;
using alltoall::WorkKind;

TEST(WorkParts, hold_all_units_once_whatever_is_left_over) {
  for (const std::uint64_t units : {0, 1, 15, 16, 17, 1000, 1023}) {
    for (const std::uint64_t count : {1, 2, 3, 7, 16, 33}) {
      std::uint64_t next = 0;
      for (std::uint64_t index = 0; index < count; ++index) {
        const auto [first, last] = part_of(units, index, count);
        EXPECT_EQ(first, next);
        EXPECT_LE(last - first, units / count + 1);
        next = last;
      }
      EXPECT_EQ(next, units) << units << " in " << count;
    }
  }
}

TEST(WorkParts, do_not_overflow) {
  const std::uint64_t units = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(part_of(units, 15, 16).last, units);
  EXPECT_EQ(part_of(units, 0, 16).last, part_of(units, 1, 16).first);
}

TEST(WorkUnits, come_from_the_time_of_one) {
  EXPECT_EQ(alltoall::units_that_take(1.0, 0.25), 4U);
  EXPECT_EQ(alltoall::units_that_take(1e-9, 1e-6), 1U) << "never none";
}

class WorkOfKind : public testing::TestWithParam<WorkKind> {};

TEST_P(WorkOfKind, has_the_same_result_at_once_and_in_parts) {
  Work at_once{GetParam()};
  Work in_parts{GetParam()};
  at_once.set_units(1003);
  in_parts.set_units(1003);
  at_once.run_all();
  for (std::uint64_t part = 0; part < 16; ++part) {
    in_parts.run_part(part, 16);
  }
  EXPECT_NE(at_once.result(), 0);
  EXPECT_NEAR(in_parts.result(), at_once.result(), 1e-9 * std::abs(at_once.result()));
}

TEST_P(WorkOfKind, reports_its_time_once) {
  Work work{GetParam()};
  work.set_units(1000);
  work.run_all();
  EXPECT_GT(work.take_seconds(), 0);
  EXPECT_EQ(work.take_seconds(), 0);
}

INSTANTIATE_TEST_SUITE_P(Kinds, WorkOfKind, testing::Values(WorkKind::sincos, WorkKind::stream));

}  // namespace
}  // namespace alltoall_work_test
