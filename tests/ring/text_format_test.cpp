// SPDX-License-Identifier: Apache-2.0
#include "ring/text_format.hpp"

#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "ring/initial_condition.hpp"
#include "ring/temporary_folder.hpp"

namespace ring {
namespace {

class TextFormat : public testing::Test {
 protected:
  std::string trouble_with(const std::string& text) {
    std::ofstream{file_} << text;
    auto read = read_text(file_);
    return read ? "none" : read.error().what();
  }
  void expect_trouble(const std::string& text, const std::string& what) {
    const std::string trouble = trouble_with(text);
    EXPECT_NE(trouble.find(what), std::string::npos) << trouble;
    EXPECT_EQ(trouble.find(file_.string()), 0U) << trouble;
  }
  test::TemporaryFolder folder_;
  std::filesystem::path file_ = folder_ / "ring.txt";
};

TEST_F(TextFormat, gives_back_every_bit) {
  RingShape shape;
  shape.azimuthal = 7;
  shape.velocity_scatter = 0.1;
  const std::vector<Body> bodies = make_ring(shape);
  ASSERT_TRUE(write_text(file_, 0.1, bodies));
  const TextBodies read = read_text(file_).value();
  EXPECT_EQ(read.time, 0.1);
  ASSERT_EQ(read.bodies.size(), bodies.size());
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    EXPECT_EQ(read.bodies[i].position, bodies[i].position);
    EXPECT_EQ(read.bodies[i].velocity, bodies[i].velocity);
    EXPECT_EQ(read.bodies[i].id, bodies[i].id);
    EXPECT_EQ(read.bodies[i].mass, bodies[i].mass);
  }
}
TEST_F(TextFormat, reads_what_nbody_with_center_writes) {
  EXPECT_EQ(trouble_with("0\n2\n1 5e-10 1 0 0 0 1 0\n2 5e-10  1.05\t0 -1e-3 0 0.97 0\n\n"), "none");
}
TEST_F(TextFormat, names_the_line_that_is_wrong) {
  expect_trouble("0\n2\n1 5e-10 1 0 0 0 1 0\n2 5e-10 one 0 0 0 1 0\n", ":4: a position is not a number");
  expect_trouble("0\n2\n1 5e-10 1 0 0 0 1 0\n", "the file ends where an id should be");
  expect_trouble("0\n1\n1 5e-10 1 0 0 0 1 0\n2 5e-10 1 0 0 0 1 0\n", "more than the bodies");
  expect_trouble("0\n-1\n", ":2: the number of bodies");
  expect_trouble("", "the file ends where the time should be");
}
TEST_F(TextFormat, refuses_bodies_that_cannot_be) {
  expect_trouble("0\n1\n1 0 1 0 0 0 1 0\n", "mass 0");
  expect_trouble("0\n1\n1 1 nan 0 0 0 1 0\n", "not finite");
  expect_trouble("0\n2\n1 1 1 0 0 0 1 0\n1 1 2 0 0 0 1 0\n", "id 1 occurs twice");
}
TEST_F(TextFormat, without_bodies_is_good) {
  EXPECT_EQ(trouble_with("0\n0\n"), "none");
}
TEST_F(TextFormat, into_a_folder_that_is_not_there_is_an_error) {
  EXPECT_FALSE(write_text(folder_ / "no/x", 0, {}));
}

}  // namespace
}  // namespace ring
