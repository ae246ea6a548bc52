// SPDX-License-Identifier: Apache-2.0
#include "plait/runtime/options.hpp"

#include <cstdlib>
#include <string>

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
  const Variable copiers{"PLAIT_COPIERS", "3"};
  const Variable spin{"PLAIT_SPIN_MICROSECONDS", "25"};
  const Options options = Options::from_environment();
  EXPECT_EQ(options.worker_count, 3U);
  EXPECT_EQ(options.trace_folder, "runs/one");
  EXPECT_EQ(options.stall_max, std::chrono::seconds{7});
  EXPECT_EQ(options.messages.eager_bytes_max, 0U);
  EXPECT_EQ(options.messages.copiers_max, 3U);
  EXPECT_EQ(options.messages.wait.spin, std::chrono::microseconds{25});
  EXPECT_EQ(options.described().at("workers"), "3");
}

TEST(Options, are_automatic_where_no_variable_is_set) {
  const Variable strategy{"PLAIT_STRATEGY", ""};
  const Options options = Options::from_environment();
  EXPECT_EQ(options.strategy, "measured");
  EXPECT_EQ(options.network.packet_bytes.shm, 0U);
  EXPECT_EQ(options.messages.packing, "automatic");
  EXPECT_EQ(options.progression.mode, comm::ProgressionMode::automatic);
  EXPECT_FALSE(options.is_verbose);
  EXPECT_EQ(Options{}.strategy, "default") << "a program without from_environment gets what it has written";
}

TEST(Options, of_the_environment_are_not_automatic) {
  const Variable strategy{"PLAIT_STRATEGY", "default"};
  const Variable packets{"PLAIT_PACKET_BYTES", "8192"};
  const Variable packing{"PLAIT_PACKING", "aggregate"};
  const Variable period{"PLAIT_PROGRESS_MICROSECONDS", "100"};
  const Options options = Options::from_environment();
  EXPECT_EQ(options.strategy, "default");
  EXPECT_EQ(options.network.packet_bytes.shm, 8192U);
  EXPECT_EQ(options.network.packet_bytes.mpi, 8192U);
  EXPECT_EQ(options.network.packet_bytes.between_hosts, 8192U);
  EXPECT_EQ(options.messages.packing, "aggregate");
  EXPECT_EQ(options.progression.mode, comm::ProgressionMode::timer) << "which alone has a period";
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

TEST(NetworkOptions, are_automatic_where_nothing_is_said) {
  const Variable empty{"PLAIT_NETWORK", ""};
  const NetworkOptions options = NetworkOptions::from_environment();
  EXPECT_EQ(options.network, "automatic");
  EXPECT_EQ(options.shm.single_copy, net::SingleCopy::automatic);
  EXPECT_EQ(Options{}.described().at("network"), "automatic");
}

TEST(Options, are_the_defaults_where_variables_are_empty) {
  const Variable packing{"PLAIT_PACKING", ""};
  const Variable progress{"PLAIT_PROGRESS", ""};
  const Options options = Options::from_environment();
  EXPECT_EQ(options.messages.packing, Options{}.messages.packing);
  EXPECT_EQ(options.progression.mode, Options{}.progression.mode);
}

TEST(NetworkOptions, come_from_the_environment) {
  const Variable network{"PLAIT_NETWORK", "ofi"};
  const Variable host{"PLAIT_HOST", "left of the veth"};
  const Variable address{"PLAIT_OFI_ADDRESS", "10.0.0.1"};
  const Variable copy{"PLAIT_SINGLE_COPY", "never"};
  const NetworkOptions options = NetworkOptions::from_environment();
  EXPECT_EQ(options.network, "ofi");
  EXPECT_EQ(options.host, "left of the veth");
  EXPECT_EQ(options.ofi_address, "10.0.0.1");
  EXPECT_EQ(options.shm.single_copy, net::SingleCopy::never);
  EXPECT_EQ(Options{.network = options}.described().at("network"), "ofi");
  EXPECT_EQ(Options{.network = options}.described().at("single_copy"), "never");
}

TEST(NetworkOptions, refuse_a_word_that_they_do_not_know) {
  const Variable copy{"PLAIT_SINGLE_COPY", "twice"};
  try {
    static_cast<void>(NetworkOptions::from_environment());
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    EXPECT_NE(std::string{error.what()}.find("PLAIT_SINGLE_COPY is 'twice'"), std::string::npos) << error.what();
    EXPECT_NE(std::string{error.what()}.find("automatic, never"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace plait::options_test
