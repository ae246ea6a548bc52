// SPDX-License-Identifier: Apache-2.0
#include "plait/base/command_line.hpp"

#include <array>
#include <stdexcept>
#include <string_view>

#include <gtest/gtest.h>

namespace plait::command_line_test {
namespace {

struct WrongUsage : std::runtime_error {
  explicit WrongUsage(int value) : std::runtime_error{"usage"}, status{value} {}
  int status;
};

/// A parser that accepts a command line of one word.
struct App {
  int status = 0;
  void parse(int argc, const char* const* /*argv*/) const {
    if (argc > 1) {
      throw WrongUsage{status};
    }
  }
  static int exit(const WrongUsage& error) { return error.status; }
};

constexpr std::array words{"program", "--help"};

TEST(CommandLine, GoesOnWhenAllIsRead) {
  App app;
  EXPECT_EQ(end_after_parsing<WrongUsage>(app, 1, words.data()), std::nullopt);
}

TEST(CommandLine, EndsWellAfterHelp) {
  App app{0};
  EXPECT_EQ(end_after_parsing<WrongUsage>(app, 2, words.data()), 0);
}

TEST(CommandLine, EndsWithTheStatusOfWrongUsage) {
  App app{109};
  EXPECT_EQ(end_after_parsing<WrongUsage>(app, 2, words.data()), 2);
}

}  // namespace
}  // namespace plait::command_line_test
