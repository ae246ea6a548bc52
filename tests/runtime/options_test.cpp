// SPDX-License-Identifier: Apache-2.0
#include "plait/runtime/options.hpp"

#include <cstdlib>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"

namespace plait::options_test {
namespace {

/// A variable of the environment for the length of a scope.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_{name} { setenv(name, value, 1); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { unsetenv(name_); }

 private:
  const char* name_;
};

TEST(Options, come_from_the_environment) {
  const Variable workers{"PLAIT_WORKERS", "3"};
  const Variable folder{"PLAIT_TRACE", "runs/one"};
  const Variable stall{"PLAIT_STALL_SECONDS", "7"};
  const Variable eager{"PLAIT_EAGER_BYTES", "0"};
  const Variable spin{"PLAIT_SPIN_MICROSECONDS", "25"};
  const Options options = Options::from_environment();
  EXPECT_EQ(options.worker_count, 3U);
  EXPECT_EQ(options.trace_folder, "runs/one");
  EXPECT_EQ(options.stall_max, std::chrono::seconds{7});
  EXPECT_EQ(options.messages.eager_bytes_max, 0U);
  EXPECT_EQ(options.messages.wait.spin, std::chrono::microseconds{25});
  EXPECT_EQ(options.described().at("workers"), "3");
}

class BadWorkers : public testing::TestWithParam<const char*> {};

TEST_P(BadWorkers, are_refused_with_the_name_of_the_variable) {
  const Variable workers{"PLAIT_WORKERS", GetParam()};
  try {
    (void)Options::from_environment();
    FAIL() << GetParam();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    EXPECT_NE(std::string{error.what()}.find("PLAIT_WORKERS"), std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(Values, BadWorkers, testing::Values("0", "-1", "two", "1x", "99999999999999999999"));

}  // namespace
}  // namespace plait::options_test
