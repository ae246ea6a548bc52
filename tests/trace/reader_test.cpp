// SPDX-License-Identifier: Apache-2.0
#include "plait/trace/reader.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/random.hpp"
#include "plait/testing/temporary_folder.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::trace::reader_test {
namespace {

using test::TemporaryFolder;
using Bytes = std::vector<char>;

constexpr std::size_t header_bytes = 4096;
constexpr std::size_t record_bytes = 64;
constexpr std::size_t block_bytes = 4096;
constexpr char checksum_kind = 35;

Bytes load(const std::filesystem::path& file) {
  std::ifstream in{file, std::ios::binary};
  return Bytes(std::istreambuf_iterator<char>(in), {});
}

void store(const std::filesystem::path& file, const Bytes& bytes) {
  std::ofstream{file, std::ios::binary | std::ios::trunc}.write(bytes.data(),
                                                                static_cast<std::streamsize>(bytes.size()));
}

template <class T>
void put(Bytes& bytes, std::size_t offset, T value) {
  std::memcpy(&bytes.at(offset), &value, sizeof value);
}

/// The file without its checksums, as recorders wrote them before: what damage does to single records.
Bytes without_checksums(Bytes bytes) {
  for (std::size_t place = header_bytes; place < bytes.size(); place += record_bytes) {
    if (bytes[place] == checksum_kind) {
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(place), record_bytes, '\0');
    }
  }
  return bytes;
}

/// A file of two threads, with events of every kind.
class Reader : public testing::Test {
 protected:
  static constexpr std::size_t task_count = 80;

  Reader() {
    record(folder_.path(), Rank{0}, 2);
    checked_ = load(file());
    valid_ = without_checksums(checked_);
  }

  static void record(const std::filesystem::path& folder, Rank rank, std::uint32_t rank_count) {
    const SteadyClock clock;
    Recorder recorder{clock, {.folder = folder, .rank = rank, .rank_count = rank_count, .chunk_bytes = 4096}};
    ThreadRecorder& worker = recorder.thread(WorkerId{0}, "worker 0");
    ThreadRecorder& main = recorder.thread(WorkerId{}, "main");
    const NameId drift = recorder.name(Role::task, "drift");
    for (std::uint64_t i = 0; i < task_count; ++i) {
      const nanoseconds time{1000 * i};
      worker.task({.kind = drift, .start = time, .end = time + nanoseconds{9}, .id = i + 1});
    }
    for (std::uint32_t i = 0; i < 5; ++i) {
      const nanoseconds time{i};
      main.message({.peer = Rank{1}, .sequence = i, .tag = Tag{i}, .posted = time});
      main.span({.name = recorder.name(Role::span, "step"), .start = time, .end = time});
      main.poll_gap({.start = time, .end = time});
      main.counter({.name = recorder.name(Role::counter, "bodies"), .time = time, .value = 1});
      main.clock({.time = time, .offset = time, .round_trip = time});
      main.graph_task({.graph = 1, .place = i + 1, .kind = drift, .later = std::array{i + 2}});
      main.graph_run({.graph = 1, .step = i, .start = time, .active = 5});
    }
  }

  [[nodiscard]] std::filesystem::path file() const { return folder_.path() / "rank-0000.plt"; }

  [[nodiscard]] Result<RankTrace> read(const Bytes& bytes) const {
    store(file(), bytes);
    return read_rank_trace(file());
  }

  void expect_refused(const Bytes& bytes, const std::string& why) const {
    const Result<RankTrace> trace = read(bytes);
    ASSERT_FALSE(trace) << why;
    EXPECT_NE(std::string{trace.error().what()}.find("rank-0000.plt: " + why), std::string::npos)
        << trace.error().what();
  }

  /// Place of the first record of `kind`.
  [[nodiscard]] std::size_t find(char kind) const {
    std::size_t place = header_bytes;
    while (valid_.at(place) != kind) {
      place += record_bytes;
    }
    return place;
  }

  TemporaryFolder folder_;
  Bytes checked_;
  Bytes valid_;  ///< Without checksums.
};

