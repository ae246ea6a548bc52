// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace plait::files {

/// The attributes of one group of a file.
class Attributes {
 public:
  using Value = std::variant<double, std::uint64_t, std::string, std::vector<double>, std::vector<std::uint64_t>>;

  Attributes() = default;
  /// `where` names file and group in errors.
  explicit Attributes(std::string where) : where_{std::move(where)} {}

  /// Sets or replaces `key`. Integers and enumerations are stored as unsigned numbers.
  template <class T>
  void set(std::string key, const T& value) {
    if constexpr (std::is_floating_point_v<T>) {
      values_.insert_or_assign(std::move(key), Value{static_cast<double>(value)});
    } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
      values_.insert_or_assign(std::move(key), Value{static_cast<std::uint64_t>(value)});
    } else {
      values_.insert_or_assign(std::move(key), Value{value});
    }
  }
  void set(std::string key, const char* text) { set(std::move(key), std::string{text}); }

  [[nodiscard]] bool contains(std::string_view key) const { return values_.find(key) != values_.end(); }

  /// Gets the value of `key`: a number, enumeration, text or list as for `set`. Throws: `Error` with `bad_input` when
  /// it is missing or does not fit; names file, group and key.
  template <class T>
  void get(std::string_view key, T& value) const {
    if constexpr (std::is_floating_point_v<T>) {
      value = static_cast<T>(real(key));
    } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
      const std::uint64_t number = whole(key);
      value = static_cast<T>(number);
      if (static_cast<std::uint64_t>(value) != number) {
        fail_range(key, number);
      }
    } else {
      value = list<T>(key);
    }
  }
  template <class T>
  [[nodiscard]] T get(std::string_view key) const {
    T value{};
    get(key, value);
    return value;
  }

  [[nodiscard]] const std::map<std::string, Value, std::less<>>& values() const noexcept { return values_; }
  [[nodiscard]] const std::string& where() const noexcept { return where_; }

 private:
  [[nodiscard]] const Value& find(std::string_view key) const;
  [[nodiscard]] double real(std::string_view key) const;
  [[nodiscard]] std::uint64_t whole(std::string_view key) const;
  /// A text or a list. A single number is a list of one.
  template <class T>
  [[nodiscard]] T list(std::string_view key) const;
  [[noreturn]] void fail_range(std::string_view key, std::uint64_t number) const;

  std::string where_;
  std::map<std::string, Value, std::less<>> values_;
};

}  // namespace plait::files
