// SPDX-License-Identifier: Apache-2.0
#include "ring/snapshot.hpp"

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <vector>

#include <gtest/gtest.h>
#include <hdf5.h>

#include "ring/initial_condition.hpp"
#include "ring/one_rank.hpp"
#include "ring/temporary_folder.hpp"

namespace ring {
namespace {

std::vector<Body> some_bodies() {
  RingShape shape;
  shape.azimuthal = 10;
  shape.velocity_scatter = 0.01;
  std::vector<Body> bodies = make_ring(shape);
  begin_forces(bodies, 1);
  bodies[3].potential = -0.25;
  bodies[4].cost = 17;
  return bodies;
}

RunState some_state() {
  RunState state;
  state.time = 0.1 + 0.2;
  state.step = 1234567890123;
  state.parameters = {.theta = 0.3, .order = Order::monopole, .collision_radius = 0.004, .group_bodies_max = 48};
  state.dissipation = {1e-9, 3e-8};
  state.grid = {3, 2, 1};
  state.domain_bounds = {-1, 1, 0.01, 0.02, 0.03};
  state.rank_bodies = {50, 20, 30, 0, 60, 40};
  return state;
}

bool same_bits(const Body& a, const Body& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

class SnapshotFile : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(write_snapshot(file_, some_state(), some_bodies())); }
  std::string trouble() {
    auto read = read_snapshot(file_);
    return read ? "none" : read.error().what();
  }
  /// Changes an element of a data set of doubles.
  void damage(const char* path, std::size_t element, double value) {
    const hid_t file = H5Fopen(file_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    const hid_t set = H5Dopen2(file, path, H5P_DEFAULT);
    std::vector<double> values(600);
    H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    values[element] = value;
    H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    H5Dclose(set);
    H5Fclose(file);
  }
  void remove(const char* path) {
    const hid_t file = H5Fopen(file_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    H5Ldelete(file, path, H5P_DEFAULT);
    H5Fclose(file);
  }
  void expect_trouble(const char* name) {
    const std::string text = trouble();
    EXPECT_NE(text.find(file_.string()), std::string::npos) << text;
    EXPECT_NE(text.find(name), std::string::npos) << text;
  }

  test::TemporaryFolder folder_;
  std::filesystem::path file_ = folder_ / "ring.hdf5";
};

TEST_F(SnapshotFile, gives_back_every_bit) {
  const Snapshot read = read_snapshot(file_).value();
  const RunState state = some_state();
  EXPECT_EQ(read.state.time, state.time);
  EXPECT_EQ(read.state.step, state.step);
  EXPECT_EQ(read.state.parameters, state.parameters);
  EXPECT_EQ(read.state.dissipation.energy, state.dissipation.energy);
  EXPECT_EQ(read.state.dissipation.rate, state.dissipation.rate);
  EXPECT_EQ(read.state.grid, state.grid);
  EXPECT_EQ(read.state.domain_bounds, state.domain_bounds);
  EXPECT_EQ(read.state.rank_bodies, state.rank_bodies);
  const std::vector<Body> bodies = some_bodies();
  ASSERT_EQ(read.bodies.size(), bodies.size());
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    EXPECT_TRUE(same_bits(read.bodies[i], bodies[i])) << i;
  }
}

TEST_F(SnapshotFile, gives_as_many_ranks_what_they_held) {
  const Snapshot read = read_snapshot(file_, 4, 6).value();
  EXPECT_EQ(read.slab.first, 100U);
  EXPECT_EQ(read.bodies.size(), 60U);
  EXPECT_EQ(read.bodies.front().id, 101U);
}

TEST_F(SnapshotFile, gives_another_number_of_ranks_equal_shares) {
  std::uint64_t next = 1;
  for (std::uint32_t rank = 0; rank < 7; ++rank) {
    const Snapshot read = read_snapshot(file_, rank, 7).value();
    for (const Body& body : read.bodies) {
      EXPECT_EQ(body.id, next++);
    }
  }
  EXPECT_EQ(next, 201U);
}

TEST_F(SnapshotFile, is_whole_after_a_write_that_fails) {
  std::filesystem::create_directory(file_.string() + ".partial");  // nobody can create this file
  EXPECT_FALSE(write_snapshot(file_, some_state(), {}));
  EXPECT_EQ(read_snapshot(file_).value().total, 200U);
}

TEST_F(SnapshotFile, without_bodies_is_good) {
  RunState state = some_state();
  state.rank_bodies.clear();
  ASSERT_TRUE(write_snapshot(file_, state, {}));
  EXPECT_EQ(read_snapshot(file_).value().total, 0U);
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
    ASSERT_TRUE(write_snapshot(file_, some_state(), some_bodies()));
  }
}
TEST_F(SnapshotFile, that_is_no_hdf5_is_refused) {
  std::ofstream{file_} << "0\n0\n";
  expect_trouble("not an HDF5 file");
}
TEST_F(SnapshotFile, without_a_data_set_names_it) {
  remove("PartType1/Velocities");
  expect_trouble("PartType1/Velocities is missing");
}
TEST_F(SnapshotFile, without_the_state_names_it) {
  remove("RunState");
  expect_trouble("RunState has no attribute");
}
TEST_F(SnapshotFile, with_a_data_set_of_the_wrong_shape_names_it) {
  remove("PartType1/Coordinates");
  const hid_t file = H5Fopen(file_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  H5Lcreate_soft("/PartType1/Masses", file, "PartType1/Coordinates", H5P_DEFAULT, H5P_DEFAULT);
  H5Fclose(file);
  expect_trouble("PartType1/Coordinates has the wrong shape");
}
TEST_F(SnapshotFile, with_a_nan_names_the_row) {
  damage("PartType1/Coordinates", 31, std::numeric_limits<double>::quiet_NaN());
  expect_trouble("PartType1/Coordinates holds nan at row 10");
}
TEST_F(SnapshotFile, with_a_mass_of_0_names_the_body) {
  damage("PartType1/Masses", 7, 0);
  expect_trouble("body 8 has mass 0");
}
TEST_F(SnapshotFile, with_an_id_twice_names_it) {
  damage("PartType1/ParticleIDs", 7, 3);
  expect_trouble("id 3 occurs twice");
}

TEST(Snapshot, into_a_folder_that_is_not_there_is_an_error) {
  const test::TemporaryFolder folder;
  auto written = write_snapshot(folder / "none/ring.hdf5", {}, {});
  ASSERT_FALSE(written);
  EXPECT_NE(std::string{written.error().what()}.find("none/ring.hdf5"), std::string::npos) << written.error().what();
}

TEST(Snapshot, lets_a_run_go_on_bit_for_bit) {
  RingShape shape;
  shape.azimuthal = 40;
  shape.velocity_scatter = 0.01;
  Parameters parameters;
  parameters.collision_radius = 0.01;
  test::OneRank unbroken{make_ring(shape), parameters};
  for (int i = 0; i < 10; ++i) {
    unbroken.step();
  }
  const test::TemporaryFolder folder;
  RunState state;
  state.parameters = parameters;
  state.dissipation = unbroken.dissipation();
  ASSERT_TRUE(write_snapshot(folder / "ring.hdf5", state, unbroken.bodies()));
  const Snapshot read = read_snapshot(folder / "ring.hdf5").value();
  test::OneRank resumed{read.bodies, read.state.parameters, read.state.dissipation};
  for (int i = 0; i < 10; ++i) {
    unbroken.step();
    resumed.step();
  }
  EXPECT_GT(unbroken.sums().contacts, 0U);
  EXPECT_EQ(resumed.dissipation().energy, unbroken.dissipation().energy);
  for (std::size_t i = 0; i < read.bodies.size(); ++i) {
    ASSERT_TRUE(same_bits(resumed.bodies()[i], unbroken.bodies()[i])) << i;
  }
}

}  // namespace
}  // namespace ring