TEST_F(Reader, reads_what_was_recorded) {
  Result<RankTrace> trace = read(checked_);
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace.value().tasks.size(), task_count);
  EXPECT_EQ(trace.value().messages.size(), 5U);
  EXPECT_EQ(trace.value().last_event, nanoseconds{1000 * (task_count - 1) + 9});
  EXPECT_TRUE(trace.value().notices.empty());
  EXPECT_EQ(trace.value().threads.size(), 3U);  // with the one that holds the names
}

TEST_F(Reader, refuses_what_is_no_trace) {
  expect_refused({}, "is 0 bytes long");
  expect_refused(Bytes(100), "is 100 bytes long");
  expect_refused(Bytes(5000), "is no plait trace");
  std::filesystem::remove(file());
  EXPECT_FALSE(read_rank_trace(file()));
  EXPECT_FALSE(read_rank_trace(folder_.path()));
}

TEST_F(Reader, refuses_a_header_that_cannot_be) {
  const auto with = [this](std::size_t offset, std::uint32_t value) {
    Bytes bytes = valid_;
    put(bytes, offset, value);
    return bytes;
  };
  expect_refused(with(8, 2), "was made by a newer plait (format 2): update");
  expect_refused(with(8, 0), "is of version 0");
  expect_refused(with(12, 2), "claims to be rank 2 of 2");
  expect_refused(with(16, 0xFFFFFFFF), "claims to be rank 0 of 4294967295");
  expect_refused(with(20, 32), "has records of 32 bytes");
  expect_refused(with(24, 64), "has chunks of 64 bytes");
  expect_refused(with(24, 130), "has chunks of 130 bytes");
  expect_refused(with(36, 0x80000000), "claims to have begun before 1970");
}

TEST_F(Reader, reads_a_file_cut_anywhere) {
  std::size_t tasks = 0;
  for (std::size_t size = header_bytes; size <= valid_.size(); size += 37) {
    Result<RankTrace> trace = read(Bytes(valid_.begin(), valid_.begin() + static_cast<std::ptrdiff_t>(size)));
    ASSERT_TRUE(trace) << size;
    EXPECT_GE(trace.value().tasks.size(), tasks) << "a longer file has no fewer";
    EXPECT_TRUE(trace.value().notices.empty());
    tasks = trace.value().tasks.size();
  }
  EXPECT_EQ(tasks, task_count);
}

TEST_F(Reader, ignores_a_tail_of_zeros) {
  Bytes bytes = valid_;
  bytes.resize(bytes.size() + 3 * 4096);
  EXPECT_EQ(read(bytes).value().tasks.size(), task_count);
}

TEST_F(Reader, counts_records_of_unknown_kind) {
  Bytes bytes = valid_;
  bytes[find(3)] = 77;
  Result<RankTrace> trace = read(bytes);
  EXPECT_EQ(trace.value().tasks.size(), task_count - 1);
  ASSERT_EQ(trace.value().notices.size(), 1U);
  EXPECT_NE(trace.value().notices[0].find("1 records are of kinds that this plait does not know"), std::string::npos);
}

TEST_F(Reader, leaves_out_a_chunk_that_does_not_begin_as_one) {
  Bytes bytes = valid_;
  bytes[header_bytes] = 3;
  Result<RankTrace> trace = read(bytes);
  EXPECT_LT(trace.value().tasks.size(), task_count);
  ASSERT_EQ(trace.value().notices.size(), 1U);
  EXPECT_NE(trace.value().notices[0].find("rank-0000.plt: event 0: a chunk"), std::string::npos);
}

struct BadEvent {
  char kind;
  std::size_t offset;
  std::int64_t value;
  const char* notice;
};

TEST_F(Reader, leaves_out_events_that_cannot_be_true) {
  constexpr auto far = std::numeric_limits<std::int64_t>::min();
  for (const BadEvent& bad : {BadEvent{3, 32, -5, "ends before it starts"},
                              BadEvent{3, 16, far, "an impossible time"},
                              BadEvent{3, 24, far, "an impossible time"},
                              BadEvent{4, 56, -1, "ends before it starts"},
                              BadEvent{4, 24, far, "message of an impossible size"},
                              BadEvent{5, 24, -1, "ends before it starts"},
                              BadEvent{6, 16, -1, "ends before it starts"},
                              BadEvent{7, 8, far, "an impossible time"},
                              BadEvent{7, 16, -1, "counter whose value is not finite"},
                              BadEvent{8, 24, -1, "clock with a negative round trip"},
                              BadEvent{8, 16, far, "an impossible time"}}) {
    Bytes bytes = valid_;
    put(bytes, find(bad.kind) + bad.offset, bad.value);
    Result<RankTrace> trace = read(bytes);
    ASSERT_TRUE(trace);
    ASSERT_EQ(trace.value().notices.size(), 1U) << bad.notice;
    EXPECT_NE(trace.value().notices[0].find(bad.notice), std::string::npos) << trace.value().notices[0];
  }
}

