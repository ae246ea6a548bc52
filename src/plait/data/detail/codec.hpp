// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/base/error.hpp"

namespace plait::data::detail {

/// Numbers, texts and lists one after the other, for ranks of one run; `Decoder` reads them back in the same order.
class Encoder {
 public:
  template <class T>
    requires std::is_trivially_copyable_v<T>
  Encoder& put(const T& value) {
    return raw(std::as_bytes(std::span{&value, 1}));
  }
  Encoder& put(std::string_view text) {
    put(std::uint64_t{text.size()});
    return raw(std::as_bytes(std::span{text}));
  }
  Encoder& put(const std::string& text) { return put(std::string_view{text}); }
  Encoder& put(const Bytes& bytes) {
    put(std::uint64_t{bytes.size()});
    return raw(bytes);
  }
  template <class T>
    requires std::is_trivially_copyable_v<T>
  Encoder& put(const std::vector<T>& values) {
    put(std::uint64_t{values.size()});
    return raw(std::as_bytes(std::span{values}));
  }

  [[nodiscard]] const Bytes& bytes() const noexcept { return bytes_; }

 private:
  Encoder& raw(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }

  Bytes bytes_;
};

/// Throws: `Error` with `bad_input` when more is taken than was put.
class Decoder {
 public:
  explicit Decoder(std::span<const std::byte> bytes) : rest_{bytes} {}

  template <class T>
    requires std::is_trivially_copyable_v<T>
  T number() {
    T value{};
    copy(&value, sizeof value);
    return value;
  }
  std::string text() {
    std::string text(length(1), '\0');
    copy(text.data(), text.size());
    return text;
  }
  Bytes bytes() {
    Bytes bytes(length(1));
    copy(bytes.data(), bytes.size());
    return bytes;
  }
  template <class T>
    requires std::is_trivially_copyable_v<T>
  std::vector<T> list() {
    std::vector<T> values(length(sizeof(T)));
    copy(values.data(), values.size() * sizeof(T));
    return values;
  }
  [[nodiscard]] bool is_empty() const noexcept { return rest_.empty(); }

 private:
  std::size_t length(std::size_t item_bytes) {
    const auto items = number<std::uint64_t>();
    throw_unless(items <= rest_.size() / item_bytes);
    return items;
  }
  void copy(void* to, std::size_t bytes) {
    throw_unless(bytes <= rest_.size());
    if (bytes > 0) {
      std::memcpy(to, rest_.data(), bytes);
    }
    rest_ = rest_.subspan(bytes);
  }
  static void throw_unless(bool is_enough) {
    if (!is_enough) {
      throw Error{ErrorCode::bad_input, "a message between ranks ends too early: do all run the same program?"};
    }
  }

  std::span<const std::byte> rest_;
};

}  // namespace plait::data::detail
