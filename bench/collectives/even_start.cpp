// SPDX-License-Identifier: Apache-2.0
#include "collectives/even_start.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>

#include "support/shared_cores.hpp"

namespace bench {
namespace {

constexpr int tag = 77;
constexpr int exchanges = 20;
/// From the agreement to the start, for each rank: the message with the moment must have arrived.
constexpr double lead_us = 15;
constexpr double crowded_lead_us = 150;

double local_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void send(MPI_Comm comm, int to, double value) {
  MPI_Send(&value, 1, MPI_DOUBLE, to, tag, comm);
}

double receive(MPI_Comm comm, int from) {
  double value = 0;
  MPI_Recv(&value, 1, MPI_DOUBLE, from, tag, comm, MPI_STATUS_IGNORE);
  return value;
}

/// Returns the largest value of all ranks, on all.
double largest(MPI_Comm comm, int rank, int size, double value) {
  if (rank != 0) {
    send(comm, 0, value);
    return receive(comm, 0);
  }
  for (int from = 1; from < size; ++from) {
    value = std::max(value, receive(comm, from));
  }
  for (int to = 1; to < size; ++to) {
    send(comm, to, value);
  }
  return value;
}

}  // namespace

EvenStart::EvenStart(MPI_Comm comm) : comm_{comm}, is_crowded_{is_crowded()} {
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &size_);
  double shortest_us = std::numeric_limits<double>::infinity();
  for (int with = 1; with < size_; ++with) {
    for (int exchange = 0; exchange < exchanges; ++exchange) {
      if (rank_ == 0) {
        receive(comm_, with);
        send(comm_, with, local_us());
      } else if (rank_ == with) {
        const double before = local_us();
        send(comm_, 0, before);
        const double at_0 = receive(comm_, 0);
        const double after = local_us();
        if (after - before < shortest_us) {
          shortest_us = after - before;
          offset_us_ = at_0 - (before + after) / 2;
        }
      }
    }
  }
  error_us_ = largest(comm_, rank_, size_, rank_ == 0 ? 0 : shortest_us / 2);
}

double EvenStart::common_us() const {
  return local_us() + offset_us_;
}

double EvenStart::agree_on_start() const {
  if (rank_ != 0) {
    send(comm_, 0, 0);
    return receive(comm_, 0);
  }
  for (int from = 1; from < size_; ++from) {
    receive(comm_, from);
  }
  const double start = common_us() + size_ * (is_crowded_ ? crowded_lead_us : lead_us);
  for (int to = 1; to < size_; ++to) {
    send(comm_, to, start);
  }
  return start;
}

EvenTime EvenStart::time(const std::function<void()>& call, const std::function<void()>& after) const {
  const double start = agree_on_start();
  while (common_us() < start) {
    if (is_crowded_) {
      std::this_thread::yield();
    }
  }
  const double began = common_us();
  call();
  const double ended = common_us();
  if (after) {
    after();
  }
  const double last_start = largest(comm_, rank_, size_, began);
  const double first_start = -largest(comm_, rank_, size_, -began);
  return {.call_us = std::max(0.0, largest(comm_, rank_, size_, ended) - last_start),
          .skew_us = last_start - first_start};
}

}  // namespace bench
