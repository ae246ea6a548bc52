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

/// What an address that a call returns to is.
struct CodeAddress {
  const void* address = nullptr;
  trace::NameId site;  ///< Names nothing when it is not known, and for what only passes calls on.
  /// Of what only passes calls on, such as the Fortran side of an MPI library: from where this return address is
  /// on the stack to where that of its own caller does. Else 0.
  std::ptrdiff_t to_next = 0;
};

/// Places in the program that MPI is called from, each with a number and a line in RUN/sites-NNNN.tsv.
///
/// Threads: all calls from any.
class Sites {
 public:
  /// Borrows the recorder. The file is made at the first site; when that fails, sites have numbers only.
  Sites(trace::Recorder& recorder, std::filesystem::path file);
  Sites(const Sites&) = delete;
  Sites& operator=(const Sites&) = delete;
  ~Sites();

  /// Of the address that is in `*slot`, a place on this thread's stack. Takes a lock, the first time tens of
  /// microseconds; callers keep the result.
  [[nodiscard]] CodeAddress look_up(const void* const* slot);

 private:
  [[nodiscard]] CodeAddress learn(const void* const* slot);
  [[nodiscard]] trace::NameId name(const std::string& module_path, std::uint64_t offset, const char* symbol);

  trace::Recorder& recorder_;
  std::filesystem::path path_;
  std::mutex mutex_;  ///< Guards all below.
  int file_ = -1;
  std::unordered_map<const void*, CodeAddress> known_;
};

/// What a thread remembers of `Sites`: a few nanoseconds where it calls from the same places again.
class SiteCache {
 public:
  /// `slot`: where the return address of the MPI function is.
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
