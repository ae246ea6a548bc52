// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/store/text_file.hpp"

#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "particles/hdf5/sample.hpp"
#include "particles/hdf5/temporary_folder.hpp"

namespace plait::particles::text_file_test {
namespace {

using hdf5::test::Sample;

class TextFile : public testing::Test {
 protected:
  static TextColumns columns(const Sample& sample) { return {sample.mass, sample.velocity}; }
  std::string trouble_with(const std::string& text) {
    std::ofstream{file_} << text;
    Sample sample;
    auto read = read_text(file_, columns(sample), sample.particles);
    EXPECT_TRUE(read || sample.particles.is_empty());
    return read ? "none" : read.error().what();
  }
  void expect_trouble(const std::string& text, const std::string& what) {
    const std::string trouble = trouble_with(text);
    EXPECT_NE(trouble.find(what), std::string::npos) << trouble;
    EXPECT_EQ(trouble.find(file_.string()), 0U) << trouble;
  }
  hdf5::test::TemporaryFolder folder_;
  std::filesystem::path file_ = folder_ / "particles.txt";
};

TEST_F(TextFile, gives_back_every_bit_to_any_number_of_ranks) {
  Sample sample;
  sample.fill(0, 140);
  ASSERT_TRUE(write_text(file_, 0.1, columns(sample), sample.particles));
  for (const std::uint32_t ranks : {1U, 3U, 200U}) {
    Sample read;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      EXPECT_EQ(read_text(file_, columns(read), read.particles, rank, ranks).value(), 0.1);
    }
    ASSERT_EQ(read.particles.size(), 140U);
    for (std::size_t i = 0; i < 140; ++i) {
      EXPECT_EQ(read.particles.positions()[i], sample.particles.positions()[i]);
      EXPECT_EQ(read.particles[read.velocity][i], sample.particles[sample.velocity][i]);
      EXPECT_EQ(read.particles.ids()[i], sample.particles.ids()[i]);
      EXPECT_EQ(read.particles[read.mass][i], sample.particles[sample.mass][i]);
    }
  }
}
TEST_F(TextFile, that_another_program_wrote_is_read) {
  EXPECT_EQ(trouble_with("0\n2\n1 5e-10 1 0 0 0 1 0\n2 5e-10  1.05\t0 -1e-3 0 0.97 0\n\n"), "none");
}
TEST_F(TextFile, names_the_line_that_is_wrong) {
  expect_trouble("0\n2\n1 5e-10 1 0 0 0 1 0\n2 5e-10 one 0 0 0 1 0\n", ":4: a position is not a number");
  expect_trouble("0\n2\n1 5e-10 1 0 0 0 1 0\n", "the file ends where an id should be");
  expect_trouble("0\n1\n1 5e-10 1 0 0 0 1 0\n2 5e-10 1 0 0 0 1 0\n", "more particles");
  expect_trouble("0\n-1\n", ":2: the number of particles");
  expect_trouble("", "the file ends where the time should be");
}
TEST_F(TextFile, with_particles_that_cannot_be_is_refused) {
  expect_trouble("0\n1\n1 0 1 0 0 0 1 0\n", "mass 0");
  expect_trouble("0\n1\n1 1 nan 0 0 0 1 0\n", "not finite");
  expect_trouble("0\n2\n1 1 1 0 0 0 1 0\n1 1 2 0 0 0 1 0\n", "id 1 occurs twice");
}
TEST_F(TextFile, without_particles_is_good) {
  EXPECT_EQ(trouble_with("0\n0\n"), "none");
}
TEST_F(TextFile, that_cannot_be_opened_or_written_is_named) {
  Sample sample;
  auto read = read_text(folder_ / "none.txt", columns(sample), sample.particles);
  ASSERT_FALSE(read);
  EXPECT_NE(std::string{read.error().what()}.find("none.txt"), std::string::npos);
  auto written = write_text(folder_ / "none/particles.txt", 0, columns(sample), sample.particles);
  ASSERT_FALSE(written);
  EXPECT_NE(std::string{written.error().what()}.find("none/particles.txt"), std::string::npos);
}

}  // namespace
}  // namespace plait::particles::text_file_test
