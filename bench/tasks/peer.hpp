// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

#include "tasks/patterns.hpp"

namespace tasks {

/// The program of another library (see `serve`) as a child process. It is stopped outside its turns, so that its
/// threads disturb no other measurement. The destructor ends it.
class Peer {
 public:
  struct Case {
    Pattern pattern = Pattern::independent;
    Way way = Way::either;
    std::string means;
  };

  /// Throws: `std::runtime_error` when it cannot be started or does not report its name.
  Peer(const std::filesystem::path& program, unsigned threads);
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer();

  [[nodiscard]] const std::string& library() const noexcept { return library_; }
  [[nodiscard]] const std::vector<Case>& cases() const noexcept { return cases_; }

  /// Nanoseconds a task, of some runs of the case with this number. Throws: `std::runtime_error` when the program has
  /// failed; it prints the reason to stderr.
  [[nodiscard]] std::vector<double> turn(std::size_t index);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  using File = std::unique_ptr<std::FILE, Close>;

  void read_cases();
  [[nodiscard]] std::string read_line();
  void stop() const;

  std::string name_;
  pid_t process_ = -1;
  File to_;
  File from_;
  std::string library_;
  std::vector<Case> cases_;
};

}  // namespace tasks
