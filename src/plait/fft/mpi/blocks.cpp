// SPDX-License-Identifier: Apache-2.0
#include "plait/fft/mpi/blocks.hpp"

#include <limits>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace plait::fft::mpi {

namespace {

/// The longest power of two, up to a cache line, that divides all lengths.
std::size_t unit_of(const Places& places) {
  std::size_t bits = Places::alignment;
  for (const std::size_t length : places.length) {
    bits |= length;
  }
  return bits & (~bits + 1);
}

}  // namespace

Places::Places(std::vector<std::size_t> lengths) : length{std::move(lengths)} {
  for (const std::size_t one : length) {
    offset.push_back(bytes);
    bytes += (one + alignment - 1) / alignment * alignment;
  }
}

AlignedBytes::AlignedBytes(std::size_t bytes)
    : data_{static_cast<std::byte*>(::operator new(bytes, std::align_val_t{Places::alignment}))} {}

Counts::Counts(const Places& places) {
  const std::size_t unit = unit_of(places);
  if (places.bytes / unit > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("blocks of {} bytes together are more than MPI counts in one call; use more ranks, or a "
                            "variant that sends by tasks (PLT)",
                            places.bytes)};
  }
  for (std::size_t block = 0; block < places.length.size(); ++block) {
    counts_.push_back(static_cast<int>(places.length[block] / unit));
    displacements_.push_back(static_cast<int>(places.offset[block] / unit));
  }
  MPI_Type_contiguous(static_cast<int>(unit), MPI_BYTE, &type_);
  MPI_Type_commit(&type_);
}

Counts::~Counts() {
  MPI_Type_free(&type_);
}

}  // namespace plait::fft::mpi
