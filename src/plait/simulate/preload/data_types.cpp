// SPDX-License-Identifier: Apache-2.0
#include "plait/simulate/preload/data_types.hpp"

#include <climits>
#include <cstring>

#include "plait/base/error.hpp"

namespace plait::simulate {
namespace {

struct Layout {
  std::size_t size = 0;
  std::ptrdiff_t extent = 0;
  bool is_contiguous = false;
};

Layout layout_of(MPI_Datatype type) {
  int size = 0;
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  require(type != MPI_DATATYPE_NULL, "the datatype is MPI_DATATYPE_NULL");
  PMPI_Type_size(type, &size);
  PMPI_Type_get_extent(type, &lower, &extent);
  int integers = 0;
  int addresses = 0;
  int types = 0;
  int combiner = 0;
  PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  return {static_cast<std::size_t>(size),
          extent,
          (combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_CONTIGUOUS) && lower == 0 && extent == size};
}

int count_for_mpi(std::size_t count) {
  require(count <= INT_MAX, "a message has more elements than an int can count");
  return static_cast<int>(count);
}

}  // namespace

std::size_t TypedElements::bytes() const {
  return count == 0 ? 0 : count * layout_of(type).size;
}

TypedElements TypedElements::part(std::ptrdiff_t first, std::size_t how_many) const {
  return {static_cast<std::byte*>(address) + first * layout_of(type).extent, how_many, type};
}

Bytes TypedElements::pack() const {
  if (count == 0) {
    return {};
  }
  Bytes packed(bytes());
  if (packed.empty()) {
    return packed;
  }
  if (layout_of(type).is_contiguous) {
    std::memcpy(packed.data(), address, packed.size());
    return packed;
  }
  int position = 0;
  PMPI_Pack(address, count_for_mpi(count), type, packed.data(), count_for_mpi(packed.size()), &position, MPI_COMM_SELF);
  return packed;
}

void TypedElements::unpack(const Bytes& from) const {
  if (from.empty()) {
    return;
  }
  const Layout layout = layout_of(type);
  if (layout.is_contiguous) {
    std::memcpy(address, from.data(), from.size());
    return;
  }
  int position = 0;
  PMPI_Unpack(from.data(),
              count_for_mpi(from.size()),
              &position,
              address,
              count_for_mpi(from.size() / layout.size),
              type,
              MPI_COMM_SELF);
}

Bytes combine(const Bytes& left, Bytes right, const TypedElements& like, MPI_Op operation) {
  require(left.size() == right.size(), "ranks give different numbers of elements to one reduction");
  if (!right.empty()) {
    require(layout_of(like.type).is_contiguous, "reductions of simulated ranks take datatypes without gaps");
    PMPI_Reduce_local(left.data(), right.data(), count_for_mpi(like.count), like.type, operation);
  }
  return right;
}

}  // namespace plait::simulate
