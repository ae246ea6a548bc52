// SPDX-License-Identifier: Apache-2.0
// Half the round trip of a message between two ranks, by raw MPI and by plait on each of its drivers, which alternate
// in one run; as messages, and as puts into exposed memory whose arrival the target waits for.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <mpi.h>

#include "plait/plait.hpp"

#include "support/link_meter.hpp"
#include "support/report.hpp"
#include "support/sides.hpp"
#include "support/stopwatch.hpp"

namespace {

using Bytes = plait::Bytes;
using Buffer = std::span<std::byte>;

constexpr std::size_t mebi = std::size_t{1} << 20U;
constexpr std::size_t small_bytes = 8;
constexpr double over_raw_max_us = 0.1;  ///< Wanted of the mpi driver, for small messages.

/// Puts into memory that the peer exposes, with the calls of `Plait`. Collective to construct.
class Puts {
 public:
  Puts(plait::Runtime& runtime, Buffer buffer)
      : messages_{runtime.messages()}, memory_{messages_, buffer}, mine_{memory_.key()} {
    const plait::Address peer{plait::Rank{1 - messages_.self().value()}, plait::Tag{2}};
    plait::Request request = messages_.receive(peer, std::as_writable_bytes(std::span{&peers_, 1}));
    messages_.send(peer, std::as_bytes(std::span{&mine_, 1})).wait();
    request.wait();
  }
  Puts(const Puts&) = delete;
  Puts& operator=(const Puts&) = delete;
  /// Collective: the peer withdraws its memory when the last put has arrived there.
  ~Puts() { plait::barrier(messages_); }

  [[nodiscard]] int rank() const { return static_cast<int>(messages_.self().value()); }
  void blocking_send(int /*to*/, int /*tag*/, std::span<const std::byte> data) const {
    plait::put(messages_, peers_, 0, data).wait();
  }
  void blocking_receive(int /*from*/, int /*tag*/, Buffer /*buffer*/) const { memory_.wait(++count_); }

 private:
  plait::comm::Endpoint& messages_;
  mutable plait::ExposedMemory memory_;
  const plait::MemoryKey mine_;
  plait::MemoryKey peers_;
  mutable std::uint64_t count_ = 0;
};

/// MPI_Put with a flush, then a counter in the same way, which the target polls. Collective to construct.
class MpiPuts {
 public:
  explicit MpiPuts(std::size_t bytes) : bytes_{static_cast<MPI_Aint>((bytes + line - 1) / line * line)} {
    MPI_Win_allocate(bytes_ + static_cast<MPI_Aint>(line), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory_, &window_);
    MPI_Win_lock_all(0, window_);
    std::memset(memory_, 0, static_cast<std::size_t>(bytes_) + line);
    MPI_Win_sync(window_);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MpiPuts(const MpiPuts&) = delete;
  MpiPuts& operator=(const MpiPuts&) = delete;
  ~MpiPuts() {
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
  }

  [[nodiscard]] static int rank() { return bench::RawMpi::rank(); }
  void blocking_send(int to, int /*tag*/, std::span<const std::byte> data) const {
    put(to, 0, data);
    ++sent_;
    put(to, bytes_, std::as_bytes(std::span{&sent_, 1}));
  }
  void blocking_receive(int /*from*/, int /*tag*/, Buffer /*buffer*/) const {
    const std::atomic_ref count{*reinterpret_cast<std::uint64_t*>(memory_ + bytes_)};
    for (++received_; count.load() < received_;) {
      MPI_Win_sync(window_);
      int flag = 0;
      MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);  // progress
    }
  }

 private:
  static constexpr std::size_t line = 64;

  void put(int to, MPI_Aint offset, std::span<const std::byte> data) const {
    const int count = static_cast<int>(data.size());
    MPI_Put(data.data(), count, MPI_BYTE, to, offset, count, MPI_BYTE, window_);
    MPI_Win_flush(to, window_);
  }

  const MPI_Aint bytes_;
  std::byte* memory_ = nullptr;
  MPI_Win window_ = MPI_WIN_NULL;
  mutable std::uint64_t sent_ = 0;
  mutable std::uint64_t received_ = 0;
};

/// One way of exchanging messages, and its times.
struct Way {
  std::string name;
  std::shared_ptr<plait::Runtime> runtime;  ///< None for raw MPI.
  bool is_put = false;
  std::vector<double> all_us;      ///< Half of each round trip.
  std::vector<double> medians_us;  ///< Of each block: means would include the work of other programs.
  bench::Crossing crossing;        ///< Of the current size; nothing outside a lab.
};

template <class Side>
void round_trip(const Side& side, Buffer buffer) {
  const int peer = 1 - side.rank();
  if (peer == 1) {
    side.blocking_send(peer, 1, buffer);
    side.blocking_receive(peer, 1, buffer);
  } else {
    side.blocking_receive(peer, 1, buffer);
    side.blocking_send(peer, 1, buffer);
  }
}

/// Microseconds of `count` half round trips, each timed; they include one clock reading.
template <class Side>
std::vector<double> half_round_trips(const Side& side, Buffer buffer, int count) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> all_us;
  MPI_Barrier(MPI_COMM_WORLD);
  Clock::time_point before = Clock::now();
  for (int i = 0; i < count; ++i) {
    round_trip(side, buffer);
    const Clock::time_point now = Clock::now();
    all_us.push_back(std::chrono::duration<double, std::micro>(now - before).count() / 2);
    before = now;
  }
  return all_us;
}

