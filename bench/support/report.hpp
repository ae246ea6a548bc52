// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
}

namespace bench {

/// Median and quartiles of repeated measurements; implicit, so that rows take measurements as they are.
struct Spread {
  Spread() = default;
  Spread(double value) : Spread{value, value, value} {}  // NOLINT(google-explicit-constructor)
  Spread(std::vector<double> values);                    // NOLINT(google-explicit-constructor)
  Spread(double middle, double low_quartile, double high_quartile)
      : median{middle}, low{low_quartile}, high{high_quartile} {}
  friend Spread operator*(double factor, const Spread& spread) {
    return {factor * spread.median, factor * spread.low, factor * spread.high};
  }

  double median = 0;
  double low = 0;
  double high = 0;
};

/// One of several that ran beside a row's subject.
struct Peer {
  std::string name;
  double median = 0;
  double best = 0;
};

/// One line of a benchmark's table, and one entry of its JSON.
struct Row {
  std::string name;
  std::map<std::string, std::string> params = {};
  Spread value = {};
  std::string unit = {};
  std::string peer = {};  ///< What ran beside it, with version; empty where there is none.
  std::optional<double> peer_value = {};
  std::string bound = {};  ///< The physical limit, as measured here; empty where there is none.
  std::optional<double> bound_value = {};
  std::optional<double> best = {};  ///< The best of all repetitions.
  /// When there were several. `Report::add` takes that with the smallest median as the `peer`.
  std::vector<Peer> peers = {};
};

/// The network that a benchmark wants.
enum class Network {
  here,  ///< Any that connects the ranks of one machine.
  lab,   ///< The links of `bench/lab`. Such a benchmark also takes `--model`, for machines that may have no lab.
};

/// Where a benchmark wants to run. `plait bench` gets it with `--describe`, and runs it once for each rank count.
struct Place {
  std::vector<unsigned> ranks{1};
  Network network = Network::here;
};

/// What a benchmark is and how it was called. Every benchmark takes `--full`, `--json FILE`, `--describe`, `--version`
/// and `--help`.
class Report {
 public:
  /// `claim`: what the benchmark shows, in a sentence. `add_options`: adds the benchmark's own options, whose values
  /// must outlive the call. Ends the program after `--describe`, `--version` and `--help`, and with status 2 for a
  /// wrong command line; one rank prints.
  Report(std::string name,
         std::string claim,
         const Place& place,
         int argc,
         char** argv,
         const std::function<void(CLI::App&)>& add_options = {});
  Report(std::string name, std::string claim, unsigned ranks, int argc, char** argv)
      : Report{std::move(name), std::move(claim), Place{.ranks = {ranks}}, argc, argv} {}

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] bool is_full() const noexcept { return is_full_; }
  /// Whether to measure on the modelled network of `net::Sim` instead: requested by `--model`, on one rank.
  [[nodiscard]] bool is_model() const noexcept { return is_model_; }
  void add(Row row);
  /// Adds a sentence below the table, at most once: what is missing from it, for example.
  void note(std::string sentence);
  /// On rank 0: prints the table, and writes the file. Nothing on others.
  void finish() const;
  /// On rank 0: writes the JSON if it is requested; for benchmarks that have printed their own tables.
  void write_file() const;

 private:
  void print() const;
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
