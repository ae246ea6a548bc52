// SPDX-License-Identifier: Apache-2.0
#include "plait/record/imports.hpp"

#include <bit>
#include <dlfcn.h>
#include <sys/resource.h>

#include <gtest/gtest.h>

namespace plait::record::imports_test {
namespace {

int calls = 0;

int counted_getpriority(__priority_which_t /*which*/, id_t /*who*/) {
  ++calls;
  return -77;
}

const void* address_here() {
  static const int variable = 0;
  return &variable;
}

TEST(Imports, call_the_replacement_from_that_module_only) {
  const auto real = reinterpret_cast<decltype(&::getpriority)>(::dlsym(RTLD_DEFAULT, "getpriority"));
  const int before = ::getpriority(PRIO_PROCESS, 0);
  ASSERT_TRUE(replace_import(address_here(), "getpriority", reinterpret_cast<void (*)()>(counted_getpriority)));
  EXPECT_EQ(::getpriority(PRIO_PROCESS, 0), -77);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(real(PRIO_PROCESS, 0), before);
  EXPECT_EQ(calls, 1);
  ASSERT_TRUE(replace_import(address_here(), "getpriority", reinterpret_cast<void (*)()>(real)));
  EXPECT_EQ(::getpriority(PRIO_PROCESS, 0), before);
}

TEST(Imports, that_are_none_are_not_replaced) {
  const auto replacement = reinterpret_cast<void (*)()>(counted_getpriority);
  EXPECT_FALSE(replace_import(address_here(), "no function has this name", replacement));
  const int on_the_stack = 0;
  EXPECT_FALSE(replace_import(&on_the_stack, "getpriority", replacement));
  EXPECT_FALSE(replace_import(nullptr, "getpriority", replacement));
}

}  // namespace
}  // namespace plait::record::imports_test
