// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>

#include <mpi.h>

#include "plait/plait.hpp"

namespace bench {

/// In `receive` of both sides: from any rank, with any tag.
inline constexpr int any = -1;

/// Raw MPI on MPI_COMM_WORLD and plait behind the same calls, so that a benchmark writes its exchange once. Buffers
/// stay until the wait. Threads: any, when MPI was initialised with MPI_THREAD_MULTIPLE.
class RawMpi {
 public:
  using Request = MPI_Request;

  [[nodiscard]] static Request send(int to, int tag, std::span<const std::byte> data) {
    Request request = MPI_REQUEST_NULL;
    MPI_Isend(data.data(), static_cast<int>(data.size()), MPI_BYTE, to, tag, MPI_COMM_WORLD, &request);
    return request;
  }
  [[nodiscard]] static Request receive(int from, int tag, std::span<std::byte> buffer) {
    Request request = MPI_REQUEST_NULL;
    MPI_Irecv(buffer.data(),
              static_cast<int>(buffer.size()),
              MPI_BYTE,
              from == any ? MPI_ANY_SOURCE : from,
              tag == any ? MPI_ANY_TAG : tag,
              MPI_COMM_WORLD,
              &request);
    return request;
  }
  static void wait(Request& request) { MPI_Wait(&request, MPI_STATUS_IGNORE); }
  static void wait_all(std::span<Request> requests) {
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  }
  static void blocking_send(int to, int tag, std::span<const std::byte> data) {
    MPI_Send(data.data(), static_cast<int>(data.size()), MPI_BYTE, to, tag, MPI_COMM_WORLD);
  }
  static void blocking_receive(int from, int tag, std::span<std::byte> buffer) {
    MPI_Recv(buffer.data(), static_cast<int>(buffer.size()), MPI_BYTE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
};

/// See `RawMpi`.
class Plait {
 public:
  using Request = plait::Request;

  explicit Plait(plait::Runtime& runtime) : messages_{&runtime.messages()} {}

  [[nodiscard]] Request send(int to, int tag, std::span<const std::byte> data) const {
    return messages_->send(address(to, tag), data);
  }
  [[nodiscard]] Request receive(int from, int tag, std::span<std::byte> buffer) const {
    return messages_->receive(address(from, tag), buffer);
  }
  static void wait(Request& request) { request.wait(); }
  static void wait_all(std::span<Request> requests) {
    for (Request& request : requests) {
      request.wait();
    }
  }
  void blocking_send(int to, int tag, std::span<const std::byte> data) const { send(to, tag, data).wait(); }
  void blocking_receive(int from, int tag, std::span<std::byte> buffer) const { receive(from, tag, buffer).wait(); }

 private:
  static plait::Address address(int rank, int tag) {
    return {rank == any ? plait::any_source : plait::Rank{static_cast<std::uint32_t>(rank)},
            tag == any ? plait::any_tag : plait::Tag{static_cast<std::uint64_t>(tag)}};
  }

  plait::comm::Endpoint* messages_;
};

/// MPI for the length of a scope, with MPI_THREAD_MULTIPLE, which raw MPI needs for several threads and plait does not.
class ThreadedMpi {
 public:
  /// Ends the program when MPI does not grant it.
  ThreadedMpi(int& argc, char**& argv) {
    int granted = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &granted);
    if (granted < MPI_THREAD_MULTIPLE) {
      std::fprintf(stderr, "this benchmark needs an MPI with MPI_THREAD_MULTIPLE\n");
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
  }
  ThreadedMpi(const ThreadedMpi&) = delete;
  ThreadedMpi& operator=(const ThreadedMpi&) = delete;
  ThreadedMpi(ThreadedMpi&&) = delete;
  ThreadedMpi& operator=(ThreadedMpi&&) = delete;
  ~ThreadedMpi() { MPI_Finalize(); }
};

/// This rank in MPI_COMM_WORLD. Ends the program with status 2 when there are fewer than `ranks_min` ranks or more than
/// `ranks_max`.
inline int rank_of(int ranks_min, int ranks_max) {
  int rank = 0;
  int count = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &count);
  if (count < ranks_min || count > ranks_max) {
    if (rank == 0) {
      std::fprintf(stderr, "this benchmark needs %d ranks: start it with plait bench\n", ranks_min);
    }
    MPI_Finalize();
    std::exit(2);
  }
  return rank;
}

/// What rank 0 says, on every rank.
inline int told_by_rank_0(int value) {
  MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return value;
}

}  // namespace bench
