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
/// stay until the wait. Threads: any, when MPI was initialised with MPI_THREAD_MULTIPLE; without, only plait's side may
/// be used while there is a runtime, which may call MPI in the background.
class RawMpi {
 public:
  using Request = MPI_Request;

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

  [[nodiscard]] int rank() const { return static_cast<int>(messages_->self().value()); }
  [[nodiscard]] int rank_count() const { return static_cast<int>(messages_->rank_count()); }
  void barrier() const { plait::barrier(*messages_); }
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

 protected:
  static plait::Address address(int rank, int tag) {
    return {rank == any ? plait::any_source : plait::Rank{static_cast<std::uint32_t>(rank)},
            tag == any ? plait::any_tag : plait::Tag{static_cast<std::uint64_t>(tag)}};
  }

  [[nodiscard]] plait::comm::Endpoint& messages() const { return *messages_; }

 private:
  plait::comm::Endpoint* messages_;
};

/// This rank in MPI_COMM_WORLD. Ends the program with status 2 when there are fewer than `ranks_min` ranks or more than
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

/// The value of rank 0, on every rank.
template <class Side>
int of_rank_0(const Side& side, int value) {
  constexpr int tag = 1 << 20;
  if (side.rank() != 0) {
    side.blocking_receive(0, tag, std::as_writable_bytes(std::span{&value, 1}));
    return value;
  }
  for (int rank = 1; rank < side.rank_count(); ++rank) {
    side.blocking_send(rank, tag, std::as_bytes(std::span{&value, 1}));
  }
  return value;
}

}  // namespace bench
