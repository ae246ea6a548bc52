// SPDX-License-Identifier: Apache-2.0
// Collectives of every family, on 4-byte integers; tests/record/collectives_test.cpp knows their sizes.
#include <cstddef>
#include <vector>

#include <mpi.h>

namespace {

void wait_for(MPI_Request& request) {
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/// Columns of a matrix have gaps: on both sides, on one side, and on some ranks.
void exchange_columns(MPI_Comm world, MPI_Comm ring, std::vector<int>& out, std::vector<int>& in) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  const auto members = static_cast<std::size_t>(size);
  MPI_Datatype column;  // 4 integers, the same as 4 MPI_INT
  MPI_Type_vector(4, 1, 2, MPI_INT, &column);
  MPI_Type_commit(&column);
  const std::vector<int> two(members, 2);
  const std::vector<int> eight(members, 8);
  const std::vector<int> none(members, 0);
  const std::vector<MPI_Datatype> columns(members, column);
  const std::vector<MPI_Datatype> integers(members, MPI_INT);
  MPI_Request request;
  MPI_Ibcast(out.data(), 2, column, 0, world, &request);
  wait_for(request);
  MPI_Igather(out.data(), 2, column, in.data(), 8, MPI_INT, 0, world, &request);
  wait_for(request);
  MPI_Iscatterv(out.data(), two.data(), none.data(), column, in.data(), 8, MPI_INT, 0, world, &request);
  wait_for(request);
  MPI_Iallgather(out.data(), 8, MPI_INT, in.data(), 2, column, world, &request);
  wait_for(request);
  MPI_Ialltoallw(out.data(),
                 two.data(),
                 none.data(),
                 columns.data(),
                 in.data(),
                 eight.data(),
                 none.data(),
                 integers.data(),
                 world,
                 &request);
  wait_for(request);
  MPI_Ialltoall(out.data(), 8, MPI_INT, in.data(), 8, MPI_INT, world, &request);
  wait_for(request);
  MPI_Ineighbor_alltoall(out.data(), 2, column, in.data(), 2, column, ring, &request);
  wait_for(request);
#if MPI_VERSION >= 4
  MPI_Bcast_init(out.data(), 2, column, 0, world, MPI_INFO_NULL, &request);
  for (int time = 0; time < 2; ++time) {
    MPI_Start(&request);
    wait_for(request);
  }
  MPI_Request_free(&request);
  MPI_Neighbor_alltoall_init(out.data(), 8, MPI_INT, in.data(), 8, MPI_INT, ring, MPI_INFO_NULL, &request);
  MPI_Start(&request);
  wait_for(request);
  MPI_Request_free(&request);
#endif
  MPI_Type_free(&column);
}

}  // namespace

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  const MPI_Comm world = MPI_COMM_WORLD;
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  const auto members = static_cast<std::size_t>(size);
  std::vector<int> out(100 * members);
  std::vector<int> in(100 * members);
  std::vector<int> counts(members);
  std::vector<int> places(members);
  for (std::size_t i = 0; i < members; ++i) {
    counts[i] = static_cast<int>(i) + 1;
    places[i] = static_cast<int>(i) * 10;
  }
  const std::vector<int> given(members, rank + 1);
  const int last = size - 1;

  MPI_Barrier(world);
  MPI_Bcast(out.data(), 10, MPI_INT, last, world);
  MPI_Gather(out.data(), 5, MPI_INT, in.data(), 5, MPI_INT, 0, world);
  MPI_Gatherv(out.data(), rank + 1, MPI_INT, in.data(), counts.data(), places.data(), MPI_INT, 0, world);
  MPI_Scatter(out.data(), 6, MPI_INT, in.data(), 6, MPI_INT, 0, world);
  MPI_Scatterv(out.data(), counts.data(), places.data(), MPI_INT, in.data(), rank + 1, MPI_INT, 0, world);
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in.data(), 7, MPI_INT, world);
  MPI_Allgatherv(out.data(), rank + 1, MPI_INT, in.data(), counts.data(), places.data(), MPI_INT, world);
  MPI_Alltoall(out.data(), 8, MPI_INT, in.data(), 8, MPI_INT, world);
  MPI_Alltoallv(
      out.data(), counts.data(), places.data(), MPI_INT, in.data(), given.data(), places.data(), MPI_INT, world);
  MPI_Reduce(out.data(), in.data(), 9, MPI_INT, MPI_SUM, last, world);
  MPI_Allreduce(MPI_IN_PLACE, in.data(), 11, MPI_INT, MPI_SUM, world);
  MPI_Reduce_scatter_block(out.data(), in.data(), 12, MPI_INT, MPI_SUM, world);
  MPI_Reduce_scatter(out.data(), in.data(), counts.data(), MPI_INT, MPI_SUM, world);
  MPI_Scan(out.data(), in.data(), 13, MPI_INT, MPI_SUM, world);

  MPI_Request request;
  MPI_Iallreduce(out.data(), in.data(), 14, MPI_INT, MPI_SUM, world, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);

  // Everybody has the two next to it on the ring as neighbours.
  const int periodic = 1;
  MPI_Comm ring;
  MPI_Cart_create(world, 1, &size, &periodic, 0, &ring);
  MPI_Neighbor_alltoall(out.data(), 15, MPI_INT, in.data(), 15, MPI_INT, ring);
  MPI_Neighbor_allgather(out.data(), 16, MPI_INT, in.data(), 16, MPI_INT, ring);
  exchange_columns(world, ring, out, in);
  MPI_Comm_free(&ring);
  MPI_Finalize();
}
