// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <unordered_map>

#include <mpi.h>

#include "plait/comm/layout.hpp"

namespace plait::accelerate {

/// What messages need to know of a datatype. Immutable.
struct Datatype {
  std::size_t size = 0;      ///< Bytes of an element in a message.
  std::ptrdiff_t lower = 0;  ///< Where the first byte of an element is, from its address.
  MPI_Aint extent = 0;
  bool is_contiguous = false;  ///< Each element is; several are if `size` is `extent`.
  /// The blocks of an element that is not contiguous; null where MPI has to pack it.
  std::shared_ptr<const comm::LayoutPattern> pattern;

  /// Whether `count` elements are one range of memory.
  [[nodiscard]] bool is_contiguous_for(MPI_Count count) const noexcept {
    return is_contiguous && (count <= 1 || static_cast<MPI_Aint>(size) == extent);
  }
};

/// The datatypes that messages had, by handle. Threads: any.
class Datatypes {
 public:
  Datatypes();
  Datatypes(const Datatypes&) = delete;
  Datatypes& operator=(const Datatypes&) = delete;
  ~Datatypes();

  /// Cost: some nanoseconds where a thread asks for the same again; else a walk through the type, once.
  [[nodiscard]] const std::shared_ptr<const Datatype>& find(MPI_Datatype type);
  /// The program frees `type`. Messages of it under way keep what they need.
  void freed(MPI_Datatype type) noexcept;

 private:
  int keyval_ = MPI_KEYVAL_INVALID;  ///< Of an attribute that ends with its type.
  std::shared_mutex mutex_;
  std::unordered_map<MPI_Datatype, std::shared_ptr<const Datatype>> known_;
  std::atomic<std::uint64_t> epoch_ = 1;  ///< Changes when a handle ends.
};

}  // namespace plait::accelerate
