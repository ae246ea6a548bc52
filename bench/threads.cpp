// SPDX-License-Identifier: Apache-2.0
// Half the round trip of 1 byte when many threads wait for messages: one thread that calls N threads of the other rank
// in turn, and N threads that each talk with one of N others at the same time.
#include <latch>
#include <numeric>
#include <thread>

#include <fmt/format.h>

#include "support/compare.hpp"
#include "support/report.hpp"
#include "support/stopwatch.hpp"

namespace {

constexpr std::byte more{0};
constexpr std::byte last{1};

/// How long a block may take, and when it is enough.
struct Bounds {
  double seconds = 0.3;
  int round_trips = 0;  ///< Of all threads together.
};

/// What one block has measured; empty but on rank 0.
struct Block {
  std::vector<double> microseconds;  ///< Half round trips.
  double seconds = 0;                ///< Of the whole block.
};

struct Samples {
  std::vector<Block> blocks;

  [[nodiscard]] bench::Spread quantiles(double part) const {
    std::vector<double> values;
    for (const Block& block : blocks) {
      values.push_back(bench::quantile(block.microseconds, part));
    }
    return values;
  }
  /// Microseconds a message, of all threads together.
  [[nodiscard]] bench::Spread a_message() const {
    std::vector<double> values;
    for (const Block& block : blocks) {
      values.push_back(block.seconds * 1e6 / (2.0 * static_cast<double>(block.microseconds.size())));
    }
    return values;
  }
  [[nodiscard]] std::size_t round_trips() const {
    return std::accumulate(blocks.begin(), blocks.end(), std::size_t{0}, [](std::size_t sum, const Block& block) {
      return sum + block.microseconds.size();
    });
  }
};

template <class Side>
double half_round_trip(const Side& side, int tag, std::byte byte) {
  const bench::Stopwatch watch;
  side.blocking_send(1, tag, std::span{&byte, 1});
  side.blocking_receive(1, tag, std::span{&byte, 1});
  return watch.microseconds() / 2;
}

/// Echoes messages until the last one.
template <class Side>
void answer(const Side& side, int tag) {
  std::byte byte = more;
  while (byte != last) {
    side.blocking_receive(0, tag, std::span{&byte, 1});
    side.blocking_send(0, tag, std::span{&byte, 1});
  }
}

/// One round trip with each thread, all at a time.
template <class Side>
void to_all(const Side& side, int threads, std::byte byte) {
  for (int i = 0; i < threads; ++i) {
    side.blocking_send(1, i, std::span{&byte, 1});
  }
  for (int i = 0; i < threads; ++i) {
    side.blocking_receive(1, i, std::span{&byte, 1});
  }
}

/// Runs `work(i)` in `count` threads; returns when all have ended.
template <class Work>
void in_threads(int count, const Work& work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back(work, i);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

template <class Side>
Block one_to_n(const Side& side, int rank, int threads, const Bounds& bounds) {
  Block block;
  side.barrier();
  if (rank == 1) {
    in_threads(threads, [&](int i) { answer(side, i); });
    return block;
  }
  to_all(side, threads, more);  // warms up
  const bench::Stopwatch watch;
  for (int i = 0; watch.seconds() < bounds.seconds && i < bounds.round_trips; ++i) {
    block.microseconds.push_back(half_round_trip(side, i % threads, more));
  }
  block.seconds = watch.seconds();
  to_all(side, threads, last);
  return block;
}

template <class Side>
Block n_to_n(const Side& side, int rank, int threads, const Bounds& bounds) {
  Block block;
  side.barrier();
  if (rank == 1) {
    in_threads(threads, [&](int i) { answer(side, i); });
    return block;
  }
  std::vector<std::vector<double>> microseconds(static_cast<std::size_t>(threads));
  std::latch all_warm{threads};
  const int each = std::max(2, bounds.round_trips / threads);
  std::atomic<double> ended = 0;
  in_threads(threads, [&](int i) {
    half_round_trip(side, i, more);
    all_warm.arrive_and_wait();
    std::vector<double>& mine = microseconds[static_cast<std::size_t>(i)];
    const bench::Stopwatch watch;
    for (int round = 1; round <= each && (round == 1 || watch.seconds() < bounds.seconds); ++round) {
      mine.push_back(half_round_trip(side, i, more));
    }
    double before = ended.load();
    while (before < watch.seconds() && !ended.compare_exchange_weak(before, watch.seconds())) {
    }
    half_round_trip(side, i, last);
  });
  block.seconds = ended.load();
  for (const std::vector<double>& part : microseconds) {
    block.microseconds.insert(block.microseconds.end(), part.begin(), part.end());
  }
  return block;
}

template <class Side>
Block run(const Side& side, const std::string& pattern, int rank, int threads, const Bounds& bounds) {
  return pattern == "1 to N" ? one_to_n(side, rank, threads, bounds) : n_to_n(side, rank, threads, bounds);
}

void print_what_is_missing(
    const std::string& side, const std::string& pattern, int threads, const Samples& samples, int wanted) {
  if (static_cast<int>(samples.round_trips()) < wanted) {
    fmt::print(
        "cut short: {}, {}, {} threads: {} of {} round trips\n", side, pattern, threads, samples.round_trips(), wanted);
  }
}

void measure(bench::Report& report,
             const std::vector<bench::Driver>& drivers,
             const std::string& pattern,
             int threads) {
  const int rank = bench::RawMpi::rank();
  const int block_count = report.is_full() ? 9 : 3;
  const Bounds bounds{.seconds = report.is_full() ? 1 : 0.25, .round_trips = std::max(2000, 10 * threads)};
  const auto [raw, ours] = bench::compare<Samples>(
      drivers,
      block_count,
      [&](const auto& side, Samples& samples) { samples.blocks.push_back(run(side, pattern, rank, threads, bounds)); },
      5 * bounds.seconds);
  if (rank != 0) {
    return;
  }
  const int wanted = block_count * (bounds.round_trips / threads * threads);
  print_what_is_missing("raw MPI", pattern, threads, raw, wanted);
  for (const auto& [driver, samples] : ours) {
    print_what_is_missing(driver, pattern, threads, samples, wanted);
    const auto add = [&](const char* name, const bench::Spread& mine, const bench::Spread& peer) {
      report.add({name,
                  {{"pattern", pattern}, {"threads", std::to_string(threads)}, {"driver", driver}},
                  mine,
                  "us",
                  "raw MPI",
                  peer.median});
    };
    add("p50", samples.quantiles(0.5), raw.quantiles(0.5));
    add("p99", samples.quantiles(0.99), raw.quantiles(0.99));
    add("a message", samples.a_message(), raw.a_message());
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report{
      "threads", "a message to one of 200 waiting threads takes at most 3 times as long as to one of 2", 2, argc, argv};
  const plait::MpiSession session{argc, argv, true};
  bench::rank_of(2, 2);
  const std::vector<bench::Driver> drivers{bench::default_driver()};
  for (const std::string pattern : {"1 to N", "N to N"}) {
    for (const int threads :
         report.is_full() ? std::vector{1, 2, 4, 8, 16, 32, 64, 100, 150, 200} : std::vector{1, 2, 8, 32, 100, 200}) {
      measure(report, drivers, pattern, threads);
    }
  }
  report.finish();
}
