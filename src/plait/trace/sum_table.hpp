// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <boost/unordered/unordered_flat_set.hpp>

#include "plait/base/spin_lock.hpp"
#include "plait/trace/event.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::trace {

/// What a sum counts: events with the same key. As in records of kinds 18 and 26, up to their count.
struct SumKey {
  std::uint8_t kind = 0;  ///< Written last, when the sum is complete.
  std::uint8_t of = 0;    ///< A `SumOf`, or an `EngineSumOf`.
  std::uint16_t worker = 0;
  std::uint32_t name = nothing;   ///< A function, or a task kind.
  std::uint32_t place = nothing;  ///< A call site, or a region.
  std::uint32_t peer = nothing;
  std::uint32_t communicator = nothing;
  std::uint8_t what = 0;  ///< The class of calls, or the role of tasks.
  std::uint8_t size_class = 0;
  Folded folded = Folded::whole;
  std::uint8_t protocol = 0;  ///< Of messages of plait's engine.
};

/// What is added to a sum.
struct Addend {
  nanoseconds start{};
  nanoseconds end{};
  std::uint64_t bytes_given = 0;
  std::uint64_t bytes_got = 0;
};

/// The size class of calls and messages: 0 for no bytes, n for 2^(n-1) to 2^n - 1.
[[nodiscard]] std::uint8_t size_class_of(std::uint64_t bytes) noexcept;

/// Which records a table writes: sums of calls and MPI messages, or of what plait's engine does.
enum class SumsOf : std::uint8_t { calls, engine };

/// The sums of some threads, as records in the trace file: they change there, so the file of a killed process has all
/// that was counted.
///
/// Threads: any, each but rarely waits for another. Cost of `add`: about 20 ns for a known key, half a microsecond for
/// a new one.
class SumTable {
 public:
  /// Chunks of the trace file while a profile is recorded.
  static constexpr std::uint32_t chunk_bytes = 64 * 1024;

  /// Borrows the recorder, whose chunks have `chunk_bytes`, and `chunks_left`: how many chunks the tables of the rank
  /// may take beside one each.
  SumTable(Recorder& recorder, SumsOf of, std::atomic<int>& chunks_left)
      : recorder_{recorder}, of_{of}, chunks_left_{chunks_left} {}
  SumTable(const SumTable&) = delete;
  SumTable& operator=(const SumTable&) = delete;

  /// Adds one event. When space is scarce, new keys lose peer and communicator; when there is none, all but
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

  Recorder& recorder_;
  const SumsOf of_;
  std::atomic<int>& chunks_left_;
  SpinLock lock_;  ///< Guards all below.
  boost::unordered_flat_set<Row*, Hash, Equal> rows_;
  std::span<Row> free_;   ///< Used in their order, as a chunk ends for readers at the first free row.
  std::span<Row> spare_;  ///< Another chunk, for when these are used.
  bool has_chunk_ = false;
  State* state_ = nullptr;  ///< In the first chunk.
};

/// The tables of a rank: of each four threads one, as many threads share them, which bounds the memory.
class SumTables {
 public:
  /// Memory and disk that the tables take at most, with their indices, names and the first events of one thread.
  static constexpr std::size_t bytes_max = std::size_t{2} << 20U;

  /// Borrows the recorder.
  SumTables(Recorder& recorder, SumsOf of);

  /// Adds an event to the table of the key's worker.
  void add(const SumKey& key, const Addend& addend) noexcept { tables_[key.worker % table_count]->add(key, addend); }

 private:
  static constexpr std::size_t table_count = 4;
  /// Beside one for each table.
  static constexpr int chunks_max = 22;

  std::atomic<int> chunks_left_ = chunks_max;
  std::array<std::unique_ptr<SumTable>, table_count> tables_;
};

}  // namespace plait::trace
