// SPDX-License-Identifier: Apache-2.0
#include "plait/task/waiting.hpp"

#include <fstream>
#include <iterator>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "plait/net/loopback/loopback.hpp"
#include "plait/task/scheduler.hpp"

namespace plait::task::waiting_test {
namespace {

/// Two ranks of which one waits for a message that the other never sends.
class Stalled : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_);
    std::jthread other{[this] { run(1, {}); }};
    run(0, [this](Graph& graph) {
      Task receive = graph.receive("ghosts", {Rank{1}, Tag{7}}, buffer_);
      Task force = graph.task("force", [] {}).after(receive);
      graph.task("kick", [] {}).after(force).after(receive);
      graph.task("drift", [] {});
    });
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void run(std::uint32_t self, const std::function<void(Graph&)>& build) {
    SteadyClock clock;
    trace::Recorder recorder{clock};
    const std::unique_ptr<net::Driver> driver = network_.driver(Rank{self});
    comm::Endpoint endpoint{*driver, recorder};
    Scheduler scheduler{
        endpoint, recorder, {.stall_max = std::chrono::milliseconds{self == 0 ? 50 : 60'000}, .stall_folder = folder_}};
    Graph graph;
    Bytes never;
    if (build) {
      build(graph);
    } else {
      graph.receive("acknowledgement", {Rank{0}, Tag{9}}, never);
    }
    try {
      scheduler.run(graph);
    } catch (const Error& error) {
      sentences_[self] = error.what();
    }
  }

  [[nodiscard]] std::string read(const char* name) const {
    std::ifstream in{folder_ / name};
    return {std::istreambuf_iterator<char>{in}, {}};
  }

  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("plait-stalled-" + std::to_string(getpid()));
  net::LoopbackNetwork network_{2};
  Bytes buffer_;
  std::array<std::string, 2> sentences_;
};

TEST_F(Stalled, is_told_in_words) {
  EXPECT_NE(sentences_[0].find("waiting are ghosts (from rank 1, tag 7), force (for 1 others), kick (for 2 others)."),
            std::string::npos)
      << sentences_[0];
  EXPECT_NE(sentences_[1].find(stall_sentence), std::string::npos) << "the other rank reports the same";
}

TEST_F(Stalled, is_drawn_by_each_rank_without_what_has_ended) {
  const std::string graph = read("plait-waiting-rank-0000.dot");
  EXPECT_NE(graph.find("t0 [label=\"ghosts 0\\nfrom rank 1, tag 7\""), std::string::npos) << graph;
  EXPECT_NE(graph.find("t0 -> t1;"), std::string::npos) << graph;
  EXPECT_NE(graph.find("t1 -> t2;"), std::string::npos) << graph;
  EXPECT_EQ(graph.find("drift"), std::string::npos) << graph;
  EXPECT_NE(read("plait-waiting-rank-0001.dot").find("acknowledgement"), std::string::npos);
}

}  // namespace
}  // namespace plait::task::waiting_test
