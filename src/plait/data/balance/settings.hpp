// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace plait::data::balance {

/// The options of a balancer as on a command line: "tolerance=0.01,sweeps=3".
///
/// A balancer reads the options that it has; `expect_all_asked` refuses the others. All calls throw `Error` with
/// `bad_argument` that names the balancer, the option and what it may be.
class Settings {
 public:
  Settings(std::string_view balancer, std::string_view text);

  /// A finite number of at least `least`; `otherwise` if the option is not given.
  [[nodiscard]] double number(std::string_view option, double otherwise, double least = 0);
  [[nodiscard]] std::uint32_t count(std::string_view option, std::uint32_t otherwise, std::uint32_t least = 0);
  /// The index in `choices`.
  [[nodiscard]] std::size_t choice(std::string_view option,
                                   std::span<const std::string_view> choices,
                                   std::size_t otherwise = 0);
  void expect_all_asked() const;
  [[nodiscard]] const std::string& balancer() const noexcept { return balancer_; }

 private:
  struct Entry {
    std::string text;
    bool is_asked = false;
  };
  template <class Number>
  [[nodiscard]] Number parsed(std::string_view option, Number otherwise, Number least, std::string_view kind);
  [[nodiscard]] const std::string* find(std::string_view option);
  [[noreturn]] void refuse(std::string_view option, const std::string& why) const;

  std::string balancer_;
  std::map<std::string, Entry, std::less<>> entries_;
  std::string known_;
};

}  // namespace plait::data::balance
