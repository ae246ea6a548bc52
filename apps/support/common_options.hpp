// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <string>

#include <CLI/CLI.hpp>

#include "plait/version.hpp"

namespace app {

/// Adds the options that every program has: `--version` and `--quiet`. Call it before subcommands are added; these have
/// the options too.
inline void add_common_options(CLI::App& app, const std::string& name) {
  app.set_version_flag("--version", plait::version_line(name));
  app.add_flag_callback(
      "-q,--quiet",
      [] {
        if (std::freopen("/dev/null", "w", stdout) == nullptr) {
          std::perror("--quiet: /dev/null");
        }
      },
      "Print errors only");
  app.fallthrough();
}

}  // namespace app
