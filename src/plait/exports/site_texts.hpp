// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace plait::exports {

/// Where a place is in the source. Line 0: not known.
struct SourceLine {
  std::string file;
  std::uint32_t line = 0;
};

/// Texts for places in the program, by their names of `Role::call_site`. A place without one is written as it is.
struct SiteTexts {
  std::unordered_map<std::string, std::string> labels;
  /// The functions of a call path: its own, that of its caller, and so on.
  std::unordered_map<std::string, std::vector<std::string>> paths;
  std::unordered_map<std::string, SourceLine> sources;

  /// The place in the source; of one without a known file, the place itself.
  [[nodiscard]] SourceLine source_of(const std::string& place) const {
    const auto found = sources.find(place);
    return found == sources.end() ? SourceLine{place, 0} : found->second;
  }
};

}  // namespace plait::exports
