// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <mpi.h>

#include "plait/accelerate/engine/pool.hpp"

namespace plait::accelerate {

/// How Fortran and MPI_Request_toint name objects. MPI_Fint, which the header of MPI's standard ABI does not have.
using HandleNumber = int;

/// Where Open MPI's objects of requests have the number that Fortran knows them by, in bytes from their start. Its
/// Fortran functions read a request's number there after waits. Found with requests of its own; 0 where that fails.
/// Collective over nothing; expects that MPI is initialised.
[[nodiscard]] std::size_t fortran_number_offset() noexcept;

/// The handles of MPI that name our objects, beside those of the MPI library, which are never equal to them.
///
/// Where handles are pointers, ours are addresses that nothing else has, and have the object's number where the library
/// would have it. In MPICH handles are numbers: two bits that are 0 only in null handles, four bits for the kind of
/// object, an index; ours are null handles with an index. Threads: any.
template <class Handle, class Object>
class OwnHandles {
 public:
  /// `first`: the first index to use. `number_offset`: as of `fortran_number_offset`.
  OwnHandles(std::uint32_t capacity, std::uint32_t first, std::size_t number_offset = 0)
      : pool_{capacity}, numbers_{capacity + padding(number_offset)}, first_{first}, number_offset_{number_offset} {}

  [[nodiscard]] Pool<Object>& pool() noexcept { return pool_; }

  [[nodiscard]] Handle handle_of(Object& object) const noexcept {
    if constexpr (std::is_pointer_v<Handle>) {
      const std::uint32_t index = pool_.index_of(object);
      std::atomic<HandleNumber>& number = numbers_.at(index + padding(number_offset_));
      number.store(number_of(object), std::memory_order_relaxed);  // the same value each time
      return reinterpret_cast<Handle>(reinterpret_cast<std::byte*>(&number) - number_offset_);
    } else {
      return static_cast<Handle>(null_request + first_ + pool_.index_of(object));
    }
  }
  /// Null when the handle is not ours.
  [[nodiscard]] Object* find(Handle handle) const noexcept {
    if constexpr (std::is_pointer_v<Handle>) {
      const auto* const address = reinterpret_cast<const std::byte*>(handle) + number_offset_;
      const auto* const first = reinterpret_cast<const std::byte*>(&numbers_.at(padding(number_offset_)));
      return address >= first && numbers_.contains(address)
                 ? &pool_.at(static_cast<std::uint32_t>(address - first) / sizeof(HandleNumber))
                 : nullptr;
    } else {
      const std::uint32_t index = static_cast<std::uint32_t>(handle) - null_request - first_;
      return index < pool_.capacity() ? &pool_.at(index) : nullptr;
    }
  }

  /// As Fortran has it.
  [[nodiscard]] HandleNumber number_of(Object& object) const noexcept {
    if constexpr (std::is_pointer_v<Handle>) {
      return static_cast<HandleNumber>(first_number + first_ + pool_.index_of(object));
    } else {
      return static_cast<HandleNumber>(handle_of(object));
    }
  }
  [[nodiscard]] Object* find_number(HandleNumber number) const noexcept {
    if constexpr (std::is_pointer_v<Handle>) {
      const std::uint32_t index = static_cast<std::uint32_t>(number) - first_number - first_;
      return index < pool_.capacity() ? &pool_.at(index) : nullptr;
    } else {
      return find(static_cast<Handle>(number));
    }
  }

 private:
  static constexpr std::uint32_t null_request = 0x2c00'0000;  ///< Of MPICH.
  static constexpr std::uint32_t first_number = 0x6000'0000;  ///< MPI libraries with pointers count from 0.

  /// Numbers before the first that is used, so that no handle is an address before them.
  static constexpr std::uint32_t padding(std::size_t number_offset) {
    return static_cast<std::uint32_t>((number_offset + sizeof(HandleNumber) - 1) / sizeof(HandleNumber));
  }

  Pool<Object> pool_;
  Pool<std::atomic<HandleNumber>> numbers_;  ///< Only its addresses are used: 0 until they are written.
  const std::uint32_t first_;
  const std::size_t number_offset_;
};

}  // namespace plait::accelerate
