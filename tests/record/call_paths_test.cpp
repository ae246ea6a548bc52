// SPDX-License-Identifier: Apache-2.0
#include "plait/record/call_paths.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "record/run.hpp"

namespace plait::record::call_paths_test {
namespace {

/// Of the broadcasts in the program, which one function of it calls from two others.
std::set<std::string> sites_of_broadcasts(const char* depth) {
  ::setenv("PLAIT_RECORD_CALL_PATH", depth, 1);
  const trace::RunTrace run = test::recorded("regions", 1);
  ::unsetenv("PLAIT_RECORD_CALL_PATH");
  std::set<std::string> sites;
  for (const trace::CallEvent& call : test::calls_of(run.ranks.at(0), "MPI_Bcast")) {
    sites.emplace(run.ranks[0].name(trace::Role::call_site, call.site));
  }
  return sites;
}

TEST(CallPaths, distinguish_the_callers_of_one_call) {
  const std::set<std::string> plain = sites_of_broadcasts("1");
  const std::set<std::string> paths = sites_of_broadcasts("3");
  EXPECT_GT(paths.size(), plain.size());  // from main, and from a thread
  for (const std::string& site : paths) {
    EXPECT_NE(site.find('~'), std::string::npos) << site;
  }
}

TEST(CallPaths, wanted_are_1_to_32_functions) {
  for (const auto& [text, depth] : {std::pair{"4", 4U}, {"32", 32U}, {"33", 1U}, {"0", 1U}, {"many", 1U}, {"", 1U}}) {
    ::setenv("PLAIT_RECORD_CALL_PATH", text, 1);
    EXPECT_EQ(call_path_wanted(), depth) << text;
  }
  ::unsetenv("PLAIT_RECORD_CALL_PATH");
}

}  // namespace
}  // namespace plait::record::call_paths_test
