// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <unordered_map>

#include "plait/trace/recorder.hpp"

namespace plait::record {

/// What is known of a return address.
struct CodeAddress {
  const void* address = nullptr;
  trace::NameId site;  ///< Empty if unknown, and for code that only forwards calls.
  /// For code that only forwards calls, as the Fortran bindings of MPI: distance on the stack from this return address
  /// to that of its caller. Else 0.
  std::ptrdiff_t to_next = 0;
};

/// The call sites of MPI in the program, each with a number and a line in RUN/sites-NNNN.tsv.
///
/// Threads: any.
class Sites {
 public:
  /// Borrows the recorder. The first site creates the file; if that fails, sites have numbers only.
  Sites(trace::Recorder& recorder, std::filesystem::path file);
  Sites(const Sites&) = delete;
  Sites& operator=(const Sites&) = delete;
  ~Sites();

  /// Looks up the return address `*slot` on this thread's stack. Takes a lock, and tens of microseconds the first time,
  /// so callers keep the result.
  [[nodiscard]] CodeAddress look_up(const void* const* slot);
  /// The text of the place of a return address that was looked up: "module+0xOFFSET"; empty: not known.
  [[nodiscard]] std::string text(const void* address) const;

 private:
  [[nodiscard]] CodeAddress learn(const void* const* slot);
  [[nodiscard]] trace::NameId name(const std::string& module_path, std::uint64_t offset, const char* symbol);

  trace::Recorder& recorder_;
  std::filesystem::path path_;
  mutable std::mutex mutex_;  ///< Guards all below.
  int file_ = -1;
  std::unordered_map<const void*, CodeAddress> known_;
  std::unordered_map<std::uint32_t, std::string> texts_;  ///< By number of the name.
};

/// A thread's cache of `Sites`: a few nanoseconds for known sites.
class SiteCache {
 public:
  /// `slot`: the place of the return address of the MPI function.
  [[nodiscard]] trace::NameId find(Sites& sites, const void* const* slot) {
    for (int passed_on = 0; passed_on < passed_on_max; ++passed_on) {
      CodeAddress& entry = entries_[(std::bit_cast<std::uintptr_t>(*slot) >> 1U) % entries_.size()];
      if (entry.address != *slot) [[unlikely]] {
        entry = sites.look_up(slot);
      }
      if (entry.to_next == 0) {
        return entry.site;
      }
      slot += entry.to_next;
    }
    return {};
  }

 private:
  static constexpr int passed_on_max = 6;

  std::array<CodeAddress, 256> entries_{};
};

}  // namespace plait::record
