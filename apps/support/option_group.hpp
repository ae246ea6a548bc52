// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace app {

/// A group of options in a program's help.
class OptionGroup {
 public:
  OptionGroup(CLI::App& app, std::string name) : app_{app}, name_{std::move(name)} {}

  template <class T>
  CLI::Option* add(const std::string& option, T& value, const std::string& help) {
    return app_.add_option(option, value, help)->group(name_);
  }
  /// As `add`; the help shows the default.
  template <class T>
  CLI::Option* add_with_default(const std::string& option, T& value, const std::string& help) {
    return add(option, value, help)->capture_default_str();
  }
  CLI::Option* add_flag(const std::string& option, bool& value, const std::string& help) {
    return app_.add_flag(option, value, help)->group(name_);
  }

 private:
  CLI::App& app_;
  std::string name_;
};

}  // namespace app
