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

/// One of several that ran beside a row's subject.
struct Peer {
  std::string name;
  double median = 0;
  double best = 0;
};

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
  std::optional<double> best = {};  ///< The best of all repetitions.
  /// When there were several. `Report::add` makes that with the smallest median the `peer`.
  std::vector<Peer> peers = {};
};

/// What the messages of a benchmark should cross.
enum class Network {
  here,  ///< Whatever joins the ranks of one machine.
  lab,   ///< The links of `bench/lab`. Such a benchmark also takes `--model`, for machines that may have no lab.
};

/// Where a benchmark wants to run. `plait bench` asks for it with `--describe`, and runs it once for each rank count.
struct Place {
  std::vector<unsigned> ranks{1};
  Network network = Network::here;
};

/// What a benchmark is and how it was called. Every benchmark takes `--full`, `--json FILE`, `--describe` and `--help`.
class Report {
 public:
  /// `claim`: what the benchmark shows, in a sentence. Handles `--describe` and `--help`, and ends the program for
  /// them. Ends it with status 2 when an option is unknown.
  Report(std::string name, std::string claim, Place place, int argc, char** argv);
  Report(std::string name, std::string claim, unsigned ranks, int argc, char** argv)
      : Report{std::move(name), std::move(claim), Place{.ranks = {ranks}}, argc, argv} {}

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] bool is_full() const noexcept { return is_full_; }
  /// Whether to measure on the modelled network of `net::Sim` instead: asked for by `--model`, on one rank.
  [[nodiscard]] bool is_model() const noexcept { return is_model_; }
  void add(Row row);
  /// A sentence below the table, once however often it is said: what is missing from it, for example.
  void note(std::string sentence);
  /// Prints the table, and writes the JSON if asked. On one rank only.
  void finish() const;

 private:
  /// Takes the argument at `index` if it knows it; ends the program for `--describe` and `--help`.
  [[nodiscard]] bool takes(int& index, int argc, char** argv, const Place& place);
  [[nodiscard]] std::string usage(const Place& place) const;
  [[nodiscard]] std::string network() const;

  std::string name_;
  std::string claim_;
  std::string command_;
  std::string json_file_;
  bool is_full_ = false;
  bool is_model_ = false;
  std::vector<Row> rows_;
  std::vector<std::string> notes_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace bench
