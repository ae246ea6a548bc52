// SPDX-License-Identifier: Apache-2.0
#include "plait/simulate/settings.hpp"

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace plait::simulate::settings_test {
namespace {

std::filesystem::path written(std::string_view text) {
  const std::filesystem::path file = std::filesystem::path{testing::TempDir()} / "plait-simulate-settings.json";
  std::ofstream{file} << text;
  return file;
}

TEST(SimulateSettings, are_read) {
  const auto read = read_settings(written(R"({"ranks": 1024, "kinds": {"gemm": 3100000}, "skip_bodies": true,
      "overhead_ns": 700, "scale": 0.5, "outside": "measured", "stack_bytes": 262144, "report": "r.json"})"));
  ASSERT_TRUE(read) << read.error().what();
  const SimulationSettings settings = Result<SimulationSettings>{read}.value();
  EXPECT_EQ(settings.ranks, 1024U);
  EXPECT_EQ(settings.costs.kinds.at("gemm"), nanoseconds{3'100'000});
  EXPECT_EQ(settings.costs.bodies, BodyUse::skipped);
  EXPECT_EQ(settings.costs.overhead, nanoseconds{700});
  EXPECT_EQ(settings.costs.scale, 0.5);
  EXPECT_EQ(settings.outside, OutsideCost::measured);
  EXPECT_EQ(settings.stack_bytes, 262'144U);
  EXPECT_EQ(settings.report, "r.json");
  EXPECT_FALSE(settings.platform);
  EXPECT_FALSE(settings.faults);
  EXPECT_FALSE(settings.costs.other_kinds);
}

TEST(SimulateSettings, have_faults) {
  const auto read = read_settings(written(R"({"ranks": 8, "other_kinds_ns": 100000, "faults": {"seed": 17,
      "kinds": ["delays", "full-disk"], "run_length_ns": 2500, "disk": "runs/one"}})"));
  ASSERT_TRUE(read) << read.error().what();
  const SimulationSettings settings = Result<SimulationSettings>{read}.value();
  EXPECT_EQ(settings.costs.other_kinds, nanoseconds{100'000});
  ASSERT_TRUE(settings.faults);
  EXPECT_EQ(settings.faults->seed, 17U);
  EXPECT_EQ(settings.faults->kinds, (std::vector{FaultKind::delays, FaultKind::full_disk}));
  EXPECT_EQ(settings.faults->run_length, nanoseconds{2500});
  EXPECT_EQ(settings.faults->disk, "runs/one");
}

TEST(SimulateSettings, name_the_file_in_errors) {
  EXPECT_EQ(read_settings("/nowhere/settings.json").error().code(), ErrorCode::io);
  for (const char* const text : {"{",
                                 "{}",
                                 R"({"ranks": "many"})",
                                 R"({"ranks": 2, "kinds": {"a": "b"}})",
                                 R"({"ranks": 2, "outside": "always"})",
                                 R"({"ranks": 2, "faults": {"seed": 1, "kinds": ["fire"], "run_length_ns": 1}})",
                                 R"({"ranks": 2, "faults": {"kinds": ["delays"], "run_length_ns": 1}})"}) {
    const auto read = read_settings(written(text));
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code(), ErrorCode::bad_input);
    EXPECT_NE(std::string_view{read.error().what()}.find("plait-simulate-settings.json"), std::string_view::npos);
  }
  const auto read = read_settings(written(R"({"ranks": 2, "platform": "/nowhere/platform.json"})"));
  ASSERT_FALSE(read);
  EXPECT_NE(std::string_view{read.error().what()}.find("platform.json"), std::string_view::npos);
}

}  // namespace
}  // namespace plait::simulate::settings_test
