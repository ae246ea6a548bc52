// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include <mpi.h>

namespace plait::fft::mpi {

/// Where blocks of different lengths stand one after the other, each at the beginning of a cache line.
struct Places {
  static constexpr std::size_t alignment = 64;

  explicit Places(std::vector<std::size_t> lengths);

  std::vector<std::size_t> length;  ///< Of each block, in bytes.
  std::vector<std::size_t> offset;  ///< Of each block, in bytes.
  std::size_t bytes = 0;            ///< Of all.
};

/// Memory that begins with a cache line.
class AlignedBytes {
 public:
  explicit AlignedBytes(std::size_t bytes);
  [[nodiscard]] std::byte* data() const noexcept { return data_.get(); }
  [[nodiscard]] std::span<std::byte> part(const Places& places, std::size_t block) const {
    return {data() + places.offset[block], places.length[block]};
  }

 private:
  struct Free {
    void operator()(std::byte* data) const noexcept { ::operator delete(data, std::align_val_t{Places::alignment}); }
  };
  std::unique_ptr<std::byte, Free> data_;
};

/// The same as MPI_Alltoallv wants it: counts and displacements of one datatype, which is as long as the lengths allow,
/// as MPI counts in int.
class Counts {
 public:
  /// Throws: `Error` with `bad_argument` when the blocks are too long all the same.
  explicit Counts(const Places& places);
  Counts(const Counts&) = delete;
  Counts& operator=(const Counts&) = delete;
  Counts(Counts&&) = delete;
  Counts& operator=(Counts&&) = delete;
  ~Counts();

  [[nodiscard]] const int* counts() const noexcept { return counts_.data(); }
  [[nodiscard]] const int* displacements() const noexcept { return displacements_.data(); }
  [[nodiscard]] MPI_Datatype type() const noexcept { return type_; }

 private:
  std::vector<int> counts_;
  std::vector<int> displacements_;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

}  // namespace plait::fft::mpi
