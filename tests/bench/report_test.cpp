// SPDX-License-Identifier: Apache-2.0
#include "support/report.hpp"

#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "plait/testing/temporary_folder.hpp"

namespace bench::report_test {
namespace {

/// A report, what it prints, and the results of its JSON.
class Reports : public testing::Test {
 protected:
  void add(Row row) { report_.add(std::move(row)); }
  std::string printed() {
    testing::internal::CaptureStdout();
    report_.finish();
    return testing::internal::GetCapturedStdout();
  }
  /// After `printed()`.
  [[nodiscard]] nlohmann::json results() const { return nlohmann::json::parse(std::ifstream{file_}).at("results"); }

 private:
  plait::test::TemporaryFolder folder_;
  std::string file_ = (folder_.path() / "result.json").string();
  std::string option_ = "--json=" + file_;
  char name_[6] = "bench";
  char* arguments_[2] = {static_cast<char*>(name_), option_.data()};
  Report report_{"bench", "shows something", Place{}, 2, static_cast<char**>(arguments_)};
};

TEST_F(Reports, name_the_figures_that_were_missed) {
  add({.name = "latency", .params = {{"bytes", "8"}}, .value = 0.4, .unit = "us", .wanted = at_most(0.3)});
  add({.name = "rate",
       .value = 3.0,
       .unit = "M/s",
       .peer = "raw MPI",
       .peer_value = 2,
       .wanted = at_least_of_peer(1.5)});
  const std::string text = printed();
  EXPECT_NE(text.find("<= 0.3 MISSED"), std::string::npos) << text;
  EXPECT_NE(text.find(">= 3 reached"), std::string::npos) << text;
  EXPECT_NE(text.find("1 of 2 wanted figures reached; missed:\n  latency bytes=8: 0.4 us, wanted <= 0.3\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(results()[0]["wanted"],
            nlohmann::json({{"limit", "at most"}, {"value", 0.3}, {"basis", nullptr}, {"reached", false}}));
  EXPECT_EQ(results()[1]["wanted"],
            nlohmann::json({{"limit", "at least"}, {"value", 3}, {"basis", "1.5 x raw MPI"}, {"reached", true}}));
}

TEST_F(Reports, take_the_fastest_of_several_peers_as_the_basis) {
  add({.name = "time",
       .value = 2.0,
       .unit = "s",
       .peers = {{"slow", 3, 3}, {"fast", 1, 1}},
       .wanted = at_most_of_peer(1)});
  EXPECT_NE(printed().find("time: 2 s, wanted <= 1 (fast)"), std::string::npos);
}

TEST_F(Reports, without_wanted_figures_have_no_word_of_them) {
  add({.name = "time", .value = 2.0, .unit = "s"});
  add({.name = "alone", .value = 2.0, .unit = "s", .wanted = at_most_of_peer(1)});
  EXPECT_EQ(printed().find("wanted"), std::string::npos);
  EXPECT_FALSE(results()[0].contains("wanted"));
  EXPECT_FALSE(results()[1].contains("wanted")) << "of a peer, and there is none";
}

}  // namespace
}  // namespace bench::report_test
