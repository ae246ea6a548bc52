// SPDX-License-Identifier: Apache-2.0
// The conformance cases on real MPI: each rank plays its own part. A failure on one rank is one on
// all, and a rank that throws or hangs takes the others down.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <ostream>
#include <tuple>

#include <gtest/gtest.h>
#include <mpi.h>

#include "plait/net/mpi/mpi_driver.hpp"
#include "plait/net/mpi/session.hpp"

#include "net/conformance.hpp"

namespace plait::net::conformance {
namespace {

/// Longer than any case takes, with four ranks on two slow cores under a sanitizer.
constexpr std::chrono::seconds case_time_max{60};

struct Setting {
  std::string name;
  MpiOptions options;
};
void PrintTo(const Setting& setting, std::ostream* out) {
  *out << setting.name;
}

std::vector<Setting> settings() {
  return {{"mpi", {}},
          {"mpi_small",
           {.packet_bytes_max = 1024,
            .receives_posted = 3,
            .sends_in_flight_max = 2,
            .bulk_slot_count = 2,
            .bulk_sends_max = 1,
            .bulk_chunk_bytes = 50000,
            .bulk_chunks_in_flight = 3}}};
}

class MpiConformance : public testing::TestWithParam<std::tuple<Setting, Case>> {};

/// Whoever hangs while the others are done would do so for ever.
void end_all_when_late(std::chrono::steady_clock::time_point start, const char* what) {
  if (std::chrono::steady_clock::now() - start > case_time_max) {
    std::fprintf(stderr, "the case hangs: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

TEST_P(MpiConformance, holds) {
  const auto& [setting, played] = GetParam();
  const auto start = std::chrono::steady_clock::now();
  MpiDriver driver{MPI_COMM_WORLD, setting.options};
  Player player{driver};
  Part part = played.play(player, {});
  while (!part.is_over() || !driver.is_idle()) {
    end_all_when_late(start, "this rank waits for something");
    player.poll();
    if (!part.is_over()) {
      part.step();
    }
  }
  player.arrivals.clear();
  player.done.clear();
  MPI_Request all_are_done = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &all_are_done);
  for (int is_over = 0; is_over == 0; MPI_Test(&all_are_done, &is_over, MPI_STATUS_IGNORE)) {
    end_all_when_late(start, "another rank waits for something");
    player.poll();
  }
  EXPECT_TRUE(player.arrivals.empty()) << "something came that nobody sent";
  EXPECT_TRUE(player.done.empty()) << "something was completed twice";
}

std::string name_of(const testing::TestParamInfo<std::tuple<Setting, Case>>& info) {
  return std::get<Setting>(info.param).name + "_" + std::get<Case>(info.param).name;
}

INSTANTIATE_TEST_SUITE_P(All,
                         MpiConformance,
                         testing::Combine(testing::ValuesIn(settings()), testing::ValuesIn(cases())),
                         name_of);

TEST(MpiDriver, names_the_library) {
  const MpiDriver driver{MPI_COMM_WORLD};
  EXPECT_EQ(std::string{driver.name()}.substr(0, 5), "mpi (");
}

TEST(MpiDriver, serves_two_at_once_on_one_communicator) {
  MpiDriver one{MPI_COMM_WORLD};
  MpiDriver other{MPI_COMM_WORLD};
  Player first{one};
  Player second{other};
  while (!first.send_number(first.next(), 1)) {
    first.poll();
  }
  while (!second.send_number(second.next(), 2)) {
    second.poll();
  }
  while (first.arrivals.empty() || second.arrivals.empty()) {
    first.poll();
    second.poll();
  }
  EXPECT_EQ(static_cast<int>(first.arrivals.front().packet.data()[0]), 1);
  EXPECT_EQ(static_cast<int>(second.arrivals.front().packet.data()[0]), 2);
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST(MpiDriver, refuses_options_that_make_no_sense) {
  EXPECT_THROW((MpiDriver{MPI_COMM_WORLD, {.packet_bytes_max = 10}}), Error);
  EXPECT_THROW((MpiDriver{MPI_COMM_WORLD, {.receives_posted = 0}}), Error);
  EXPECT_THROW((MpiDriver{MPI_COMM_WORLD, {.bulk_slot_count = 40000}}), Error);
}

TEST(MpiDriver, ends_with_things_in_flight) {
  const auto start = std::chrono::steady_clock::now();
  {
    MpiDriver driver{MPI_COMM_WORLD};
    std::vector<std::byte> buffer(1000);
    EXPECT_EQ(driver.receive_bulk({driver.self(), BulkSlot{0}, buffer, 1}), Post::posted);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, case_time_max);
}

}  // namespace
}  // namespace plait::net::conformance

int main(int argc, char** argv) {
  const plait::net::MpiSession session{argc, argv};
  testing::InitGoogleTest(&argc, argv);
  int failed = RUN_ALL_TESTS();
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return failed;
}
