// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// Subjects that are measured in turns, so that a temporary disturbance of the machine affects all of them.
class Turns {
 public:
  /// `measure` runs the subject once and returns the result.
  void add(std::string name, std::function<double()> measure) {
    subjects_.emplace_back(std::move(name), std::move(measure));
  }
  /// Measures each once to warm up, then `count` times.
  void run(int count) {
    for (int turn = 0; turn <= count; ++turn) {
      for (const auto& [name, measure] : subjects_) {
        const double value = measure();
        if (turn > 0) {
          values_[name].push_back(value);
        }
      }
    }
  }
  /// Expects: there is a subject of that name, which has been measured.
  [[nodiscard]] const std::vector<double>& operator[](const std::string& name) const { return values_.at(name); }

 private:
  std::vector<std::pair<std::string, std::function<double()>>> subjects_;
  std::map<std::string, std::vector<double>> values_;
};

}  // namespace bench
