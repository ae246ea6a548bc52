// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/stopwatch.hpp"
#include "support/wanted.hpp"

namespace CLI {
class App;
}

namespace bench {

/// Median and quartiles of repeated measurements. Conversions are implicit, so that rows take measurements directly.
struct Spread {
  Spread() = default;
  Spread(double value) : Spread{value, value, value} {}  // NOLINT(google-explicit-constructor)
  Spread(const std::vector<double>& values);             // NOLINT(google-explicit-constructor)
  Spread(double middle, double low_quartile, double high_quartile)
      : median{middle}, low{low_quartile}, high{high_quartile} {}
  friend Spread operator*(double factor, const Spread& spread) {
    return {factor * spread.median, factor * spread.low, factor * spread.high};
  }

  double median = 0;
  double low = 0;
  double high = 0;
};

/// One of several programs or libraries that a row's subject is compared with.
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
  std::string peer = {};  ///< What the row is compared with, with its version; empty where there is none.
  std::optional<double> peer_value = {};
  std::string bound = {};  ///< The physical limit, as measured in this run; empty where there is none.
  std::optional<double> bound_value = {};
  std::optional<double> best = {};  ///< The best of all repetitions.
  /// Where there are several. `Report::add` makes the one with the smallest median the `peer`.
  std::vector<Peer> peers = {};
  /// Printed beside the row, with whether its median reaches it. `Report::add` resolves a factor of the peer, and omits
  /// it where the row has no peer.
  std::optional<Wanted> wanted = {};
};

/// The network that a benchmark requires.
enum class Network {
  here,  ///< Any that connects the ranks of one machine.
  lab,   ///< The links of `bench/lab`.
};

/// Where a benchmark runs. `plait bench` reads it with `--describe`, and runs the benchmark once for each rank count.
struct Place {
  std::vector<unsigned> ranks{1};
  Network network = Network::here;
  unsigned links = 1;      ///< Of each host of the lab.
  bool has_model = false;  ///< Takes `--model`, for machines without a lab.
};

/// The command line, the table and the JSON of a benchmark. Every benchmark takes `--full`, `--json FILE`,
/// `--describe`, `--version` and `--help`. Runtimes have the default options, unless the user sets PLAIT_STRATEGY.
class Report {
 public:
  /// `claim`: a sentence. `add_options` adds the benchmark's own options, bound to variables of the caller. Exits after
  /// `--describe`, `--version` and `--help`, and with status 2 for a wrong command line, which one rank reports.
  Report(std::string name,
         std::string claim,
         const Place& place,
         int argc,
         char** argv,
         const std::function<void(CLI::App&)>& add_options = {});
  Report(std::string name, std::string claim, unsigned ranks, int argc, char** argv)
      : Report{std::move(name), std::move(claim), Place{.ranks = {ranks}}, argc, argv} {}

  [[nodiscard]] bool is_full() const noexcept { return is_full_; }
  /// Whether `--model` was given: one rank measures on the modelled network of `net/sim/`.
  [[nodiscard]] bool is_model() const noexcept { return is_model_; }
  /// Where the ranks are: "this host", "model", or "lab: " and what the lab is.
  [[nodiscard]] std::string network() const;
  void add(Row row);
  /// Adds a sentence below the table, at most once.
  void note(std::string sentence);
  /// Prints the table, below it which wanted figures were missed, and writes the JSON file, on rank 0.
  void finish() const;

 private:
  void print() const;
  void write_file() const;
  void print_wanted() const;

  std::string name_;
  std::string claim_;
  std::string command_;
  std::string json_file_;
  bool is_full_ = false;
  bool is_model_ = false;
  std::vector<Row> rows_;
  std::vector<std::string> notes_;
  Stopwatch watch_;
};

}  // namespace bench
