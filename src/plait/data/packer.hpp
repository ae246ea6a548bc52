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

/// Writes values one after the other as bytes: what `serialize(Archive&)` functions and accessors are given when data
/// leaves. An archive of cereal's; what is trivially copyable, alone or in a vector, is copied as memory.
///
///     template <class Archive> void serialize(Archive& archive) { archive(mass, positions, name); }
///
/// The bytes are for a machine of the same kind: no byte order is changed. Threads: one at a time.
class Packer : public cereal::OutputArchive<Packer> {
 public:
  /// Appends to `to`, which is borrowed.
  explicit Packer(Bytes& to) : OutputArchive{this}, to_{&to} {}
  /// Fills `place`, which is borrowed. What is too much is not written, only counted.
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

  /// Memory as it is, without its length.
  void bytes(std::span<const std::byte> memory);
  /// Bytes that were to be written so far, with those that were too many.
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

/// Reads what a `Packer` has written, in the same order. The bytes are not trusted: all lengths are
/// compared with what is there. Threads: one at a time.
class Unpacker : public cereal::InputArchive<Unpacker> {
 public:
  /// Borrows `from`.
  explicit Unpacker(std::span<const std::byte> from) : InputArchive{this}, left_{from} {}

  /// Throws: `Error` with `bad_input` when the bytes end before the values do, or cannot be such values.
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
  /// The next `count` bytes, in place. Throws: as above.
  [[nodiscard]] std::span<const std::byte> take(std::size_t count);
  [[nodiscard]] std::size_t left() const noexcept { return left_.size(); }

  /// The number of elements of a container, each of which takes at least `element_bytes`. Throws: as above.
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

// What cereal's containers ask of an archive; found by their arguments.

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
