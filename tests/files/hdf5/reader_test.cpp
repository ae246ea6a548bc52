// SPDX-License-Identifier: Apache-2.0
#include "plait/files/hdf5/reader.hpp"

#include <fstream>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"
#include "plait/files/hdf5/write_file.hpp"
#include "plait/testing/temporary_folder.hpp"

namespace plait::files::reader_test {
namespace {

class Reader : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::vector<double> values{1, 2, 3, 4, 5, 6};
    create_hdf5(file_, [&](Hdf5Writer& out) {
      (void)out.dataset("deep/down/matrix", {{2, 3}, {0, 0}, {2, 3}}, std::span<const double>{values});
      const Hdf5Handle group = out.open("deep");
      out.attribute(group, "time", 0.5);
      out.attribute(group, "none", std::span<const double>{});
      out.attribute(group, "name", "Ångström");
      out.link("short cut", "/deep");
      out.scalar("title", "a walk");
    });
  }
  void expect_trouble(const std::function<void()>& work, const std::string& words) const {
    try {
      work();
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_NE(std::string{error.what()}.find(words), std::string::npos) << error.what();
      EXPECT_NE(std::string{error.what()}.find(folder_.path().string()), std::string::npos) << error.what();
    }
  }

  plait::test::TemporaryFolder folder_;
  std::filesystem::path file_ = folder_ / "a.h5";
  Hdf5Silence silence_;
};

TEST_F(Reader, finds_what_a_file_holds) {
  const Hdf5Reader in{file_};
  EXPECT_TRUE(in.exists("deep/down/matrix"));
  EXPECT_FALSE(in.exists("deep/up/matrix"));
  EXPECT_EQ(in.names_in("/"), (std::vector<std::string>{"deep", "short cut", "title"}));
  EXPECT_EQ(in.names_in("/", Hdf5Reader::Links::hard), (std::vector<std::string>{"deep", "title"}));
  EXPECT_EQ(in.attributes("deep").get<double>("time"), 0.5);
  EXPECT_EQ(in.attributes("deep").get<std::string>("name"), "Ångström");
  EXPECT_TRUE(in.attributes("deep").get<std::vector<double>>("none").empty());
  EXPECT_EQ(in.text("title"), "a walk");
}

TEST_F(Reader, reads_boxes_and_converts_numbers) {
  const Hdf5Reader in{file_};
  const Hdf5Reader::Facts facts = in.facts("deep/down/matrix");
  EXPECT_EQ(facts.extents, (std::vector<hsize_t>{2, 3}));
  EXPECT_EQ(facts.count, 6U);
  EXPECT_EQ(facts.item_bytes, 8U);
  std::vector<float> box(2);
  in.read("deep/down/matrix", {0, 2}, {2, 1}, H5T_NATIVE_FLOAT, box.data());
  EXPECT_EQ(box, (std::vector<float>{3, 6}));
}

TEST_F(Reader, says_what_is_wrong_with_a_file) {
  expect_trouble([&] { (void)Hdf5Reader{folder_ / "nowhere.h5"}; }, "there is no such file");
  std::ofstream{folder_ / "text.h5"} << "1 2 3";
  expect_trouble([&] { (void)Hdf5Reader{folder_ / "text.h5"}; }, "not an HDF5 file");
  const Hdf5Reader in{file_};
  expect_trouble([&] { (void)in.facts("deep/weather"); }, "data set deep/weather cannot be read");
  expect_trouble([&] { (void)in.attributes("weather"); }, "has no group weather");
  std::vector<double> beyond(9);
  expect_trouble([&] { in.read("deep/down/matrix", {0, 0}, {3, 3}, H5T_NATIVE_DOUBLE, beyond.data()); },
                 "data set deep/down/matrix cannot be read");
}

}  // namespace
}  // namespace plait::files::reader_test
