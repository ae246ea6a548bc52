// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include <mpi.h>

#include "plait/accelerate/engine/communicators.hpp"
#include "plait/accelerate/engine/pool.hpp"
#include "plait/accelerate/engine/transfer.hpp"

namespace plait::accelerate {

/// What one of our requests names.
struct PendingOperation {
  enum class Kind : std::uint8_t { send, receive, send_and_receive };

  RoutedCommunicator* on = nullptr;
  Kind kind = Kind::receive;
  SendMode mode = SendMode::standard;
  bool is_persistent = false;
  bool is_active = false;  ///< Begun and not ended.
  MessageTransfer transfer;
  MessageTransfer sent;      ///< The send of a pair.
  TypedMessage arguments{};  ///< Of a persistent operation.

  /// Whether to wait for it would return at once.
  [[nodiscard]] bool is_complete() const noexcept {
    return !is_active || (transfer.is_complete() && sent.is_complete());
  }
};

/// A message that a probe has claimed for the program.
struct Probed {
  RoutedCommunicator* on = nullptr;
  comm::ClaimedMessage message;
};

/// The handles of MPI that name our objects, beside those of the MPI library, which are never equal to them.
///
/// Where handles are pointers, ours are the addresses of the objects. In MPICH they are numbers: two bits that are 0
/// only in null handles, four bits for the kind of object, an index; ours are null handles with an index. Threads: any.
template <class Handle, class Object>
class OwnHandles {
 public:
  /// `first`: the first index to use.
  OwnHandles(std::uint32_t capacity, std::uint32_t first) : pool_{capacity}, first_{first} {}

  [[nodiscard]] Pool<Object>& pool() noexcept { return pool_; }

  [[nodiscard]] Handle handle_of(Object& object) const noexcept {
    if constexpr (std::is_pointer_v<Handle>) {
      return reinterpret_cast<Handle>(&object);
    } else {
      return static_cast<Handle>(null_request + first_ + pool_.index_of(object));
    }
  }
  /// Null when the handle is not ours.
  [[nodiscard]] Object* find(Handle handle) const noexcept {
    if constexpr (std::is_pointer_v<Handle>) {
      return pool_.contains(reinterpret_cast<const void*>(handle)) ? reinterpret_cast<Object*>(handle) : nullptr;
    } else {
      const std::uint32_t index = static_cast<std::uint32_t>(handle) - null_request - first_;
      return index < pool_.capacity() ? &pool_.at(index) : nullptr;
    }
  }

  /// As Fortran has it.
  [[nodiscard]] MPI_Fint number_of(Object& object) const noexcept {
    if constexpr (std::is_pointer_v<Handle>) {
      return static_cast<MPI_Fint>(first_number + first_ + pool_.index_of(object));
    } else {
      return static_cast<MPI_Fint>(handle_of(object));
    }
  }
  [[nodiscard]] Object* find_number(MPI_Fint number) const noexcept {
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

  Pool<Object> pool_;
  const std::uint32_t first_;
};

}  // namespace plait::accelerate
