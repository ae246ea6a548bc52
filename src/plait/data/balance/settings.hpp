// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace plait::data::balance {

/// The options of a balancer as the user wrote them: "tolerance=0.01,seed=3".
///
/// An option that is read exists; `expect_all_asked` refuses the others.
/// Throws, every call: `Error` with `bad_argument` that names the balancer, the option and what it may be.
class Settings {
 public:
  /// Either may be empty.
  Settings(std::string_view balancer, std::string_view text);

  /// A number of at least `least`.
  [[nodiscard]] double number(std::string_view option, double otherwise, double least = 0);
  [[nodiscard]] std::uint32_t count(std::string_view option, std::uint32_t otherwise, std::uint32_t least = 0);
  /// One of `choices`, by its place there.
  [[nodiscard]] std::size_t choice(std::string_view option,
                                   std::span<const std::string_view> choices,
                                   std::size_t otherwise = 0);
  void expect_all_asked() const;

 private:
  struct Entry {
    std::string text;
    bool is_asked = false;
  };
  [[nodiscard]] const std::string* find(std::string_view option);
  [[noreturn]] void refuse(std::string_view option, const std::string& why) const;

  std::string balancer_;
  std::map<std::string, Entry, std::less<>> entries_;
  std::string known_;
};

}  // namespace plait::data::balance
