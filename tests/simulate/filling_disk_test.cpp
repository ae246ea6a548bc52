// SPDX-License-Identifier: Apache-2.0
#include "plait/simulate/filling_disk.hpp"

#include <gtest/gtest.h>

namespace plait::simulate::filling_disk_test {
namespace {

using std::chrono::milliseconds;

TEST(FillingDisk, takes_so_many_bytes_and_then_none) {
  FillingDisk disk{{.folder = "/runs/one", .since = milliseconds{3}, .bytes_left = 100}};
  EXPECT_FALSE(disk.is_filling(milliseconds{2}));
  EXPECT_TRUE(disk.is_filling(milliseconds{3}));
  EXPECT_EQ(disk.room(0, 0, 60), 60U);
  disk.take(0, 0, 60);
  EXPECT_EQ(disk.room(60, 60, 60), 40U);
  disk.take(60, 60, 40);
  EXPECT_EQ(disk.room(100, 100, 60), 0U);
  EXPECT_EQ(disk.room(100, 100, 0), 0U);
  disk.give_back(30);
  EXPECT_EQ(disk.room(70, 70, 60), 30U);
}

TEST(FillingDisk, counts_what_is_behind_the_end_of_a_file) {
  FillingDisk disk{{.folder = "/runs/one", .since = {}, .bytes_left = 10}};
  EXPECT_EQ(disk.room(100, 0, 100), 100U) << "written again";
  EXPECT_EQ(disk.room(100, 80, 50), 30U);
  disk.take(100, 80, 25);
  EXPECT_EQ(disk.room(105, 105, 50), 5U);
  EXPECT_EQ(disk.room(105, 500, 50), 5U) << "a hole takes nothing";
}

TEST(FillingDisk, has_what_is_below_its_folder) {
  const FillingDisk disk{{.folder = "/runs/one/../two", .since = {}, .bytes_left = 0}};
  EXPECT_TRUE(disk.has("/runs/two/out/file.hdf5"));
  EXPECT_TRUE(disk.has("/runs/two"));
  EXPECT_FALSE(disk.has("/runs/one/file.hdf5"));
  EXPECT_FALSE(disk.has("/runs/two-more/file.hdf5"));
  EXPECT_FALSE(disk.has("pipe:[12345]"));
}

}  // namespace
}  // namespace plait::simulate::filling_disk_test
