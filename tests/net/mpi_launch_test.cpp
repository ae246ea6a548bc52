// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "plait/net/mpi/launch.hpp"

namespace plait::net::mpi_launch_test {
namespace {

/// Each test has none of the variables, and leaves none.
class Launches : public testing::Test {
 protected:
  Launches() { clear(); }
  ~Launches() override { clear(); }

 private:
  static void clear() {
    for (const char* const name : {"OMPI_COMM_WORLD_LOCAL_SIZE",
                                   "OMPI_COMM_WORLD_SIZE",
                                   "MPI_LOCALNRANKS",
                                   "PMI_SIZE",
                                   "SLURM_STEP_NUM_NODES",
                                   "FLUX_JOB_NNODES",
                                   "UCX_RNDV_THRESH"}) {
      ::unsetenv(name);
    }
  }
};

TEST_F(Launches, are_on_one_host_where_all_ranks_are_local) {
  ::setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "4", 1);
  ::setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
  EXPECT_TRUE(is_launched_on_one_host());
  ::setenv("OMPI_COMM_WORLD_SIZE", "8", 1);
  EXPECT_FALSE(is_launched_on_one_host());
  ::setenv("SLURM_STEP_NUM_NODES", "1", 1);
  EXPECT_FALSE(is_launched_on_one_host()) << "mpirun inside of a job step has its own hosts";
}

TEST_F(Launches, are_on_one_host_by_the_variables_of_each_launcher) {
  ::setenv("MPI_LOCALNRANKS", "8", 1);
  ::setenv("PMI_SIZE", "8", 1);
  EXPECT_TRUE(is_launched_on_one_host());
  ::unsetenv("MPI_LOCALNRANKS");
  ::setenv("SLURM_STEP_NUM_NODES", "2", 1);
  EXPECT_FALSE(is_launched_on_one_host());
  ::setenv("SLURM_STEP_NUM_NODES", "1", 1);
  EXPECT_TRUE(is_launched_on_one_host());
  ::unsetenv("SLURM_STEP_NUM_NODES");
  ::setenv("FLUX_JOB_NNODES", "1", 1);
  EXPECT_TRUE(is_launched_on_one_host());
}

TEST_F(Launches, of_unknown_launchers_may_be_on_several_hosts) {
  EXPECT_FALSE(is_launched_on_one_host());
  ::setenv("PMI_SIZE", "4", 1);
  EXPECT_FALSE(is_launched_on_one_host()) << "the number of local ranks is unknown";
}

TEST_F(Launches, keep_the_threshold_of_the_user) {
  request_eager_messages_of_ucx();
  EXPECT_EQ(std::string{std::getenv("UCX_RNDV_THRESH")}, "64k");
  ::setenv("UCX_RNDV_THRESH", "8k", 1);
  request_eager_messages_of_ucx();
  EXPECT_EQ(std::string{std::getenv("UCX_RNDV_THRESH")}, "8k");
}

}  // namespace
}  // namespace plait::net::mpi_launch_test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
