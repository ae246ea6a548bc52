// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "support/report.hpp"

namespace bench {

/// Half round trips of one side in microseconds, a block for each turn.
struct RoundTrips {
  std::vector<std::vector<double>> blocks;

  /// The quantile of each block.
  [[nodiscard]] std::vector<double> quantiles(double part) const {
    std::vector<double> values;
    for (const std::vector<double>& block : blocks) {
      values.push_back(quantile(block, part));
    }
    return values;
  }
  [[nodiscard]] std::size_t count() const {
    std::size_t sum = 0;
    for (const std::vector<double>& block : blocks) {
      sum += block.size();
    }
    return sum;
  }
};

/// Adds the median, the 99th percentile and the longest, with the number of round trips of either side. `wanted`: of
/// the 99th percentile.
inline void add_quantiles(Report& report,
                          std::map<std::string, std::string> params,
                          const RoundTrips& ours,
                          const RoundTrips& raw,
                          const std::optional<Wanted>& wanted = {}) {
  params["round trips"] = std::to_string(ours.count());
  const std::string peer = fmt::format("raw MPI, {} round trips", raw.count());
  for (const auto& [name, part] : {std::pair{"p50", 0.5}, std::pair{"p99", 0.99}, std::pair{"longest", 1.0}}) {
    report.add({.name = name,
                .params = params,
                .value = ours.quantiles(part),
                .unit = "us",
                .peer = peer,
                .peer_value = median(raw.quantiles(part)),
                .wanted = part == 0.99 ? wanted : std::nullopt});
  }
}

}  // namespace bench
