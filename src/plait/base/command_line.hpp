// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

namespace plait {

/// Has `app`, a CLI::App, read the command line of a program. Returns the status with which the program ends now: 0
/// after
/// `--help` or `--version`, 2 where an option is wrong, as the plait command does; what is printed is the parser's.
/// Nothing when the program goes on. `ParseError`: CLI::ParseError, which this header does not know because programs
/// alone use it.
template <class ParseError, class App>
[[nodiscard]] std::optional<int> end_after_parsing(App& app, int argc, const char* const* argv) {
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
}

}  // namespace plait
