// SPDX-License-Identifier: Apache-2.0
// Half the round trip of 1 byte when many threads wait for messages: one thread exchanges messages with N threads of
// the other rank in turn, and N threads each with one of N others at the same time.
#include <algorithm>
#include <latch>
#include <map>
#include <thread>

#include <fmt/format.h>

#include "support/compare.hpp"
#include "support/report.hpp"
#include "support/round_trips.hpp"
#include "support/stopwatch.hpp"

namespace {

constexpr std::byte more{0};
constexpr std::byte last{1};

/// Limits of a block.
struct Bounds {
  double seconds = 0.3;
  int round_trips = 0;  ///< Of all threads together.
};

/// The times of one block; empty on all ranks but 0.
struct Block {
  std::vector<double> microseconds;  ///< Half round trips.
  double seconds = 0;                ///< Of the whole block.
};

struct Samples {
  bench::RoundTrips round_trips;
  std::vector<double> a_message;  ///< Microseconds, of all threads together.

  void add(const Block& block) {
    const auto messages = static_cast<double>(std::max<std::size_t>(1, 2 * block.microseconds.size()));
    a_message.push_back(block.seconds * 1e6 / messages);
    round_trips.blocks.push_back(block.microseconds);
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

/// One round trip with each thread, all at the same time.
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
  std::vector<std::jthread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back(work, i);
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
  std::vector<Block> blocks(static_cast<std::size_t>(threads));
  std::latch all_warm{threads};
  const int each = std::max(2, bounds.round_trips / threads);
  in_threads(threads, [&](int i) {
    half_round_trip(side, i, more);
    all_warm.arrive_and_wait();
    Block& mine = blocks[static_cast<std::size_t>(i)];
    const bench::Stopwatch watch;
    for (int round = 1; round <= each && (round == 1 || watch.seconds() < bounds.seconds); ++round) {
      mine.microseconds.push_back(half_round_trip(side, i, more));
    }
    mine.seconds = watch.seconds();
    half_round_trip(side, i, last);
  });
  for (const Block& part : blocks) {
    block.seconds = std::max(block.seconds, part.seconds);
    block.microseconds.insert(block.microseconds.end(), part.microseconds.begin(), part.microseconds.end());
  }
  return block;
}

constexpr int few_threads = 2;
constexpr int many_threads = 200;
constexpr double growth_max = 3;  ///< Wanted of many threads over few.

/// Median half round trips in microseconds, by side and number of threads.
using Medians = std::map<std::string, std::map<int, double>>;

/// Adds how the time to one of N threads grows with N.
void add_growth(bench::Report& report, const Medians& medians) {
  const auto growth = [](const std::map<int, double>& of) { return of.at(many_threads) / of.at(few_threads); };
  for (const auto& [side, of_side] : medians) {
    if (side != "raw MPI") {
      report.add({.name = fmt::format("{} threads over {}", many_threads, few_threads),
                  .params = {{"pattern", "1 to N"}, {"driver", side}},
                  .value = growth(of_side),
                  .unit = "x",
                  .peer = "raw MPI",
                  .peer_value = growth(medians.at("raw MPI")),
                  .wanted = bench::at_most(growth_max)});
    }
  }
}

void measure(bench::Report& report,
             const std::vector<bench::Driver>& drivers,
             const std::string& pattern,
             int threads,
             Medians& medians) {
  const int rank = bench::RawMpi::rank();
  const Bounds bounds{.seconds = report.is_full() ? 1 : 0.25, .round_trips = std::max(2000, 10 * threads)};
  const auto [raw, ours] = bench::compare<Samples>(
      drivers,
      report.is_full() ? 9 : 3,
      [&](const auto& side, Samples& samples) {
        samples.add(pattern == "1 to N" ? one_to_n(side, rank, threads, bounds) : n_to_n(side, rank, threads, bounds));
      },
      5 * bounds.seconds);
  medians["raw MPI"][threads] = bench::median(raw.round_trips.quantiles(0.5));
  for (const auto& [driver, samples] : ours) {
    medians[driver][threads] = bench::median(samples.round_trips.quantiles(0.5));
    const std::map<std::string, std::string> params{
        {"pattern", pattern}, {"threads", std::to_string(threads)}, {"driver", driver}};
    add_quantiles(report, params, samples.round_trips, raw.round_trips);
    report.add({"a message", params, samples.a_message, "us", "raw MPI", bench::median(raw.a_message)});
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report{
      "threads", "a message to one of 200 waiting threads takes at most 3 times as long as to one of 2", 2, argc, argv};
  const plait::MpiSession session{argc, argv, true};
  bench::rank_of(2, 2);
  const std::vector<bench::Driver> drivers{bench::default_driver()};
  std::map<std::string, Medians> medians;
  for (const std::string pattern : {"1 to N", "N to N"}) {
    for (const int threads :
         report.is_full() ? std::vector{1, 2, 4, 8, 16, 32, 64, 100, 150, 200} : std::vector{1, 2, 8, 32, 100, 200}) {
      measure(report, drivers, pattern, threads, medians[pattern]);
    }
  }
  add_growth(report, medians["1 to N"]);
  report.finish();
}
