// SPDX-License-Identifier: Apache-2.0
// Runs the cases of a test program; with --file=comm/matching_test.cpp, only those that this file defines.
#include <cstdio>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace {

/// GoogleTest's filter that matches the cases of the file, given by the end of its path; empty when it has none.
std::string filter_for(std::string_view file) {
  std::string filter;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const testing::TestInfo& test = *suite.GetTestInfo(t);
      if (std::string_view{test.file()}.ends_with(file)) {
        filter += std::string{filter.empty() ? "" : ":"} + suite.name() + "." + test.name();
      }
    }
  }
  return filter;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  constexpr std::string_view option = "--file=";
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!argument.starts_with(option)) {
      std::fprintf(stderr, "unknown argument %s: give --file=FOLDER/NAME_test.cpp\n", argv[i]);
      return 2;
    }
    const std::string filter = filter_for("/" + std::string{argument.substr(option.size())});
    if (filter.empty()) {
      std::fprintf(stderr, "no case is defined in %s\n", argv[i] + option.size());
      return 1;
    }
    // A filter on the command line is narrower: a death test's child names its own case.
    if (GTEST_FLAG_GET(filter) == "*") {
      GTEST_FLAG_SET(filter, filter);
    }
  }
  return RUN_ALL_TESTS();
}