TEST_F(Reader, names_the_unnamed_by_number) {
  EXPECT_EQ(read(valid_).value().name(Role::task, NameId{7}), "#7");
}

TEST_F(Reader, tells_at_most_twenty_troubles_and_counts_the_rest) {
  Bytes bytes = valid_;
  for (std::size_t place = header_bytes; place < bytes.size(); place += record_bytes) {
    if (bytes[place] == 3) {
      put(bytes, place + 32, std::int64_t{-1});
    }
  }
  const RankTrace trace = read(bytes).value();
  ASSERT_EQ(trace.notices.size(), 21U);
  EXPECT_NE(trace.notices.back().find("60 more"), std::string::npos) << trace.notices.back();
}

TEST_F(Reader, survives_files_damaged_at_random) {
  constexpr int run_count = 3000;
  for (int run = 0; run < run_count; ++run) {
    Random random{static_cast<std::uint64_t>(run)};
    Bytes bytes = random.happens(0.5) ? valid_ : checked_;
    for (std::uint64_t i = random.below(20); i-- > 0;) {
      // The header is small, so it is given its own share of the damage.
      const std::size_t place = random.below(random.happens(0.2) ? 64 : bytes.size());
      const std::array<std::uint8_t, 4> interesting = {0, 1, 0x7F, 0xFF};
      bytes[place] = static_cast<char>(random.happens(0.5) ? random.below(256) : interesting[random.below(4)]);
    }
    if (random.happens(0.3)) {
      bytes.resize(random.below(bytes.size() + 1));
    }
    Result<RankTrace> trace = read(bytes);
    if (!trace) {
      EXPECT_NE(std::string{trace.error().what()}, "");
      continue;
    }
    RunTrace whole;
    whole.ranks.push_back(trace.value());
    whole.ranks.push_back(std::move(trace).value());
    EXPECT_GT(whole.clock_line(Rank{1}).to_rank_zero(whole.ranks[1].last_event).count(),
              std::numeric_limits<std::int64_t>::min());
  }
}

TEST_F(Reader, reads_checked_files_cut_anywhere) {
  for (std::size_t size = header_bytes; size <= checked_.size(); size += 37) {
    Result<RankTrace> trace = read(Bytes(checked_.begin(), checked_.begin() + static_cast<std::ptrdiff_t>(size)));
    ASSERT_TRUE(trace) << size;
    EXPECT_TRUE(trace.value().notices.empty()) << trace.value().notices[0];
  }
}

/// Files of one thread, of chunks of four blocks.
class DamagedBlocks : public testing::Test {
 protected:
  static constexpr std::uint64_t task_count = 600;
  static constexpr std::uint64_t in_block = 63;  ///< Records beside the checksum.

  DamagedBlocks() {
    const SteadyClock clock;
    {
      Recorder recorder{clock,
                        {.folder = folder_.path(), .rank = Rank{0}, .rank_count = 1, .chunk_bytes = 4 * block_bytes}};
      ThreadRecorder& thread = recorder.thread(WorkerId{0}, "worker 0");
      for (std::uint64_t i = 0; i < task_count; ++i) {
        thread.task({.object = i * i, .start = nanoseconds{i}, .end = nanoseconds{2 * i}, .id = i + 1});
      }
    }
    valid_ = load(file());
  }

  [[nodiscard]] std::filesystem::path file() const { return folder_.path() / "rank-0000.plt"; }

  [[nodiscard]] RankTrace read(const Bytes& bytes) const {
    store(file(), bytes);
    return read_rank_trace(file()).value();
  }

  /// Of all tasks that were recorded; fails for one that was not.
  static std::size_t count_true(const RankTrace& trace) {
    for (const auto& [thread, task] : trace.tasks) {
      const std::uint64_t i = task.id - 1;
      EXPECT_LT(i, task_count);
      EXPECT_EQ(task.object, i * i);
      EXPECT_EQ(task.start, nanoseconds{i});
      EXPECT_EQ(task.end, nanoseconds{2 * i});
    }
    return trace.tasks.size();
  }

