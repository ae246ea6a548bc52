// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include <boost/unordered/unordered_flat_set.hpp>

#include "plait/base/spin_lock.hpp"
#include "plait/record/window.hpp"
#include "plait/trace/event.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::record {

/// What a sum counts: calls or messages with the same key. As in a record of kind 18, up to its count.
struct SumKey {
  std::uint8_t kind = 0;  ///< Written last, when the sum is complete.
  trace::SumOf of = trace::SumOf::calls;
  std::uint16_t worker = 0;
  std::uint32_t function = trace::nothing;
  std::uint32_t site = trace::nothing;
  std::uint32_t peer = trace::nothing;
  std::uint32_t communicator = trace::nothing;
  trace::CallClass what = trace::CallClass::other;
  std::uint8_t size_class = 0;
  trace::Folded folded = trace::Folded::whole;
  std::uint8_t unused = 0;
};

/// What is added to a sum.
struct Addend {
  nanoseconds start{};
  nanoseconds end{};
  std::uint64_t bytes_given = 0;
  std::uint64_t bytes_got = 0;
};

/// The sums of some threads, as records in the trace file: they change there, so the file of a killed process has all
/// that was counted.
///
/// Threads: any, each but rarely waits for another. Cost of `add`: about 20 ns for a known key, half a microsecond for
/// a new one.
class SumTable {
 public:
  /// Borrows both. `chunks_left`: how many chunks the tables of the rank may take beside one each.
  SumTable(trace::Recorder& recorder, std::atomic<int>& chunks_left) : recorder_{recorder}, chunks_left_{chunks_left} {}
  SumTable(const SumTable&) = delete;
  SumTable& operator=(const SumTable&) = delete;

  /// Adds one call or message. When space is scarce, new keys lose peer and communicator; when there is none, all but
  /// the class.
  void add(const SumKey& key, const Addend& addend) noexcept;

 private:
  struct Row;
  struct State;
  struct Hash {
    using is_transparent = void;
    [[nodiscard]] std::size_t operator()(const SumKey& key) const noexcept;
    [[nodiscard]] std::size_t operator()(const Row* row) const noexcept;
  };
  struct Equal {
    using is_transparent = void;
    [[nodiscard]] bool operator()(const Row* one, const Row* other) const noexcept;
    [[nodiscard]] bool operator()(const SumKey& key, const Row* row) const noexcept;
    [[nodiscard]] bool operator()(const Row* row, const SumKey& key) const noexcept { return (*this)(key, row); }
  };

  [[nodiscard]] Row* find(const SumKey& key) noexcept;
  [[nodiscard]] Row* insert(const SumKey& key) noexcept;
  [[nodiscard]] bool has_more_than(std::size_t rows) noexcept;
  [[nodiscard]] std::span<Row> new_chunk() noexcept;

  trace::Recorder& recorder_;
  std::atomic<int>& chunks_left_;
  SpinLock lock_;  ///< Guards all below.
  boost::unordered_flat_set<Row*, Hash, Equal> rows_;
  std::span<Row> free_;   ///< Used in their order, as a chunk ends for readers at the first free row.
  std::span<Row> spare_;  ///< Another chunk, for when these are used.
  bool has_chunk_ = false;
  State* state_ = nullptr;  ///< In the first chunk.
};

/// A profile of this rank: sums for each place, peer and size class in bounded memory, and the windows in which all
/// events are recorded, too.
///
/// Memory: `bytes_max`, and one chunk for each thread of the program after the first. Threads: any.
class Profile {
 public:
  /// Chunks of the trace file while a profile is recorded.
  static constexpr std::uint32_t chunk_bytes = 64 * 1024;
  static constexpr std::size_t bytes_max = std::size_t{2} << 20U;

  /// Borrows the recorder.
  Profile(trace::Recorder& recorder, const std::optional<WindowOptions>& windows);

  /// Counts a call.
  void add_call(std::uint16_t worker, const trace::CallEvent& call) noexcept;
  /// Counts a message that is complete. `posting`: the call that posted it.
  void add_message(std::uint16_t worker, const trace::MessageEvent& message, const trace::CallEvent& posting) noexcept;

  /// Null if there are none.
  [[nodiscard]] Windows* windows() noexcept { return windows_.get(); }

 private:
  /// Threads share tables if they are many, which bounds the memory.
  static constexpr std::size_t table_count = 4;
  /// Beside one for each table. The rest is for names, events of one thread, and the tables' indices.
  static constexpr int chunks_max = 22;

  [[nodiscard]] SumTable& table_of(std::uint16_t worker) noexcept { return *tables_[worker % table_count]; }

  std::atomic<int> chunks_left_ = chunks_max;
  std::array<std::unique_ptr<SumTable>, table_count> tables_;
  std::unique_ptr<Windows> windows_;
};

/// Reads PLAIT_RECORD_PROFILE and PLAIT_RECORD_WINDOW. Nothing if no profile is requested. Throws: `Error` with
/// `bad_argument` for a window that cannot be read.
[[nodiscard]] bool is_profile_wanted();
[[nodiscard]] std::optional<WindowOptions> wanted_windows();

}  // namespace plait::record
