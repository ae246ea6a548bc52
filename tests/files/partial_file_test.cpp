// SPDX-License-Identifier: Apache-2.0
#include "plait/files/partial_file.hpp"

#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"
#include "plait/testing/temporary_folder.hpp"

namespace plait::files::partial_file_test {
namespace {

std::string contents(const std::filesystem::path& file) {
  std::ifstream in{file};
  return {std::istreambuf_iterator<char>{in}, {}};
}

TEST(PartialFile, replaces_an_existing_file_when_it_is_complete) {
  const plait::test::TemporaryFolder folder;
  std::ofstream{folder / "a"} << "old";
  PartialFile file{folder / "a"};
  std::ofstream{file.path()} << "new one";
  EXPECT_EQ(contents(folder / "a"), "old");
  EXPECT_EQ(file.complete(), 7U);
  EXPECT_EQ(contents(folder / "a"), "new one");
  EXPECT_FALSE(std::filesystem::exists(file.path()));
}

TEST(PartialFile, leaves_nothing_of_an_incomplete_file) {
  const plait::test::TemporaryFolder folder;
  std::ofstream{folder / "a"} << "old";
  {
    const PartialFile file{folder / "a"};
    std::ofstream{file.path()} << "half";
  }
  EXPECT_EQ(contents(folder / "a"), "old");
  EXPECT_FALSE(std::filesystem::exists(PartialFile::path_for(folder / "a")));
}

TEST(PartialFile, names_the_file_that_cannot_be_renamed) {
  PartialFile file{"/nowhere/at/all/a"};
  try {
    file.complete();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::io);
    EXPECT_NE(std::string{error.what()}.find("/nowhere/at/all/a: "), std::string::npos);
  }
}

}  // namespace
}  // namespace plait::files::partial_file_test
