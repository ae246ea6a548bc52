// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/calibrate/pair.hpp"

#include <algorithm>

namespace plait::replay::calibrating {
namespace {

constexpr int data_tag = 1;
constexpr int signal_tag = 2;

}  // namespace

Pair::Pair(MPI_Comm ranks, Computation computation) : ranks_{ranks}, computation_{computation} {
  MPI_Comm_rank(ranks_, &self_);
}

void Pair::meet() const {
  MPI_Sendrecv(nullptr,
               0,
               MPI_BYTE,
               1 - self_,
               signal_tag,
               nullptr,
               0,
               MPI_BYTE,
               1 - self_,
               signal_tag,
               ranks_,
               MPI_STATUS_IGNORE);
}

void Pair::signal() const {
  MPI_Send(nullptr, 0, MPI_BYTE, 1 - self_, signal_tag, ranks_);
}

void Pair::await_signal() const {
  MPI_Recv(nullptr, 0, MPI_BYTE, 1 - self_, signal_tag, ranks_, MPI_STATUS_IGNORE);
}

MPI_Request Pair::send(std::span<const std::byte> data) const {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Isend(data.data(), static_cast<int>(data.size()), MPI_BYTE, 1 - self_, data_tag, ranks_, &request);
  return request;
}

MPI_Request Pair::receive(std::span<std::byte> data) const {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(data.data(), static_cast<int>(data.size()), MPI_BYTE, 1 - self_, data_tag, ranks_, &request);
  return request;
}

void Pair::wait(std::span<MPI_Request> requests) {
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

double Pair::of_rank(int rank, double mine) const {
  MPI_Bcast(&mine, 1, MPI_DOUBLE, rank, ranks_);
  return mine;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace plait::replay::calibrating
