// SPDX-License-Identifier: Apache-2.0
#include "plait/record/modules.hpp"

#include <algorithm>
#include <cctype>
#include <dlfcn.h>
#include <filesystem>

#include <gtest/gtest.h>

namespace plait::record::modules_test {
namespace {

TEST(Modules, are_the_program_and_its_libraries) {
  static const int variable = 0;
  EXPECT_EQ(find_code(&variable).path, std::filesystem::read_symlink("/proc/self/exe"));
  const CodePlace place = find_code(::dlsym(RTLD_DEFAULT, "qsort"));
  EXPECT_NE(place.path.find("libc"), std::string::npos) << place.path;
  EXPECT_EQ(place.symbol.rfind("qsort", 0), 0U) << place.symbol;
}

TEST(Modules, do_not_name_a_symbol_for_an_address_beyond_it) {
  const auto* const end = static_cast<const char*>(::dlsym(RTLD_DEFAULT, "environ")) + sizeof(char*);
  EXPECT_NE(find_code(end).symbol, "environ");
}

TEST(Modules, do_not_have_the_stack) {
  const int variable = 0;
  EXPECT_TRUE(find_code(&variable).path.empty());
  EXPECT_TRUE(find_code(nullptr).path.empty());
}

TEST(Modules, have_build_ids_of_hexadecimal_digits) {
  const std::string digits = build_id_of(find_code(::dlsym(RTLD_DEFAULT, "qsort")).path);
  EXPECT_TRUE(std::ranges::all_of(digits, [](unsigned char digit) { return std::isxdigit(digit) != 0; })) << digits;
  EXPECT_EQ(digits.size() % 2, 0U);
  EXPECT_EQ(build_id_of("/nowhere"), "");
}

}  // namespace
}  // namespace plait::record::modules_test
