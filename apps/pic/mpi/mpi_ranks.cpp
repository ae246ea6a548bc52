// SPDX-License-Identifier: Apache-2.0
#include "pic/mpi/mpi_ranks.hpp"

#include <limits>
#include <string>

#include "plait/base/error.hpp"

namespace pic {

namespace {

int length_of(const plait::Bytes& bytes) {
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw plait::Error{plait::ErrorCode::bad_argument,
                       "a message between two ranks would be longer than 2 GiB: use more ranks"};
  }
  return static_cast<int>(bytes.size());
}

void check(int result) {
  if (result != MPI_SUCCESS) {
    std::string text(MPI_MAX_ERROR_STRING, '\0');
    int length = 0;
    MPI_Error_string(result, text.data(), &length);
    text.resize(static_cast<std::size_t>(length));
    throw plait::Error{plait::ErrorCode::network, "MPI failed: " + text};
  }
}

}  // namespace

MpiRanks::MpiRanks(MPI_Comm communicator) {
  check(MPI_Comm_dup(communicator, &communicator_));
  MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN);
  MPI_Comm_rank(communicator_, &self_);
  MPI_Comm_size(communicator_, &count_);
  lengths_out_.resize(static_cast<std::size_t>(count_));
  lengths_in_.resize(static_cast<std::size_t>(count_));
}

MpiRanks::~MpiRanks() {
  MPI_Comm_free(&communicator_);
}

void MpiRanks::exchange(std::span<plait::Bytes> out, std::span<plait::Bytes> in) {
  requests_.clear();
  const auto self = static_cast<std::size_t>(self_);
  const auto post = [&](auto call, std::span<plait::Bytes> all) {
    for (std::size_t r = 0; r < all.size(); ++r) {
      if (r != self && !all[r].empty()) {
        check(call(all[r].data(),
                   length_of(all[r]),
                   MPI_BYTE,
                   static_cast<int>(r),
                   0,
                   communicator_,
                   &requests_.emplace_back(MPI_REQUEST_NULL)));
      }
    }
  };
  post(MPI_Irecv, in);
  post(MPI_Isend, out);
  in[self].swap(out[self]);
  check(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE));
}

void MpiRanks::exchange_unknown(std::span<plait::Bytes> out, std::span<plait::Bytes> in) {
  for (std::size_t r = 0; r < out.size(); ++r) {
    lengths_out_[r] = static_cast<std::int64_t>(out[r].size());
  }
  check(MPI_Alltoall(lengths_out_.data(), 1, MPI_INT64_T, lengths_in_.data(), 1, MPI_INT64_T, communicator_));
  for (std::size_t r = 0; r < in.size(); ++r) {
    in[r].resize(static_cast<std::size_t>(lengths_in_[r]));
  }
  exchange(out, in);
}

void MpiRanks::sum(std::span<std::int64_t> values) {
  // As unsigned numbers, whose overflow is defined.
  check(MPI_Allreduce(
      MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_UINT64_T, MPI_SUM, communicator_));
}

double MpiRanks::max(double value) {
  check(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, communicator_));
  return value;
}

}  // namespace pic
