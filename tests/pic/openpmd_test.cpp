// SPDX-License-Identifier: Apache-2.0
#include "pic/output/openpmd.hpp"

#include <string>
#include <unistd.h>

#include <gtest/gtest.h>
#include <hdf5.h>

#include "pic/openpmd_sample.hpp"

namespace pic {
namespace {

class OpenPmd : public testing::Test {
 protected:
  void SetUp() override {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
#ifndef H5_HAVE_PARALLEL
    if (ranks_ > 1) {
      GTEST_SKIP() << "this HDF5 has no parallel I/O";
    }
#endif
    int process = static_cast<int>(getpid());
    MPI_Bcast(&process, 1, MPI_INT, 0, MPI_COMM_WORLD);
    folder_ = std::filesystem::temp_directory_path() / ("plait-openpmd-" + std::to_string(process));
    if (rank_ == 0) {
      std::filesystem::create_directories(folder_);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  void TearDown() override {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_ == 0) {
      std::filesystem::remove_all(folder_);
    }
  }
  [[nodiscard]] test::OpenPmdSample sample() const {
    return {static_cast<std::uint32_t>(rank_), static_cast<std::uint32_t>(ranks_)};
  }
  template <class T>
  static std::vector<T> read(const std::filesystem::path& file, const std::string& path, hid_t type) {
    const hid_t id = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t set = H5Dopen2(id, path.c_str(), H5P_DEFAULT);
    const hid_t space = H5Dget_space(set);
    std::vector<T> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
    H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    H5Sclose(space);
    H5Dclose(set);
    H5Fclose(id);
    return values;
  }
  int rank_ = 0;
  int ranks_ = 1;
  std::filesystem::path folder_;
};

TEST_F(OpenPmd, puts_every_cell_and_particle_at_its_place) {
  const test::OpenPmdSample mine = sample();
  const std::filesystem::path file = output_file(folder_, 7);
  auto bytes = write_openpmd(file, mine.step, MPI_COMM_WORLD);
  ASSERT_TRUE(bytes) << bytes.error().what();
  EXPECT_EQ(file.filename(), "pic-00000007.h5");
  EXPECT_GT(bytes.value(), 120U * 8 * 4);
  if (rank_ == 0) {
    const test::OpenPmdSample whole{0, 1};
    EXPECT_EQ(read<double>(file, "/data/7/meshes/E/y", H5T_NATIVE_DOUBLE), whole.cells);
    EXPECT_EQ(read<std::uint64_t>(file, "/data/7/particles/electrons/id", H5T_NATIVE_UINT64), whole.ids);
    EXPECT_EQ(read<double>(file, "/data/7/particles/electrons/position/x", H5T_NATIVE_DOUBLE), whole.x);
    std::uint64_t sum = 0;
    for (const auto count :
         read<std::uint64_t>(file, "/data/7/particles/electrons/particlePatches/numParticles", H5T_NATIVE_UINT64)) {
      sum += count;
    }
    EXPECT_EQ(sum, 60U);
  }
}

TEST_F(OpenPmd, tells_all_ranks_what_one_has_met_and_leaves_the_older_file) {
  const std::filesystem::path file = output_file(folder_, 7);
  const test::OpenPmdSample good = sample();
  auto before = write_openpmd(file, good.step, MPI_COMM_WORLD);
  ASSERT_TRUE(before);
  test::OpenPmdSample bad = sample();
  if (rank_ == ranks_ - 1) {
    bad.step.species[0].weighting = {bad.weighting.data(), 0};
    bad.step.meshes[1].components[0].values = {bad.cells.data(), 3};
  }
  const auto refused = write_openpmd(file, bad.step, MPI_COMM_WORLD);
  ASSERT_FALSE(refused);
  EXPECT_NE(std::string{refused.error().what()}.find("the mesh rho has 3 values"), std::string::npos);
  const auto nowhere = write_openpmd(folder_ / "absent" / "pic.h5", good.step, MPI_COMM_WORLD);
  ASSERT_FALSE(nowhere);
  EXPECT_NE(std::string{nowhere.error().what()}.find("cannot create the file"), std::string::npos);
  EXPECT_EQ(std::filesystem::file_size(file), before.value());
  EXPECT_FALSE(std::filesystem::exists(file.string() + ".partial"));
}

}  // namespace
}  // namespace pic

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  const int status = RUN_ALL_TESTS();
  MPI_Finalize();
  return status;
}