  TemporaryFolder folder_;
  Bytes valid_;
};

TEST_F(DamagedBlocks, are_named_and_the_others_read) {
  Bytes bytes = valid_;
  bytes[header_bytes + block_bytes + 1000] ^= 1;
  const RankTrace trace = read(bytes);
  ASSERT_EQ(trace.notices.size(), 1U);
  EXPECT_NE(trace.notices[0].find("rank-0000.plt: event 64: 4096 bytes are damaged (their checksum differs)"),
            std::string::npos)
      << trace.notices[0];
  EXPECT_EQ(count_true(trace), task_count - in_block);
  EXPECT_EQ(trace.threads.size(), 1U);
}

TEST_F(DamagedBlocks, at_the_begin_of_a_chunk_do_not_lose_the_others) {
  Bytes bytes = valid_;
  std::fill_n(bytes.begin() + header_bytes, 512, '\0');
  const RankTrace trace = read(bytes);
  EXPECT_EQ(trace.notices.size(), 1U);
  EXPECT_EQ(count_true(trace), task_count - (in_block - 1));
}

TEST_F(DamagedBlocks, of_zeros_are_found) {
  Bytes block = valid_;
  std::fill_n(block.begin() + header_bytes + block_bytes, block_bytes, '\0');
  EXPECT_EQ(read(block).notices.size(), 1U);
  EXPECT_EQ(count_true(read(block)), task_count - in_block);
  Bytes chunk = valid_;
  std::fill_n(chunk.begin() + header_bytes, 4 * block_bytes, '\0');
  const RankTrace trace = read(chunk);
  ASSERT_EQ(trace.notices.size(), 1U);
  EXPECT_NE(trace.notices[0].find("1 chunk(s) have zeros only"), std::string::npos) << trace.notices[0];
  EXPECT_EQ(count_true(trace), task_count - (4 * in_block - 1));
}

TEST_F(DamagedBlocks, of_records_in_another_order_are_found) {
  Bytes bytes = valid_;
  const auto record = bytes.begin() + header_bytes + 3 * record_bytes;
  std::swap_ranges(record, record + record_bytes, record + record_bytes);
  EXPECT_EQ(read(bytes).notices.size(), 1U);
}

TEST_F(DamagedBlocks, lose_no_event_unnoticed_and_give_no_wrong_one) {
  const std::size_t used = header_bytes + (task_count + 10) * record_bytes;
  ASSERT_LT(used, valid_.size());
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Random random{seed};
    const std::size_t place = header_bytes + random.below(used - header_bytes);
    const std::size_t length = std::min(std::size_t{1} << random.below(13), used - place);
    Bytes bytes = valid_;
    for (std::size_t i = place; i < place + length; ++i) {
      bytes[i] = static_cast<char>(length == 1 ? bytes[i] ^ (1 << random.below(8)) : random.below(256));
    }
    const RankTrace trace = read(bytes);
    EXPECT_TRUE(count_true(trace) == task_count || !trace.notices.empty()) << seed;
    EXPECT_GE(trace.tasks.size() + 3 * in_block, task_count) << seed;
    ASSERT_FALSE(HasFailure()) << seed;
  }
}

TEST_F(Reader, reads_a_run_of_two_ranks) {
  record(folder_.path(), Rank{1}, 2);
  Result<RunTrace> run = read_run(folder_.path());
  ASSERT_TRUE(run) << run.error().what();
  EXPECT_EQ(run.value().ranks.size(), 2U);
  EXPECT_EQ(run.value().clock_line(Rank{0}).offset, nanoseconds{0});
}

TEST_F(Reader, refuses_a_run_whose_files_do_not_fit) {
  Result<RunTrace> run = read_run(folder_.path());
  ASSERT_FALSE(run) << "rank 1 is missing";
  EXPECT_NE(std::string{run.error().what()}.find("rank-0001.plt"), std::string::npos);
  record(folder_.path(), Rank{1}, 3);
  EXPECT_FALSE(read_run(folder_.path())) << "rank 1 is of a run of three";
}

}  // namespace
}  // namespace plait::trace::reader_test
