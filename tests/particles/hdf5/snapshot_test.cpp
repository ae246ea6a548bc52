// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/hdf5/snapshot.hpp"

#include <fstream>
#include <limits>
#include <vector>

#include <gtest/gtest.h>
#include <hdf5.h>

#include "particles/hdf5/sample.hpp"
#include "particles/hdf5/temporary_folder.hpp"

namespace plait::particles::hdf5::snapshot_test {
namespace {

using test::Sample;

SnapshotHeader some_header() {
  SnapshotHeader header;
  header.time = 0.1 + 0.2;
  header.box = {1, 2, 3};
  header.is_periodic = true;
  header.code = "plait-test";
  header.groups["RunState"].set("Step", std::uint64_t{1234567890123});
  header.groups["RunState"].set("Bounds", std::vector<double>{-1, 1, 0.01});
  return header;
}

class SnapshotFile : public testing::Test {
 protected:
  void SetUp() override {
    sample_.fill(0, 200);
    ASSERT_TRUE(write_snapshot(file_, some_header(), sample_.layout(), sample_.particles));
  }
  std::string trouble() {
    Sample empty;
    auto read = read_snapshot(file_, empty.layout(), empty.particles);
    EXPECT_TRUE(read || empty.particles.is_empty());
    return read ? "none" : read.error().what();
  }
  /// Opens the file, and does `change(file)` to it.
  template <class Change>
  void changed(Change change) {
    const hid_t file = H5Fopen(file_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    change(file);
    H5Fclose(file);
  }
  /// Changes a number of a data set of 100 rows.
  void damage(const char* path, std::size_t element, double value) {
    changed([&](hid_t file) {
      const hid_t set = H5Dopen2(file, path, H5P_DEFAULT);
      std::vector<double> values(300);
      H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
      values[element] = value;
      H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
      H5Dclose(set);
    });
  }
  void remove(const char* path) {
    changed([&](hid_t file) { H5Ldelete(file, path, H5P_DEFAULT); });
  }
  void set_attribute(const char* group, const char* key, std::vector<double> values) {
    changed([&](hid_t file) {
      const hid_t at = H5Oopen(file, group, H5P_DEFAULT);
      if (H5Aexists(at, key) > 0) {
        H5Adelete(at, key);
      }
      const hsize_t n = values.size();
      const hid_t space = H5Screate_simple(1, &n, nullptr);
      const hid_t attribute = H5Acreate2(at, key, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT);
      H5Awrite(attribute, H5T_NATIVE_DOUBLE, values.data());
      H5Aclose(attribute);
      H5Sclose(space);
      H5Oclose(at);
    });
  }
  void expect_trouble(const char* name) {
    const std::string text = trouble();
    EXPECT_NE(text.find(file_.string()), std::string::npos) << text;
    EXPECT_NE(text.find(name), std::string::npos) << text;
  }

  Sample sample_;
  test::TemporaryFolder folder_;
  std::filesystem::path file_ = folder_ / "particles.hdf5";
};

TEST_F(SnapshotFile, gives_back_every_bit_of_all_kinds_in_their_order) {
  Sample read;
  const SnapshotInfo info = read_snapshot(file_, read.layout(), read.particles).value();
  EXPECT_EQ(info.totals[0], 100U);
  EXPECT_EQ(info.totals[1], 100U);
  ASSERT_EQ(read.particles.size(), 200U);
  for (std::size_t i = 0; i < 200; ++i) {
    const std::size_t from = i < 100 ? 2 * i : 2 * (i - 100) + 1;
    EXPECT_EQ(read.particles.ids()[i], sample_.particles.ids()[from]);
    EXPECT_EQ(read.particles.positions()[i], sample_.particles.positions()[from]);
    EXPECT_EQ(read.particles[Particles::kind][i], i < 100 ? 0 : 1);
    EXPECT_EQ(read.particles[read.velocity][i], sample_.particles[sample_.velocity][from]);
    EXPECT_EQ(read.particles[read.mass][i], sample_.particles[sample_.mass][from]);
    EXPECT_EQ(read.particles[read.energy][i], sample_.particles[sample_.energy][from]);
    EXPECT_EQ(read.particles[read.pair][i], sample_.particles[sample_.pair][from]);
    EXPECT_EQ(read.particles[read.bin][i], sample_.particles[sample_.bin][from]);
  }
}

TEST_F(SnapshotFile, gives_back_what_the_program_says_of_itself) {
  Sample read;
  const SnapshotInfo info = read_snapshot(file_, read.layout(), read.particles).value();
  EXPECT_EQ(info.header.time, 0.1 + 0.2);
  EXPECT_EQ(info.header.box, (Vector{1, 2, 3}));
  EXPECT_TRUE(info.header.is_periodic);
  EXPECT_EQ(info.header.code, "plait-test");
  EXPECT_EQ(info.units, sample_.layout().units);
  const Attributes& state = info.group("RunState");
  EXPECT_EQ(state.get<std::uint64_t>("Step"), 1234567890123U);
  EXPECT_EQ(state.get<std::vector<double>>("Bounds"), (std::vector<double>{-1, 1, 0.01}));
}

TEST_F(SnapshotFile, without_a_group_of_the_program_names_it) {
  Sample read;
  const SnapshotInfo info = read_snapshot(file_, read.layout(), read.particles).value();
  try {
    static_cast<void>(info.group("Weather"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string{error.what()}, file_.string() + " has no group Weather");
  }
}

TEST_F(SnapshotFile, gives_any_number_of_ranks_each_particle_once) {
  for (const std::uint32_t ranks : {1U, 2U, 7U, 300U}) {
    std::vector<int> seen(201);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      Sample read;
      ASSERT_TRUE(read_snapshot(file_, read.layout(), read.particles, rank, ranks));
      EXPECT_LE(read.particles.size(), 200 / ranks + 2);
      for (const std::uint64_t id : read.particles.ids()) {
        ++seen[id];
      }
    }
    EXPECT_EQ(std::count(seen.begin() + 1, seen.end(), 1), 200);
  }
}

TEST_F(SnapshotFile, leaves_kinds_that_are_not_asked_for) {
  Sample read;
  SnapshotLayout layout = read.layout();
  layout.kinds = kind_bit(1);
  ASSERT_TRUE(read_snapshot(file_, layout, read.particles));
  EXPECT_EQ(read.particles.size(), 100U);
  EXPECT_EQ(read.particles.ids()[0], 2U);
}

TEST_F(SnapshotFile, in_other_units_is_converted) {
  Sample read;
  SnapshotLayout layout = read.layout();
  layout.units = {.length = 30, .mass = 0.5, .time = 7};
  const SnapshotInfo info = read_snapshot(file_, layout, read.particles).value();
  EXPECT_DOUBLE_EQ(info.header.box.y, 0.2);
  EXPECT_DOUBLE_EQ(read.particles.positions()[1].y, sample_.particles.positions()[2].y / 10);
  EXPECT_DOUBLE_EQ(read.particles[read.mass][1], sample_.particles[sample_.mass][2] * 10);
  EXPECT_FLOAT_EQ(read.particles[read.energy][1], sample_.particles[sample_.energy][2] / 100);
}

TEST_F(SnapshotFile, without_units_is_in_the_programs) {
  remove("Units");
  remove("InternalCodeUnits");
  SnapshotLayout layout = sample_.layout();
  layout.units.length = 1000;
  Sample read;
  ASSERT_TRUE(read_snapshot(file_, layout, read.particles));
  EXPECT_EQ(read.particles.positions()[1], sample_.particles.positions()[2]);
}

TEST_F(SnapshotFile, without_masses_takes_those_of_the_header) {
  remove("PartType1/Masses");
  expect_trouble("PartType1/Masses is missing, and MassTable");
  set_attribute("Header", "MassTable", {0, 2.5, 0, 0, 0, 0});
  Sample read;
  ASSERT_TRUE(read_snapshot(file_, read.layout(), read.particles));
  EXPECT_EQ(read.particles[read.mass][150], 2.5);
}

TEST_F(SnapshotFile, keeps_zero_what_may_be_absent) {
  remove("PartType0/Pairs");
  Sample read;
  ASSERT_TRUE(read_snapshot(file_, read.layout(), read.particles));
  EXPECT_EQ(read.particles[read.pair][3], (std::array<float, 2>{}));
}

TEST_F(SnapshotFile, in_single_precision_is_read_as_near) {
  SnapshotLayout layout = sample_.layout();
  layout.datasets[1].traits.is_single = true;
  ASSERT_TRUE(write_snapshot(file_, some_header(), layout, sample_.particles));
  Sample read;
  ASSERT_TRUE(read_snapshot(file_, layout, read.particles));
  EXPECT_EQ(read.particles[read.mass][1], static_cast<float>(sample_.particles[sample_.mass][2]));
}

TEST_F(SnapshotFile, is_whole_after_a_write_that_fails) {
  std::filesystem::create_directory(file_.string() + ".partial");  // so that the file cannot be created
  EXPECT_FALSE(write_snapshot(file_, some_header(), sample_.layout(), sample_.particles));
  Sample read;
  EXPECT_TRUE(read_snapshot(file_, read.layout(), read.particles));
}

TEST_F(SnapshotFile, without_particles_is_good) {
  Sample empty;
  ASSERT_TRUE(write_snapshot(file_, some_header(), empty.layout(), empty.particles));
  ASSERT_TRUE(read_snapshot(file_, empty.layout(), empty.particles));
  EXPECT_TRUE(empty.particles.is_empty());
}

TEST_F(SnapshotFile, of_a_kind_that_files_cannot_tell_is_an_error) {
  sample_.particles[Particles::kind][7] = 9;
  auto written = write_snapshot(file_, some_header(), sample_.layout(), sample_.particles);
  ASSERT_FALSE(written);
  EXPECT_NE(std::string{written.error().what()}.find("particle 8 is of kind 9"), std::string::npos);
}

TEST_F(SnapshotFile, that_is_missing_is_named) {
  std::filesystem::remove(file_);
  expect_trouble("no such file");
}
TEST_F(SnapshotFile, that_is_cut_short_is_refused_wherever_it_is_cut) {
  const auto size = std::filesystem::file_size(file_);
  for (const std::uintmax_t keep : {std::uintmax_t{0}, std::uintmax_t{100}, size / 2, size - 1}) {
    std::filesystem::resize_file(file_, keep);
    expect_trouble("cut short");
    ASSERT_TRUE(write_snapshot(file_, some_header(), sample_.layout(), sample_.particles));
  }
}
TEST_F(SnapshotFile, that_is_no_hdf5_is_refused) {
  std::ofstream{file_} << "0\n0\n";
  expect_trouble("not an HDF5 file");
}
TEST_F(SnapshotFile, without_a_header_is_refused) {
  remove("Header");
  expect_trouble("no group Header");
}
TEST_F(SnapshotFile, without_a_data_set_names_it) {
  remove("PartType0/InternalEnergies");
  expect_trouble("PartType0/InternalEnergies is missing");
}
TEST_F(SnapshotFile, with_a_data_set_of_the_wrong_shape_names_it) {
  remove("PartType1/Coordinates");
  changed(
      [](hid_t file) { H5Lcreate_soft("/PartType1/Masses", file, "PartType1/Coordinates", H5P_DEFAULT, H5P_DEFAULT); });
  expect_trouble("PartType1/Coordinates has the wrong shape");
}
TEST_F(SnapshotFile, with_fewer_rows_than_its_header_says_names_the_data_set) {
  set_attribute("Header", "NumPart_Total", {100, 101, 0, 0, 0, 0});
  remove("Ranks");
  expect_trouble("PartType1/Coordinates has 100 rows");
}
TEST_F(SnapshotFile, with_a_nan_names_the_row) {
  damage("PartType1/Coordinates", 31, std::numeric_limits<double>::quiet_NaN());
  expect_trouble("PartType1/Coordinates holds nan at row 10");
}
TEST_F(SnapshotFile, with_a_mass_of_0_names_the_row) {
  damage("PartType0/Masses", 7, 0);
  expect_trouble("PartType0/Masses holds 0 at row 7; it must be positive");
}
TEST_F(SnapshotFile, with_an_id_twice_names_it) {
  damage("PartType1/ParticleIDs", 7, 3);
  expect_trouble("id 3 occurs twice");
}
TEST_F(SnapshotFile, with_a_unit_of_0_is_refused) {
  set_attribute("Units", "Unit mass in cgs (U_M)", {0});
  expect_trouble("Units holds a unit of 0");
}
TEST_F(SnapshotFile, without_one_of_the_units_names_it) {
  changed([](hid_t file) {
    const hid_t units = H5Oopen(file, "Units", H5P_DEFAULT);
    H5Adelete(units, "Unit time in cgs (U_t)");
    H5Oclose(units);
  });
  expect_trouble("Units has no attribute 'Unit time in cgs (U_t)'");
}
TEST_F(SnapshotFile, of_an_expanding_world_is_refused) {
  set_attribute("Cosmology", "Cosmological run", {1});
  expect_trouble("cosmological run");
}
TEST_F(SnapshotFile, that_is_one_of_many_is_refused) {
  set_attribute("Header", "NumFilesPerSnapshot", {8});
  expect_trouble("one of 8 files");
}

TEST(SnapshotLayout, has_units_of_gravity_in_which_earth_takes_2_pi_for_a_year) {
  const Units units = units_of_gravity(1.495979e13, 1.98841e33);
  EXPECT_NEAR(2 * 3.14159265358979 * units.time / 86400, 365.25, 0.05);
}

TEST(Snapshot, into_a_folder_that_is_not_there_is_an_error) {
  const test::TemporaryFolder folder;
  const Sample sample;
  auto written = write_snapshot(folder / "none/particles.hdf5", {}, sample.layout(), sample.particles);
  ASSERT_FALSE(written);
  EXPECT_NE(std::string{written.error().what()}.find("none/particles.hdf5"), std::string::npos)
      << written.error().what();
}

}  // namespace
}  // namespace plait::particles::hdf5::snapshot_test
