// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <fstream>
#include <functional>
#include <vector>

#include <gtest/gtest.h>
#include <hdf5.h>

#include "plait/base/error.hpp"
#include "plait/files/hdf5/handle.hpp"

#include "cholesky/dense.hpp"
#include "cholesky/sources/matrix_source.hpp"
#include "particles/hdf5/temporary_folder.hpp"

namespace cholesky::sources_test {
namespace {

using namespace test;

/// The tiles of all ranks of a grid, put together.
Dense gathered(const std::function<std::unique_ptr<MatrixSource>()>& open,
               std::size_t tile,
               ProcessGrid grid,
               Part part) {
  const std::size_t size = open()->size();
  const Layout layout{size, tile, grid};
  Dense result{size};
  for (std::uint32_t rank = 0; rank < grid.rows * grid.columns; ++rank) {
    const LocalTiles local{layout, part, plait::Rank{rank}};
    open()->fill(layout, part, local.tiles());
    for (const PlacedTile& placed : local.tiles()) {
      for (std::size_t column = 0; column < placed.tile.columns; ++column) {
        for (std::size_t row = 0; row < placed.tile.rows; ++row) {
          result.at(layout.first(placed.row) + row, layout.first(placed.column) + column) = placed.tile.at(row, column);
        }
      }
    }
  }
  return result;
}

void expect_refused(const std::function<void()>& work, const std::string& words) {
  try {
    work();
    ADD_FAILURE() << words;
  } catch (const plait::Error& error) {
    EXPECT_NE(std::string{error.what()}.find(words), std::string::npos) << error.what() << "\nlacks: " << words;
  }
}

void write_hdf5(const std::string& file,
                const char* name,
                std::array<hsize_t, 2> shape,
                const std::vector<double>& rows) {
  const bool is_new = !std::ifstream{file}.good();
  const plait::files::Hdf5Handle out{is_new ? H5Fcreate(file.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT)
                                            : H5Fopen(file.c_str(), H5F_ACC_RDWR, H5P_DEFAULT),
                                     H5Fclose};
  const plait::files::Hdf5Handle space{H5Screate_simple(2, shape.data(), nullptr), H5Sclose};
  const plait::files::Hdf5Handle set{
      H5Dcreate2(out.id(), name, H5T_NATIVE_DOUBLE, space.id(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Dclose};
  ASSERT_GE(H5Dwrite(set.id(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows.data()), 0);
}

class Sources : public testing::Test {
 protected:
  [[nodiscard]] std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  [[nodiscard]] std::string written(const std::string& name, const std::string& text) const {
    std::ofstream{file(name)} << text;
    return file(name);
  }

 private:
  plait::particles::hdf5::test::TemporaryFolder folder_;
};

TEST_F(Sources, a_generated_matrix_is_the_same_on_any_grid_and_of_any_tiles) {
  const auto open = [] { return generate(23, 5, 23); };
  const Dense one = gathered(open, 23, {1, 1}, Part::all);
  const Dense lower = lower_of(gathered(open, 23, {1, 1}, Part::lower));
  EXPECT_EQ(gathered(open, 4, {2, 3}, Part::all).data, one.data);
  EXPECT_EQ(lower_of(gathered(open, 5, {2, 2}, Part::lower)).data, lower.data);
  EXPECT_NE(gathered([] { return generate(23, 6, 23); }, 23, {1, 1}, Part::all).data, one.data);
}

TEST_F(Sources, a_generated_lower_part_is_symmetric_on_its_diagonal_tiles) {
  const Dense whole = gathered([] { return generate(9, 1, 9); }, 9, {1, 1}, Part::lower);
  for (std::size_t i = 0; i < 9; ++i) {
    for (std::size_t j = 0; j < 9; ++j) {
      EXPECT_EQ(whole.at(i, j), whole.at(j, i));
      EXPECT_LE(std::abs(whole.at(i, j) - (i == j ? 9 : 0)), 0.5);
    }
  }
}

TEST_F(Sources, a_symmetric_market_file_fills_either_part) {
  const std::string path = written(
      "a.mtx", "%%MatrixMarket matrix coordinate real symmetric\n5 5 6\n1 1 2\n2 2 3\n3 3 4\n4 4 5\n5 5 6\n5 1 -1\n");
  const auto open = [&] { return open_matrix(path, ""); };
  const Dense all = gathered(open, 2, {2, 2}, Part::all);
  EXPECT_EQ(all.at(4, 0), -1);
  EXPECT_EQ(all.at(0, 4), -1);
  EXPECT_EQ(all.at(2, 2), 4);
  EXPECT_EQ(all.at(1, 0), 0);
  EXPECT_EQ(lower_of(gathered(open, 2, {2, 2}, Part::lower)).data, lower_of(all).data);
}

TEST_F(Sources, a_general_market_file_must_be_symmetric_for_the_lower_part) {
  const std::string begin = "%%MatrixMarket matrix coordinate real general\n3 3 5\n1 1 2\n2 2 2\n3 3 2\n3 1 5\n1 3 ";
  const std::string good = written("good.mtx", begin + "5\n");
  const std::string bad = written("bad.mtx", begin + "6\n");
  EXPECT_EQ(gathered([&] { return open_matrix(good, ""); }, 2, {1, 2}, Part::lower).at(2, 0), 5);
  EXPECT_EQ(gathered([&] { return open_matrix(bad, ""); }, 2, {1, 2}, Part::all).at(0, 2), 6);
  expect_refused([&] { (void)gathered([&] { return open_matrix(bad, ""); }, 2, {1, 2}, Part::lower); },
                 "(3, 1) is 5 and (1, 3) is 6");
}

TEST_F(Sources, an_hdf5_dataset_is_read_row_by_row) {
  std::vector<double> rows;
  for (int i = 0; i < 25; ++i) {
    rows.push_back(i);
  }
  write_hdf5(file("a.h5"), "matrix", {5, 5}, rows);
  const Dense all = gathered([&] { return open_matrix(file("a.h5"), ""); }, 2, {2, 2}, Part::all);
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t j = 0; j < 5; ++j) {
      EXPECT_EQ(all.at(i, j), static_cast<double>(5 * i + j));
    }
  }
  expect_refused([&] { (void)gathered([&] { return open_matrix(file("a.h5"), ""); }, 2, {2, 2}, Part::lower); },
                 "not symmetric");
}

TEST_F(Sources, a_symmetric_hdf5_dataset_fills_the_lower_part) {
  write_hdf5(file("s.h5"), "m", {3, 3}, {1, 2, 3, 2, 5, 6, 3, 6, 9});
  const Dense lower = gathered([&] { return open_matrix(file("s.h5"), "m"); }, 2, {1, 2}, Part::lower);
  EXPECT_EQ(lower.at(2, 0), 3);
  EXPECT_EQ(lower.at(2, 1), 6);
  EXPECT_EQ(lower.at(2, 2), 9);
}

TEST_F(Sources, hdf5_files_that_hold_no_matrix_are_refused_with_what_to_do) {
  expect_refused([&] { (void)open_matrix(file("nowhere.h5"), ""); }, "no such file");
  expect_refused([&] { (void)open_matrix(written("text.h5", "1 2 3"), ""); }, "not an HDF5 file");
  write_hdf5(file("two.h5"), "first", {2, 2}, {1, 2, 2, 1});
  write_hdf5(file("two.h5"), "second", {2, 3}, {1, 2, 3, 4, 5, 6});
  expect_refused([&] { (void)open_matrix(file("two.h5"), ""); }, "first, second");
  expect_refused([&] { (void)open_matrix(file("two.h5"), "third"); }, "no dataset third");
  expect_refused([&] { (void)open_matrix(file("two.h5"), "second"); }, "(2, 3)");
  write_hdf5(file("nan.h5"), "m", {2, 2}, {1, 0, 0, std::nan("")});
  expect_refused([&] { (void)gathered([&] { return open_matrix(file("nan.h5"), ""); }, 2, {1, 1}, Part::lower); },
                 "[1, 1] is not finite");
}

TEST_F(Sources, market_files_that_cannot_be_read_are_refused) {
  expect_refused([&] { (void)open_matrix(file("nowhere.mtx"), ""); }, "cannot be opened");
  expect_refused([&] { (void)open_matrix(written("b.mtx", "nothing"), ""); }, "line 1");
  const std::string good = written("c.mtx", "%%MatrixMarket matrix array real general\n1 1\n1\n");
  expect_refused([&] { (void)open_matrix(good, "set"); }, "--dataset");
}

}  // namespace
}  // namespace cholesky::sources_test
