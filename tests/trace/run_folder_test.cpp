// SPDX-License-Identifier: Apache-2.0
#include "plait/trace/run_folder.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "plait/testing/temporary_folder.hpp"

namespace plait::trace::run_folder_test {
namespace {

TEST(RunFolder, IsTheFirstWithoutATrace) {
  const test::TemporaryFolder place;
  const std::string wanted = (place.path() / "run").string();
  EXPECT_EQ(unused_run_folder(wanted), wanted);
  const auto record = [](const std::string& folder) {
    std::filesystem::create_directories(folder);
    std::ofstream{folder + "/rank-0000.plt"} << "events";
  };
  std::filesystem::create_directories(wanted + "/engine");
  EXPECT_EQ(unused_run_folder(wanted), wanted);
  record(wanted);
  EXPECT_EQ(unused_run_folder(wanted), wanted + "-2");
  record(wanted + "-2");
  record(wanted + "-4");
  EXPECT_EQ(unused_run_folder(wanted), wanted + "-3");
}

}  // namespace
}  // namespace plait::trace::run_folder_test