/// Half round trips by `way`, which begins anew: memory is exposed before, and withdrawn after.
std::vector<double> half_round_trips_by(const Way& way, Buffer buffer, int count) {
  if (way.runtime && way.is_put) {
    return half_round_trips(Puts{*way.runtime, buffer}, buffer, count);
  }
  if (way.runtime) {
    return half_round_trips(bench::Plait{*way.runtime}, buffer, count);
  }
  return way.is_put ? half_round_trips(MpiPuts{buffer.size()}, buffer, count)
                    : half_round_trips(bench::RawMpi{}, buffer, count);
}

constexpr std::size_t raw_messages = 0;
constexpr std::size_t raw_puts = 1;  ///< Puts are compared with both.

/// Raw MPI, then plait on each available driver.
std::vector<Way> all_ways() {
  std::vector<Way> ways(2);
  ways[raw_messages].name = "raw MPI";
  ways[raw_puts] = {.name = "MPI_Put, flush", .is_put = true};
  for (const char* const network : {"mpi", "shm", "ofi"}) {
    plait::Options options = plait::Options::from_environment();
    options.network.network = network;
    options.trace_folder.clear();
    options.progression.mode = plait::comm::ProgressionMode::none;  // the thread that waits polls
    try {
      const auto runtime = std::make_shared<plait::Runtime>(MPI_COMM_WORLD, options);
      ways.push_back({.name = network, .runtime = runtime});
      ways.push_back({.name = std::string{network} + ", put", .runtime = runtime, .is_put = true});
    } catch (const plait::Error& error) {
      if (bench::RawMpi::rank() == 0) {
        std::fprintf(stderr, "without %s: %s\n", network, error.what());
      }
    }
  }
  return ways;
}

void measure(std::vector<Way>& ways, std::size_t size, int blocks) {
  Bytes buffer(size);
  const int count = size <= 8192 ? 1000 : static_cast<int>(std::clamp<std::size_t>(16 * mebi / size, 2, 200));
  bench::LinkMeter links;
  for (int block = 0; block < blocks + 1; ++block) {
    for (Way& way : ways) {
      if (block == 1) {  // the first warms up
        way.medians_us.clear();
        way.all_us.clear();
        way.crossing = {};
      }
      links.start();
      std::vector<double> block_us = half_round_trips_by(way, buffer, count);
      links.stop(2.0 * count * static_cast<double>(size), way.crossing);
      way.all_us.insert(way.all_us.end(), block_us.begin(), block_us.end());
      way.medians_us.push_back(bench::median(std::move(block_us)));
    }
  }
}

/// A put is wanted to cost no more than a message of its driver. A small message is wanted to cost no more than raw
/// MPI's over shared memory, and hardly more through MPI.
std::optional<bench::Wanted> wanted_of(const Way& way, const std::vector<Way>& ways, std::size_t size) {
  if (way.runtime && way.is_put) {
    const auto message =
        std::ranges::find_if(ways, [&](const Way& of) { return of.runtime == way.runtime && !of.is_put; });
    return bench::at_most(bench::median(message->all_us), "a message");
  }
  if (size == small_bytes && way.name == "shm") {
    return bench::at_most_of_peer(1);
  }
  if (size == small_bytes && way.name == "mpi") {
    return bench::at_most(bench::median(ways[raw_messages].all_us) + over_raw_max_us,
                          fmt::format("raw MPI + {} us", over_raw_max_us));
  }
  return std::nullopt;
}

void report_on(bench::Report& report, std::vector<Way>& ways, std::size_t size) {
  const auto add = [&](const Way& way,
                       const char* name,
                       const bench::Spread& value,
                       auto time_of,
                       const std::optional<bench::Wanted>& wanted) {
    bench::Row row{.name = name, .params = {{"bytes", std::to_string(size)}, {"way", way.name}}, .value = value};
    row.unit = "us";
    row.wanted = wanted;
    if (way.is_put) {
      for (const Way& peer : std::span{ways}.first(2)) {
        row.peers.push_back({peer.name, time_of(peer), std::ranges::min(peer.all_us)});
      }
    } else {
      row.peer = ways[raw_messages].name;
      row.peer_value = time_of(ways[raw_messages]);
    }
    report.add(std::move(row));
  };
  for (Way& way : ways) {
    if (!way.crossing.is_whole()) {
      report.note(way.crossing.why_left_out(way.name, size));
      continue;
    }
    const auto median_of = [](const Way& of) { return bench::median(of.all_us); };
    add(way, "half round trip", way.all_us, median_of, wanted_of(way, ways, size));
    const auto p99_of = [](const Way& of) { return bench::quantile(of.all_us, 0.99); };
    add(way, "99th percentile", p99_of(way), p99_of, {});
    if (way.runtime) {
      std::vector<double> over;
      for (std::size_t block = 0; block < way.medians_us.size(); ++block) {
        over.push_back(way.medians_us[block] - ways[raw_messages].medians_us[block]);
      }
      report.add({"over raw MPI", {{"bytes", std::to_string(size)}, {"way", way.name}}, over, "us"});
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report{
      "pingpong",
      "on shared memory a short message costs no more than raw MPI's and a long one has its bandwidth; "
      "over MPI 8 bytes cost at most raw MPI + 0.1 us; a put that its target waits for costs no more than a message",
      2,
      argc,
      argv};
  bench::choose_window_components();
  plait::MpiSession session{argc, argv};
  bench::rank_of(2, 2);
  std::vector<Way> ways = all_ways();
  std::vector<std::size_t> sizes{small_bytes, 1024, 65536, mebi, 4 * mebi};
  if (report.is_full()) {
    sizes.clear();
    for (std::size_t size = 1; size <= 64 * mebi; size *= 2) {
      sizes.push_back(size);
    }
  }
  for (const std::size_t size : sizes) {
    measure(ways, size, report.is_full() ? 31 : 15);
    report_on(report, ways, size);
  }
  report.finish();
}
