// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "plait/trace/reader.hpp"

namespace plait::exports {

/// What the bars and counters of a run are called, numbered from 0 over all ranks in the order in which they turn up.
class Names {
 public:
  /// What a name is for: `trace::Role`, or one of the fixed texts below.
  enum class Kind : std::uint8_t { task, span, counter, function, call_site, poll_gap, send, receive, code, count };
  struct Name {
    Kind kind = Kind::task;
    std::string text;
    trace::CallClass call{};  ///< Of a function: what the first of its calls does.
  };

  /// The number of a text.
  std::uint32_t number(Kind kind, const std::string& text);
  [[nodiscard]] const Name& operator[](std::uint32_t number) const { return names_[number]; }
  void note_class(std::uint32_t function, trace::CallClass call) { names_[function].call = call; }
  [[nodiscard]] std::size_t size() const noexcept { return names_.size(); }

 private:
  std::vector<Name> names_;
  std::array<std::unordered_map<std::string, std::uint32_t>, 10> numbers_;
};

/// Numbers in `Names` of one rank's names of one role. Each text is found once.
class NamesOfRank {
 public:
  NamesOfRank(const trace::RankTrace& trace, trace::Role role, Names& names)
      : trace_{trace}, role_{role}, names_{names} {}

  [[nodiscard]] std::uint32_t operator()(trace::NameId id);

 private:
  const trace::RankTrace& trace_;
  trace::Role role_;
  Names& names_;
  std::unordered_map<std::uint32_t, std::uint32_t> known_;
  trace::NameId last_;  ///< Most names follow themselves.
  std::uint32_t last_number_ = 0;
};

}  // namespace plait::exports
