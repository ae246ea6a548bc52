// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bench {

/// Subjects that are measured in turns, so that what disturbs the machine for a while disturbs all of them.
class Turns {
 public:
  /// `measure` runs the subject once and returns the result.
  void add(std::string name, std::function<double()> measure) {
    subjects_.push_back({std::move(name), std::move(measure), {}});
  }
  /// Measures each once to warm up, then `count` times.
  void run(int count) {
    for (int turn = 0; turn <= count; ++turn) {
      for (Subject& subject : subjects_) {
        const double value = subject.measure();
        if (turn > 0) {
          subject.values.push_back(value);
        }
      }
    }
  }
  /// Expects: there is one of that name.
  [[nodiscard]] const std::vector<double>& operator[](std::string_view name) const {
    for (const Subject& subject : subjects_) {
      if (subject.name == name) {
        return subject.values;
      }
    }
    std::abort();
  }

 private:
  struct Subject {
    std::string name;
    std::function<double()> measure;
    std::vector<double> values;
  };
  std::vector<Subject> subjects_;
};

}  // namespace bench
