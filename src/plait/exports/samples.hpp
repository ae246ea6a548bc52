// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plait/exports/names.hpp"
#include "plait/exports/run_files.hpp"
#include "plait/exports/site_texts.hpp"

namespace plait::exports {

/// The tree of all call paths of a run's samples. A node is a function with its callers.
class PathTree {
 public:
  static constexpr std::uint32_t none = 0xffff'ffff;
  struct Node {
    std::uint32_t function = 0;  ///< In `Names`, of `Kind::code`.
    std::uint32_t caller = none;
  };

  /// Borrows both.
  PathTree(const SiteTexts& texts, Names& names) : texts_{texts}, names_{names} {}

  /// The node of a place, by its name in the trace; empty: code that is not known. Nodes come after their callers.
  [[nodiscard]] std::uint32_t node_of(const std::string& place);
  [[nodiscard]] const std::vector<Node>& nodes() const noexcept { return nodes_; }
  /// The functions from the outermost to the node's.
  [[nodiscard]] std::vector<std::uint32_t> functions_to(std::uint32_t node) const;

 private:
  std::uint32_t child(std::uint32_t caller, const std::string& function);

  const SiteTexts& texts_;
  Names& names_;
  std::vector<Node> nodes_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> known_;  ///< By caller and function.
  std::unordered_map<std::string, std::uint32_t> places_;
};

struct PathSample {
  std::uint64_t time = 0;
  std::uint32_t node = 0;         ///< In `PathTree`.
  std::uint64_t interval_ns = 0;  ///< Processor time that it is for.
};

/// A thread that was sampled.
struct SampledThread {
  std::uint32_t worker = 0;         ///< 65535: it has not called MPI.
  std::uint32_t number = 0;         ///< In the order in which threads were found.
  std::vector<PathSample> samples;  ///< By time.

  [[nodiscard]] bool has_worker() const noexcept { return worker != 65535; }
  [[nodiscard]] std::string label() const;
};

/// The sampled threads of a rank, by number. Cost: sorts the samples.
[[nodiscard]] std::vector<SampledThread> sampled_threads(const RankOfRun& rank, PathTree& paths);

/// What a counter of the processor or the kernel counted.
struct Count {
  std::uint32_t worker = 0;
  std::uint32_t name = 0;  ///< In `Names`, of `Kind::count`: "cycles in solve".
  std::uint64_t end = 0;
  double value = 0;
};

/// The counts of a rank, by end.
[[nodiscard]] std::vector<Count> counts_of(const RankOfRun& rank, Names& names);

}  // namespace plait::exports
