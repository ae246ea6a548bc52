// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

namespace plait::exports {

/// Texts for places in the program, by their names of `Role::call_site`. A place without one is written as it is.
struct SiteTexts {
  std::unordered_map<std::string, std::string> labels;
  /// The functions of a call path: its own, that of its caller, and so on.
  std::unordered_map<std::string, std::vector<std::string>> paths;
};

}  // namespace plait::exports
