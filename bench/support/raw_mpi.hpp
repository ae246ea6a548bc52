// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>

#include <mpi.h>

namespace bench {

/// As a source or tag of `receive`: any.
inline constexpr int any = -1;

/// Raw MPI on MPI_COMM_WORLD, with the same calls as `Plait`, so that a benchmark writes its exchange once. Buffers
/// must stay valid until the wait. Threads: any with MPI_THREAD_MULTIPLE. Below that level, only `Plait` may be used
/// while a runtime exists, which may call MPI in the background.
class RawMpi {
 public:
  using Request = MPI_Request;

  RawMpi() = default;
  /// Messages are one value of `type` in place of bytes; those of an empty buffer are empty.
  explicit RawMpi(MPI_Datatype type) : type_{type} {}

  [[nodiscard]] static int rank() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
  }
  [[nodiscard]] static int rank_count() {
    int count = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    return count;
  }
  static void barrier() { MPI_Barrier(MPI_COMM_WORLD); }
  [[nodiscard]] Request send(int to, int tag, std::span<const std::byte> data) const {
    Request request = MPI_REQUEST_NULL;
    MPI_Isend(data.data(), count(data), type_, to, tag, MPI_COMM_WORLD, &request);
    return request;
  }
  [[nodiscard]] Request receive(int from, int tag, std::span<std::byte> buffer) const {
    Request request = MPI_REQUEST_NULL;
    const int source = from == any ? MPI_ANY_SOURCE : from;
    MPI_Irecv(buffer.data(), count(buffer), type_, source, tag == any ? MPI_ANY_TAG : tag, MPI_COMM_WORLD, &request);
    return request;
  }
  static void wait(Request& request) { MPI_Wait(&request, MPI_STATUS_IGNORE); }
  static void wait_all(std::span<Request> requests) {
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  }
  void blocking_send(int to, int tag, std::span<const std::byte> data) const {
    MPI_Send(data.data(), count(data), type_, to, tag, MPI_COMM_WORLD);
  }
  void blocking_receive(int from, int tag, std::span<std::byte> buffer) const {
    MPI_Recv(buffer.data(), count(buffer), type_, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }

 private:
  [[nodiscard]] int count(std::span<const std::byte> data) const {
    return type_ == MPI_BYTE ? static_cast<int>(data.size()) : static_cast<int>(!data.empty());
  }

  MPI_Datatype type_ = MPI_BYTE;
};

/// For windows across nodes, Open MPI 4 prefers a component that fails over TCP, and does not try the next one. A
/// choice of the user is kept.
inline void choose_window_components() {
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(version, &length);  // one of the few calls allowed before MPI_Init
  if (std::string_view{version}.starts_with("Open MPI v4.")) {
    setenv("OMPI_MCA_osc", "^rdma", 0);
  }
}

/// Returns this rank in MPI_COMM_WORLD. Exits with status 2 when there are fewer than `ranks_min` ranks or more than
/// `ranks_max`.
inline int rank_of(int ranks_min, int ranks_max) {
  const int rank = RawMpi::rank();
  const int count = RawMpi::rank_count();
  if (count < ranks_min || count > ranks_max) {
    if (rank == 0) {
      std::fprintf(stderr, "this benchmark needs %d ranks: start it with plait bench\n", ranks_min);
    }
    MPI_Finalize();
    std::exit(2);
  }
  return rank;
}

}  // namespace bench
