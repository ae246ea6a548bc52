// SPDX-License-Identifier: Apache-2.0
#include "plait/files/system_file.hpp"

#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"
#include "plait/testing/temporary_folder.hpp"

namespace plait::files::system_file_test {
namespace {

TEST(SystemFile, reads_what_was_written_at_any_offset) {
  const plait::test::TemporaryFolder folder;
  std::ofstream{folder / "a"} << "0123456789";
  SystemFile file{folder / "a", SystemFile::Mode::write};
  const std::string mark = "xyz";
  file.write(8, std::as_bytes(std::span{mark}));
  file.sync();
  EXPECT_EQ(file.size(), 11U);
  std::string back(4, ' ');
  SystemFile{folder / "a", SystemFile::Mode::read}.read(7, std::as_writable_bytes(std::span{back}));
  EXPECT_EQ(back, "7xyz");
}

TEST(SystemFile, has_the_same_size_when_room_is_reserved) {
  const plait::test::TemporaryFolder folder;
  std::ofstream{folder / "a"} << "0123456789";
  SystemFile file{folder / "a", SystemFile::Mode::write};
  file.reserve(100'000);
  EXPECT_EQ(file.size(), 10U);
}

TEST(SystemFile, refuses_to_read_beyond_the_end) {
  const plait::test::TemporaryFolder folder;
  std::ofstream{folder / "a"} << "0123";
  std::vector<std::byte> back(3);
  try {
    SystemFile{folder / "a", SystemFile::Mode::read}.read(2, back);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    EXPECT_NE(std::string{error.what()}.find("cut short"), std::string::npos);
  }
  EXPECT_THROW((SystemFile{folder / "b", SystemFile::Mode::read}), Error);
}

}  // namespace
}  // namespace plait::files::system_file_test
