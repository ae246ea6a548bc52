// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <mpi.h>

#include "plait/base/bytes.hpp"

namespace plait::simulate {

/// What a message carries: the elements of one rank, or of several, which is not changed any more.
using Parts = std::vector<Bytes>;
using Payload = std::shared_ptr<const Parts>;

/// TypedElements of an MPI datatype in a caller's memory. Datatypes and operations are those of the MPI library.
struct TypedElements {
  void* address = nullptr;
  std::size_t count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;

  /// Of the elements without gaps.
  [[nodiscard]] std::size_t bytes() const;
  /// Those that begin `first` extents of the type further on.
  [[nodiscard]] TypedElements part(std::ptrdiff_t first, std::size_t how_many) const;
  [[nodiscard]] Bytes pack() const;
  /// Expects: at most as many bytes as these elements have.
  void unpack(const Bytes& from) const;
};

/// As `TypedElements::address`, from what MPI declares constant.
[[nodiscard]] inline TypedElements elements_of(const void* address, int count, MPI_Datatype type) {
  return {const_cast<void*>(address), static_cast<std::size_t>(count), type};  // NOLINT: only `unpack` writes
}

/// Combines elements without gaps of a predefined type: returns `left` op `right`.
[[nodiscard]] Bytes combine(const Bytes& left, Bytes right, const TypedElements& like, MPI_Op operation);

}  // namespace plait::simulate
