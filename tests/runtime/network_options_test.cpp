// SPDX-License-Identifier: Apache-2.0
#include "plait/runtime/network_options.hpp"

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"

namespace plait::network_options_test {
namespace {

/// An environment variable that is set during one test.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_{name} { ::setenv(name, value, 1); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { ::unsetenv(name_); }

 private:
  const char* name_;
};

TEST(NetworkOptions, are_automatic_where_nothing_is_said) {
  const Variable empty{"PLAIT_NETWORK", ""};
  const NetworkOptions options = NetworkOptions::from_environment();
  EXPECT_EQ(options.network, "automatic");
  EXPECT_EQ(options.shm.single_copy, net::SingleCopy::automatic);
  EXPECT_EQ(options.described().at("network"), "automatic");
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
  EXPECT_EQ(options.described().at("network"), "ofi");
  EXPECT_EQ(options.described().at("single_copy"), "never");
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
}  // namespace plait::network_options_test
