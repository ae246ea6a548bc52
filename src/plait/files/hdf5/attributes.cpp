// SPDX-License-Identifier: Apache-2.0
#include "plait/files/hdf5/attributes.hpp"

#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace plait::files {
namespace {

[[noreturn]] void fail(const std::string& where, std::string_view key, std::string_view what) {
  throw Error{ErrorCode::bad_input,
              where.empty() ? fmt::format("attribute '{}' {}", key, what)
                            : fmt::format("{} has an attribute '{}' that {}", where, key, what)};
}

/// A number or a list of numbers as a list of `T`; nothing for a text. A file does not distinguish a number from a list
/// of one, and has no type for an empty list.
template <class T>
std::optional<std::vector<T>> numbers(const Attributes::Value& value) {
  const auto converted = []<class Held>(const Held& held) -> std::optional<std::vector<T>> {
    if constexpr (std::is_same_v<Held, std::string>) {
      return std::nullopt;
    } else if constexpr (std::is_arithmetic_v<Held>) {
      return std::vector<T>{static_cast<T>(held)};
    } else {
      return std::vector<T>(held.begin(), held.end());
    }
  };
  return std::visit(converted, value);
}

}  // namespace

const Attributes::Value& Attributes::find(std::string_view key) const {
  const auto found = values_.find(key);
  if (found == values_.end()) {
    throw Error{ErrorCode::bad_input,
                fmt::format("{} has no attribute '{}'", where_.empty() ? "the group" : where_, key)};
  }
  return found->second;
}

double Attributes::real(std::string_view key) const {
  const auto all = numbers<double>(find(key));
  if (!all || all->size() != 1) {
    fail(where_, key, "is not one number");
  }
  return all->front();
}

std::uint64_t Attributes::whole(std::string_view key) const {
  const Value& value = find(key);
  if (const auto* number = std::get_if<std::uint64_t>(&value)) {
    return *number;
  }
  const double number = real(key);
  if (!(number >= 0 && number < 0x1p63) || number != std::floor(number)) {
    fail(where_, key, fmt::format("is {}, where a whole number is wanted", number));
  }
  return static_cast<std::uint64_t>(number);
}

template <class T>
T Attributes::list(std::string_view key) const {
  const Value& value = find(key);
  if constexpr (std::is_same_v<T, std::string>) {
    if (const auto* text = std::get_if<std::string>(&value)) {
      return *text;
    }
    fail(where_, key, "is not a text");
  } else {
    const auto all = numbers<typename T::value_type>(value);
    if (!all) {
      fail(where_, key, "is not a list of numbers");
    }
    return *all;
  }
}
template std::string Attributes::list<std::string>(std::string_view) const;
template std::vector<double> Attributes::list<std::vector<double>>(std::string_view) const;
template std::vector<std::uint64_t> Attributes::list<std::vector<std::uint64_t>>(std::string_view) const;

void Attributes::fail_range(std::string_view key, std::uint64_t number) const {
  fail(where_, key, fmt::format("is {}, which is out of range", number));
}

}  // namespace plait::files
