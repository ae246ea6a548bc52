// SPDX-License-Identifier: Apache-2.0
// The conformance cases on real MPI.
#include <chrono>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <mpi.h>

#include "plait/net/mpi/mpi_driver.hpp"

#include "net/conformance.hpp"
#include "net/conformance_mpi.hpp"

namespace plait::net::conformance {
namespace {

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
            .bulk_chunks_in_flight = 3}},
          {"mpi_long",
           {.packet_bytes_max = 1024, .copied_bytes_max = 5000, .message_bytes_max = 2000, .receives_posted = 3}},
          {"mpi_pieces", {.packet_bytes_max = 2000, .message_bytes_max = 600, .sends_in_flight_max = 4}},
          {"mpi_undivided", {.bulk_chunk_bytes = 1000, .bulk_undivided_min = 60000}}};
}

class MpiConformance : public testing::TestWithParam<std::tuple<Setting, Case>> {};

TEST_P(MpiConformance, holds) {
  const auto& [setting, played] = GetParam();
  const auto start = std::chrono::steady_clock::now();
  const auto driver = make_mpi_driver(MPI_COMM_WORLD, setting.options);
  Player player{*driver};
  play_on_mpi(player, played, {}, start, [&] { player.poll(); });
}

INSTANTIATE_TEST_SUITE_P(All,
                         MpiConformance,
                         testing::Combine(testing::ValuesIn(settings()), testing::ValuesIn(cases())),
                         name_of<MpiConformance::ParamType>);

TEST(MpiDriver, names_the_library) {
  const auto driver = make_mpi_driver(MPI_COMM_WORLD);
  EXPECT_EQ(std::string{driver->name()}.substr(0, 5), "mpi (");
}

TEST(MpiDriver, serves_two_at_once_on_one_communicator) {
  const auto one = make_mpi_driver(MPI_COMM_WORLD);
  const auto other = make_mpi_driver(MPI_COMM_WORLD);
  Player first{*one};
  Player second{*other};
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
  EXPECT_THROW((void)make_mpi_driver(MPI_COMM_WORLD, {.packet_bytes_max = 10}), Error);
  EXPECT_THROW((void)make_mpi_driver(MPI_COMM_WORLD, {.copied_bytes_max = 100}), Error);
  EXPECT_THROW((void)make_mpi_driver(MPI_COMM_WORLD, {.message_bytes_max = 100}), Error);
  EXPECT_THROW((void)make_mpi_driver(MPI_COMM_WORLD, {.message_bytes_max = 1000, .sends_in_flight_max = 2}), Error);
  EXPECT_THROW((void)make_mpi_driver(MPI_COMM_WORLD, {.receives_posted = 0}), Error);
  EXPECT_THROW((void)make_mpi_driver(MPI_COMM_WORLD, {.bulk_slot_count = 40000}), Error);
}

TEST(MpiDriver, ends_with_things_in_flight) {
  const auto start = std::chrono::steady_clock::now();
  {
    const auto driver = make_mpi_driver(MPI_COMM_WORLD);
    std::vector<std::byte> buffer(1000);
    EXPECT_EQ(driver->receive_bulk({driver->self(), BulkSlot{0}, buffer, 1}), Post::posted);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, case_time_max);
}

}  // namespace
}  // namespace plait::net::conformance

int main(int argc, char** argv) {
  return plait::net::conformance::run_tests_on_mpi(argc, argv);
}
