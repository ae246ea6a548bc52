// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace bench {

/// Median and quartiles of repeated measurements.
struct Spread {
  double median = 0;
  double low = 0;
  double high = 0;
};
[[nodiscard]] Spread spread_of(std::vector<double> values);

/// One line of a benchmark's table, and one entry of its JSON.
struct Row {
  std::string name;
  std::map<std::string, std::string> params;
  Spread value;
  std::string unit;
  std::string peer;  ///< What ran beside it, with version; empty where there is none.
  std::optional<double> peer_value;
  std::string bound;  ///< The physical limit, as measured here; empty where there is none.
  std::optional<double> bound_value;
};

/// What a benchmark is and how it was called. Every benchmark takes `--full`, `--json FILE`, `--describe` and `--help`.
class Report {
 public:
  /// `claim`: what the benchmark shows, in a sentence. Handles `--describe` and `--help`, and ends the program for
  /// them. Ends it with status 2 when an option is unknown.
  Report(std::string name, std::string claim, unsigned ranks, int argc, char** argv);

  [[nodiscard]] bool is_full() const noexcept { return is_full_; }
  void add(Row row) { rows_.push_back(std::move(row)); }
  /// Prints the table, and writes the JSON if asked. On one rank only.
  void finish() const;

 private:
  std::string name_;
  std::string claim_;
  std::string command_;
  std::string json_file_;
  bool is_full_ = false;
  std::vector<Row> rows_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace bench
