// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cereal/types/array.hpp>
#include <cereal/types/common.hpp>
#include <cereal/types/map.hpp>
#include <cereal/types/optional.hpp>
#include <cereal/types/set.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/utility.hpp>
#include <cereal/types/variant.hpp>
#include <cereal/types/vector.hpp>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/data/detail/packable.hpp"

namespace plait::data {

/// Writes values as bytes, one after the other: the argument of `serialize(Archive&)` functions and accessors when data
/// are packed. An archive of cereal that copies trivially copyable types, and vectors of them, as memory.
///
///     template <class Archive> void serialize(Archive& archive) { archive(mass, positions, name); }
///
/// The byte order is that of the machine. Threads: one at a time.
class Packer : public cereal::OutputArchive<Packer> {
 public:
  /// Appends to `to`; borrows it.
  explicit Packer(Bytes& to) : OutputArchive{this}, to_{&to} {}
  /// Fills `place`; borrows it. Bytes beyond its end are counted, but not written.
  explicit Packer(std::span<std::byte> place) : OutputArchive{this}, place_{place} {}

  template <class... Values>
  Packer& operator()(const Values&... values) {
    (write(values), ...);
    return *this;
  }
  template <class Value>
  Packer& operator&(const Value& value) {
    return (*this)(value);
  }
  template <class Value>
  Packer& operator<<(const Value& value) {
    return (*this)(value);
  }

  /// Writes memory without its length.
  void bytes(std::span<const std::byte> memory);
  /// Number of bytes so far, with those that were not written.
  [[nodiscard]] std::size_t count() const noexcept { return count_; }

 private:
  template <class Value>
  void write(const Value& value) {
    if constexpr (detail::passes_through<Value>) {
      OutputArchive::operator()(value);
    } else if constexpr (detail::must_be_packable<Value>()) {
      if constexpr (detail::moves_as_bytes<Value>) {
        bytes(std::as_bytes(std::span{&value, 1}));
      } else if constexpr (detail::is_vector_of_bytes<Value>) {
        write(static_cast<std::uint64_t>(value.size()));
        bytes(std::as_bytes(std::span{value}));
      } else {
        OutputArchive::operator()(value);
      }
    }
  }

  Bytes* to_ = nullptr;
  std::span<std::byte> place_;
  std::size_t count_ = 0;
};

/// Reads the values that a `Packer` has written, in the same order. Checks all lengths: the bytes are not trusted.
/// Threads: one at a time.
class Unpacker : public cereal::InputArchive<Unpacker> {
 public:
  /// Borrows `from`.
  explicit Unpacker(std::span<const std::byte> from) : InputArchive{this}, left_{from} {}

  /// Throws: `Error` with `bad_input` when the bytes are too few, or are not valid values.
  template <class... Values>
  Unpacker& operator()(Values&&... values) {
    (read(values), ...);
    return *this;
  }
  template <class Value>
  Unpacker& operator&(Value&& value) {
    return (*this)(value);
  }
  template <class Value>
  Unpacker& operator>>(Value&& value) {
    return (*this)(value);
  }

  /// Fills `memory`. Throws: as above.
  void bytes(std::span<std::byte> memory);
  /// Returns the next `count` bytes, without a copy. Throws: as above.
  [[nodiscard]] std::span<const std::byte> take(std::size_t count);
  [[nodiscard]] std::size_t left() const noexcept { return left_.size(); }

  /// Reads the number of elements of a container, each of at least `element_bytes`. Throws: as above.
  [[nodiscard]] std::uint64_t length(std::size_t element_bytes);

 private:
  template <class Value>
  void read(Value& value) {
    if constexpr (detail::passes_through<std::remove_const_t<Value>>) {
      InputArchive::operator()(value);
    } else if constexpr (std::same_as<Value, bool>) {
      value = boolean();
    } else if constexpr (detail::must_be_packable<Value>()) {
      if constexpr (detail::moves_as_bytes<Value>) {
        bytes(std::as_writable_bytes(std::span{&value, 1}));
      } else if constexpr (detail::is_vector_of_bytes<Value>) {
        value.resize(length(sizeof(typename Value::value_type)));
        bytes(std::as_writable_bytes(std::span{value}));
      } else {
        InputArchive::operator()(value);
      }
    }
  }
  [[nodiscard]] bool boolean();

  std::span<const std::byte> left_;
};

// Functions that cereal's containers call, by argument-dependent lookup.

template <class Value>
void CEREAL_SAVE_FUNCTION_NAME(Packer& packer, const cereal::BinaryData<Value>& data) {
  packer.bytes({reinterpret_cast<const std::byte*>(data.data), static_cast<std::size_t>(data.size)});
}
template <class Value>
void CEREAL_LOAD_FUNCTION_NAME(Unpacker& unpacker, cereal::BinaryData<Value>& data) {
  unpacker.bytes({reinterpret_cast<std::byte*>(data.data), static_cast<std::size_t>(data.size)});
}
template <class Value>
void CEREAL_SAVE_FUNCTION_NAME(Packer& packer, const cereal::SizeTag<Value>& tag) {
  packer(static_cast<std::uint64_t>(tag.size));
}
template <class Value>
void CEREAL_LOAD_FUNCTION_NAME(Unpacker& unpacker, cereal::SizeTag<Value>& tag) {
  tag.size = unpacker.length(1);
}
template <class Archive, class Value>
  requires std::same_as<Archive, Packer> || std::same_as<Archive, Unpacker>
void CEREAL_SERIALIZE_FUNCTION_NAME(Archive& archive, cereal::NameValuePair<Value>& pair) {
  archive(pair.value);
}

}  // namespace plait::data

CEREAL_SETUP_ARCHIVE_TRAITS(plait::data::Unpacker, plait::data::Packer)
