// SPDX-License-Identifier: Apache-2.0
#include "plait/simulate/settings.hpp"

#include <fstream>
#include <string>
#include <string_view>

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
}

TEST(SimulateSettings, name_the_file_in_errors) {
  EXPECT_EQ(read_settings("/nowhere/settings.json").error().code(), ErrorCode::io);
  for (const char* const text : {"{",
                                 "{}",
                                 R"({"ranks": "many"})",
                                 R"({"ranks": 2, "kinds": {"a": "b"}})",
                                 R"({"ranks": 2, "outside": "always"})"}) {
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
