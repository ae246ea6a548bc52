// SPDX-License-Identifier: Apache-2.0
// Under MPI: the strategy of rank 0 is that of all ranks, and what cannot be used is never fatal.
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include "plait/net/mpi/session.hpp"
#include "plait/runtime/runtime.hpp"
#include "plait/runtime/strategy.hpp"
#include "plait/testing/temporary_folder.hpp"

namespace plait::with_strategy_test {
namespace {

int rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

/// A file that only this rank reads.
class OwnFile {
 public:
  explicit OwnFile(const std::string& choices) {
    const MeasuredSystem system = this_system();
    std::ofstream{path()} << fmt::format(
        R"({{"format": "plait-strategy", "version": 1, "system": {{"processor": "{}", "cores": {}, "mpi": "{}",)"
        R"( "plait": "{}"}}, "choices": {{{}}}}})",
        system.processor,
        system.cores,
        system.mpi,
        system.plait,
        choices);
  }
  [[nodiscard]] std::string path() const { return folder_ / "strategy.json"; }

 private:
  test::TemporaryFolder folder_;
};

TEST(WithStrategy, all_ranks_have_the_choices_of_rank_0) {
  const OwnFile file{rank() == 0
                         ? R"("shm_packet_bytes": 16384, "packing": "priority", "progress": "none", "copiers": 4)"
                         : R"("shm_packet_bytes": 4032, "mpi_packet_bytes": 4032)"};
  const Options options = with_strategy(MPI_COMM_WORLD, Options{.strategy = file.path()});
  EXPECT_EQ(options.network.packet_bytes.shm, 16384U);
  EXPECT_EQ(options.network.packet_bytes.mpi, 0U);
  EXPECT_EQ(options.messages.packing, "priority");
  EXPECT_EQ(options.progression.mode, comm::ProgressionMode::none);
  EXPECT_EQ(options.messages.copiers_automatic, 4U);
  if (rank() == 0) {
    EXPECT_EQ(options.described().at("strategy"), file.path());
  }
}

TEST(WithStrategy, default_reads_no_file_on_any_rank) {
  const OwnFile file{R"("shm_packet_bytes": 16384)"};
  const Options options = with_strategy(MPI_COMM_WORLD, Options{.strategy = rank() == 0 ? "default" : file.path()});
  EXPECT_EQ(options.network.packet_bytes.shm, 0U);
}

TEST(WithStrategy, of_a_file_that_cannot_be_used_is_the_default_after_one_sentence) {
  const OwnFile file{R"("shm_packet_bytes": 3)"};
  for (const std::string& path : {file.path(), std::string{"/no/such/file"}}) {
    testing::internal::CaptureStderr();
    const Options options = with_strategy(MPI_COMM_WORLD, Options{.strategy = path});
    const std::string sentence = testing::internal::GetCapturedStderr();
    EXPECT_EQ(options.network.packet_bytes.shm, 0U);
    EXPECT_EQ(sentence.find("plait: the defaults are used in place of " + path) != std::string::npos, rank() == 0);
    if (rank() == 0) {
      EXPECT_EQ(options.strategy, "default");
    }
  }
}

TEST(WithStrategy, a_verbose_rank_0_prints_the_choice) {
  const OwnFile file{R"("mpi_packet_bytes": 4032)"};
  testing::internal::CaptureStderr();
  static_cast<void>(with_strategy(MPI_COMM_WORLD, Options{.strategy = file.path(), .is_verbose = true}));
  const std::string line = testing::internal::GetCapturedStderr();
  EXPECT_EQ(line.find("packet_bytes_mpi 4032") != std::string::npos, rank() == 0) << line;
}

TEST(WithStrategy, a_runtime_sends_messages_with_packets_of_the_chosen_size) {
  const OwnFile file{R"("shm_packet_bytes": 2048, "mpi_packet_bytes": 2048, "packing": "immediate")"};
  for (const char* const network : {"automatic", "mpi"}) {
    Options options{.strategy = file.path()};
    options.network.network = network;
    Runtime runtime{MPI_COMM_WORLD, options};
    const Bytes sent(5000, std::byte{7});
    Bytes received(5000);
    const auto count = runtime.rank_count();
    const Rank next{(runtime.self().value() + 1) % count};
    const Rank previous{(runtime.self().value() + count - 1) % count};
    comm::Request receive = runtime.messages().receive({previous, Tag{1}}, received);
    runtime.messages().send({next, Tag{1}}, sent).wait();
    receive.wait();
    EXPECT_EQ(received, sent);
  }
}

}  // namespace
}  // namespace plait::with_strategy_test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const plait::net::MpiSession session{argc, argv};
  return RUN_ALL_TESTS();
}
