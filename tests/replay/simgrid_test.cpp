// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/simgrid.hpp"

#include <array>
#include <fstream>
#include <memory>

#include <gtest/gtest.h>

#include "plait/base/random.hpp"
#include "plait/replay/expand.hpp"
#include "plait/replay/fold.hpp"
#include "plait/replay/synthetic.hpp"
#include "plait/testing/temporary_folder.hpp"

#include "replay/hand_made.hpp"
#include "replay/random_schedule.hpp"

namespace plait::replay::simgrid_test {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
  std::ifstream in{file};
  return {std::istreambuf_iterator<char>{in}, {}};
}

Platform platform_of(double latency_ns, double gap_per_byte_ns) {
  Platform platform;
  platform.between_hosts = {.latency_ns = latency_ns, .gap_per_byte_ns = gap_per_byte_ns, .eager_bytes_max = 1U << 20U};
  platform.within_host = platform.between_hosts;
  return platform;
}

/// The time that SimGrid reports, in seconds; negative when it fails. Its plain model: flows share what both ends have.
double simulated(const fs::path& folder, std::size_t ranks) {
  const std::string command = "cd " + folder.string() + " && " + PLAIT_SMPIRUN + " -np " + std::to_string(ranks) +
                              " -platform platform.xml -hostfile hosts.txt -replay trace.txt --cfg=network/model:CM02"
                              " --cfg=network/crosstraffic:0 --cfg=network/TCP-gamma:0 2>&1";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe{popen(command.c_str(), "r"), pclose};
  std::string output;
  std::array<char, 4096> buffer{};
  while (pipe && std::fgets(buffer.data(), buffer.size(), pipe.get()) != nullptr) {
    output += buffer.data();
  }
  const std::string before = "Simulation time ";
  const std::size_t found = output.find("Stalling") == std::string::npos ? output.rfind(before) : std::string::npos;
  EXPECT_NE(found, std::string::npos) << command << "\n" << output;
  return found == std::string::npos ? -1 : std::strtod(output.c_str() + found + before.size(), nullptr);
}

double simulated(const Schedule& schedule, const Platform& platform) {
  const test::TemporaryFolder folder;
  EXPECT_TRUE(write_simgrid(schedule, platform, folder.path()).empty());
  return simulated(folder.path(), schedule.ranks.size());
}

class Smpirun : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(PLAIT_SMPIRUN)) {  // optional: the set-up unpacks it where apt has it, and some archives do not
      GTEST_SKIP() << "no smpirun here (tools/setup installs it)";
    }
  }
};

TEST(Simgrid, writes_a_file_a_rank_and_what_it_takes_to_run_them) {
  const test::TemporaryFolder folder;
  Platform platform = platform_of(1000, 0.8);
  platform.ranks_per_host = 2;
  write_simgrid(synthetic_schedule("pattern=nearest,ranks=3,mean=100,compute=1us").value(), platform, folder.path());
  EXPECT_EQ(text_of(folder.path() / "rank-0001.ti"),
            "1 init\n1 compute 1000\n1 irecv 0 0 100 6\n1 irecv 2 0 100 6\n1 isend 2 0 100 6\n1 isend 0 0 100 6\n"
            "1 waitall 4\n1 finalize\n");
  EXPECT_EQ(text_of(folder.path() / "trace.txt"), "rank-0000.ti\nrank-0001.ti\nrank-0002.ti\n");
  EXPECT_EQ(text_of(folder.path() / "hosts.txt"), "host-0\nhost-0\nhost-1\n");
  EXPECT_NE(text_of(folder.path() / "platform.xml").find("radical=\"0-1\""), std::string::npos);
}

TEST(Simgrid, merges_threads_in_the_order_in_which_they_wait_for_each_other) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(write_simgrid(two_threads(), platform_of(1000, 1), folder.path()).size(), 1U);
  EXPECT_EQ(text_of(folder.path() / "rank-0000.ti"),
            "0 init\n0 compute 5000\n0 isend 1 0 100 6\n0 irecv 1 0 100 6\n0 waitall 2\n0 compute 2000\n0 finalize\n");
}

TEST(Simgrid, says_that_several_threads_become_one) {
  Schedule schedule = synthetic_schedule("pattern=nearest,ranks=2").value();
  schedule.ranks[1].streams.emplace_back().operations.push_back({.took = nanoseconds{10}});
  const test::TemporaryFolder folder;
  const auto lost = write_simgrid(schedule, platform_of(1000, 1), folder.path());
  ASSERT_EQ(lost.size(), 1);
  EXPECT_NE(lost[0].find("1 ranks have several threads"), std::string::npos) << lost[0];
}

/// A message after another round the ring: each takes latency and bytes.
TEST_F(Smpirun, simulates_a_ring_as_long_as_its_messages_take_one_after_another) {
  constexpr std::uint32_t ranks = 5;
  Schedule schedule;
  schedule.ranks.resize(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    Stream& stream = schedule.ranks[rank].streams.emplace_back();
    const Operation receive{.action = Action::receive, .peer = (rank + ranks - 1) % ranks, .bytes = 1'000'000};
    const Operation send{.action = Action::send, .peer = (rank + 1) % ranks, .bytes = 1'000'000};
    const Operation wait{.action = Action::wait, .count = 1};
    Operation second = wait;
    second.first = 1;
    stream.operations = {rank == 0 ? send : receive, wait, rank == 0 ? receive : send, second};
    stream.waited = {0, 2};
  }
  EXPECT_TRUE(carry_out(schedule).is_finished);
  EXPECT_NEAR(simulated(schedule, platform_of(10'000, 1)), ranks * (1e-5 + 1e-3), 0.02 * ranks * 1e-3);
}

TEST_F(Smpirun, simulates_a_halo_and_an_all_to_all_as_long_as_their_links_are_busy) {
  const Platform platform = platform_of(10'000, 1);
  // Every rank sends and receives so many messages of 100 kB at once, over a link of its own of 1 GB/s each way.
  EXPECT_NEAR(
      simulated(synthetic_schedule("pattern=halo,ranks=27,mean=100kB").value(), platform), 26 * 1e-4, 0.05 * 26e-4);
  EXPECT_NEAR(
      simulated(synthetic_schedule("pattern=all-to-all,ranks=8,mean=100kB").value(), platform), 7 * 1e-4, 0.05 * 7e-4);
}

TEST_F(Smpirun, carries_out_exchanges_put_together_by_chance) {
  Random random{23};
  for (int i = 0; i < 3; ++i) {
    const Schedule schedule = random_schedule(random, 5, 150);
    EXPECT_GE(simulated(schedule, platform_of(10'000, 1)), 0) << i;
    const test::TemporaryFolder folder;  // now with several threads a rank, which SimGrid has not
    EXPECT_EQ(write_simgrid(fold(schedule, 2).value(), platform_of(10'000, 1), folder.path()).size(), 1);
    EXPECT_GE(simulated(folder.path(), 2), 0) << i;
  }
}

}  // namespace
}  // namespace plait::replay::simgrid_test
