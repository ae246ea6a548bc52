// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "plait/record/modules.hpp"
#include "plait/record/python_lines.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::record {

/// What is known of a return address.
struct CodeAddress {
  const void* address = nullptr;
  trace::NameId site;  ///< Empty if unknown, and for code that only forwards calls.
  /// For code that only forwards calls, as the Fortran bindings of MPI: distance on the stack from this return address
  /// to that of its caller. Else 0.
  std::ptrdiff_t to_next = 0;
  bool is_mpi4py = false;  ///< The code is mpi4py's: the program's place is a line of Python.
};

/// Places in the program: of calls of MPI, and of samples. Each has a number, and a line in RUN/sites-NNNN.tsv: number,
/// module, offset in it, symbol or nothing, the name in the trace, and the number of its caller or nothing. Lines of
/// Python have their file, `:` and line, and function in the place of the first three. Each module has a line in
/// RUN/modules-NNNN.tsv: path, load address, build id.
///
/// Threads: any.
class Sites {
 public:
  /// Borrows the recorder. The first site creates the files; if that fails, sites have numbers only.
  Sites(trace::Recorder& recorder, std::filesystem::path sites, std::filesystem::path modules);
  Sites(const Sites&) = delete;
  Sites& operator=(const Sites&) = delete;

  /// Looks up the return address `*slot` on this thread's stack. Takes a lock, and tens of microseconds the first time,
  /// so callers keep the result.
  [[nodiscard]] CodeAddress look_up(const void* const* slot);
  /// The text of the place of a return address that was looked up: "module+0xOFFSET"; empty: not known.
  [[nodiscard]] std::string text(const void* address) const;

  /// Returns the name of a call path: addresses of instructions, the innermost first; empty if no module has any of
  /// them. Takes a lock, and about 50 ns for each address; tens of microseconds for a new one.
  [[nodiscard]] trace::NameId path(std::span<const std::uintptr_t> addresses);
  /// The same for lines of Python, the innermost first. Takes a lock, and microseconds for each.
  [[nodiscard]] trace::NameId python_path(std::span<const PythonLine> lines);

 private:
  /// A file of lines, created with the first.
  class Lines {
   public:
    explicit Lines(std::filesystem::path path) : path_{std::move(path)} {}
    Lines(const Lines&) = delete;
    Lines& operator=(const Lines&) = delete;
    ~Lines();
    void add(const std::string& line);

   private:
    std::filesystem::path path_;
    int file_ = -1;
  };
  /// A place with its callers.
  struct Called {
    trace::NameId name;
    std::uint64_t hash = 0;  ///< Of the modules and offsets of the whole path.
  };

  /// A place as a line of the file has it.
  struct Described {
    std::string module;
    std::string place;
    std::string function;
    std::string text;
  };

  [[nodiscard]] CodeAddress learn(const void* const* slot);
  /// Numbers a place that is new with this caller.
  [[nodiscard]] Called add_called(Described place, const Called& caller);
  [[nodiscard]] Called called_from(std::uintptr_t address, const Called& caller);
  [[nodiscard]] const CodePlace& place_of(std::uintptr_t address);

  trace::Recorder& recorder_;
  mutable std::mutex mutex_;  ///< Guards all below.
  Lines sites_;
  Lines modules_;
  std::set<std::string> listed_;  ///< Modules.
  std::unordered_map<const void*, CodeAddress> known_;
  std::unordered_map<std::uintptr_t, CodePlace> places_;
  std::map<std::pair<std::uintptr_t, std::uint32_t>, Called> paths_;      ///< By address and the caller's name.
  std::map<std::pair<std::string, std::uint32_t>, Called> python_paths_;  ///< By line and the caller's name.
  std::unordered_map<std::uint32_t, std::string> texts_;                  ///< By number of the name.
};

/// A thread's cache of `Sites`: a few nanoseconds for known sites.
class SiteCache {
 public:
  /// `slot`: the place of the return address of the MPI function. Returns what is known of the program's own.
  [[nodiscard]] const CodeAddress& find(Sites& sites, const void* const* slot) {
    for (int passed_on = 0; passed_on < passed_on_max; ++passed_on) {
      CodeAddress& entry = entries_[(std::bit_cast<std::uintptr_t>(*slot) >> 1U) % entries_.size()];
      if (entry.address != *slot) [[unlikely]] {
        entry = sites.look_up(slot);
      }
      if (entry.to_next == 0) {
        return entry;
      }
      slot += entry.to_next;
    }
    return unknown_;
  }

 private:
  static constexpr int passed_on_max = 6;

  std::array<CodeAddress, 256> entries_{};
  CodeAddress unknown_;
};

}  // namespace plait::record
