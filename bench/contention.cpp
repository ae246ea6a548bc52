// SPDX-License-Identifier: Apache-2.0
// Messages of several threads of one rank to themselves: measured with as many threads as there are cores, and for more
// by a model of the endpoint's lock, whose times are measured here.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <latch>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "plait/base/spin_lock.hpp"
#include "plait/base/topology.hpp"
#include "plait/net/shm/shm_driver.hpp"
#include "plait/plait.hpp"

#include "contention/lock_model.hpp"
#include "support/report.hpp"
#include "support/stopwatch.hpp"

namespace {

using plait::Tag;

constexpr int messages_of_a_block = 20'000;
constexpr std::size_t message_bytes = 8;

/// What the ranks of a driver exchange when it starts.
std::vector<plait::Bytes> alone(std::span<const std::byte> mine) {
  return {plait::Bytes{mine.begin(), mine.end()}};
}

/// One rank that sends to itself through shared memory.
struct Self {
  plait::SteadyClock clock;
  plait::trace::Recorder recorder{clock};
  std::unique_ptr<plait::net::Driver> driver = plait::net::make_shm_driver(plait::Rank{0}, 1, alone);
  plait::comm::Endpoint endpoint{*driver, recorder};
};

/// Seconds of a block in which each of `threads` threads, on its own core, sends and receives its messages.
double block_seconds(Self& self, const std::vector<int>& on) {
  std::latch start{static_cast<std::ptrdiff_t>(on.size())};
  std::vector<double> seconds(on.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < on.size(); ++i) {
      threads.emplace_back([&, i] {
        plait::bind_to_core(on[i]);
        const Tag tag{i};
        std::array<std::byte, message_bytes> out{};
        std::array<std::byte, message_bytes> in{};
        start.arrive_and_wait();
        const bench::Stopwatch watch;
        for (int message = 0; message < messages_of_a_block; ++message) {
          plait::Request receive = self.endpoint.receive({plait::Rank{0}, tag}, std::span{in});
          self.endpoint.send({plait::Rank{0}, tag}, out).wait();
          receive.wait();
        }
        seconds[i] = watch.seconds();
      });
    }
  }
  return std::ranges::max(seconds);
}

/// Times of the parts of a message in one thread, in seconds: each is a call that holds the lock for nearly all of it.
struct Parts {
  std::vector<double> send;
  std::vector<double> receive;
  std::vector<double> take_in;
};

/// Adds what a part of a message takes in bursts that fit into the driver's ring.
void measure_parts(Self& self, Parts& parts) {
  constexpr std::size_t burst = 16;
  constexpr int bursts = 500;
  std::array<std::byte, message_bytes> out{};
  std::array<std::array<std::byte, message_bytes>, burst> in{};
  std::array<double, 3> sum{};
  for (int round = 0; round < bursts; ++round) {
    std::vector<plait::Request> receives;
    receives.reserve(burst);
    const bench::Stopwatch posting;
    for (auto& buffer : in) {
      receives.push_back(self.endpoint.receive({plait::Rank{0}, Tag{0}}, std::span{buffer}));
    }
    sum[0] += posting.seconds();
    const bench::Stopwatch sending;
    for (std::size_t i = 0; i < burst; ++i) {
      self.endpoint.send({plait::Rank{0}, Tag{0}}, out).wait();
    }
    sum[1] += sending.seconds();
    const bench::Stopwatch taking;
    while (!receives.back().is_complete()) {
      self.endpoint.progress();
    }
    sum[2] += taking.seconds();
  }
  constexpr double count = burst * bursts;
  parts.receive.push_back(sum[0] / count);
  parts.send.push_back(sum[1] / count);
  parts.take_in.push_back(sum[2] / count);
}

/// Several threads of a rank are wanted to send at least as many messages as one.
std::optional<bench::Wanted> wanted_of(std::size_t threads) {
  return threads > 1 ? std::optional{bench::at_least_of_peer(1)} : std::nullopt;
}

void add_measured(bench::Report& report, const std::vector<std::vector<double>>& seconds_of_a_message) {
  const double alone = bench::median(seconds_of_a_message[0]);
  for (std::size_t threads = 1; threads <= seconds_of_a_message.size(); ++threads) {
    std::vector<double> rates;
    for (const double seconds : seconds_of_a_message[threads - 1]) {
      rates.push_back(1e-6 / seconds);
    }
    report.add({.name = "messages",
                .params = {{"threads", std::to_string(threads)}},
                .value = rates,
                .unit = "M/s",
                .peer = "1 thread",
                .peer_value = 1e-6 / alone,
                .wanted = wanted_of(threads)});
  }
}

/// Seconds that a cache line takes from one core to the other.
double line_seconds(const std::vector<int>& on) {
  constexpr std::uint32_t round_trips = 20'000;
  std::atomic<std::uint32_t> line = 0;
  const std::jthread other{[&] {
    plait::bind_to_core(on[1]);
    for (std::uint32_t turn = 0; turn < round_trips; ++turn) {
      while (line.load(std::memory_order_acquire) != 2 * turn + 1) {
      }
      line.store(2 * turn + 2, std::memory_order_release);
    }
  }};
  double seconds = 0;
  std::jthread{[&] {
    plait::bind_to_core(on[0]);
    const bench::Stopwatch watch;
    for (std::uint32_t turn = 0; turn < round_trips; ++turn) {
      line.store(2 * turn + 1, std::memory_order_release);
      while (line.load(std::memory_order_acquire) != 2 * turn + 2) {
      }
    }
    seconds = watch.seconds();
  }}.join();
  return seconds / (2 * round_trips);
}

/// The rates of up to 16 threads, with the handover of the lock that two threads have shown.
void add_model(bench::Report& report, const Parts& parts, double alone, double of_two, double line) {
  const double receive = bench::median(parts.receive);
  const double send = bench::median(parts.send);
  const double take_in = bench::median(parts.take_in);
  const double outside = std::max(0.0, alone - receive - send - take_in);
  const std::vector<bench::Section> sections{{outside, false}, {receive, true}, {send, true}, {take_in, true}};
  const auto seconds = [](plait::nanoseconds time) { return std::chrono::duration<double>{time}.count(); };
  bench::LockCosts costs{.attempt = 2 * line,  // to unlock, and to lock again
                         .pause_min = seconds(plait::ContentionPause::shortest),
                         .pause_max = seconds(plait::ContentionPause::longest)};
  costs.handover = bench::handover_of(sections, 2, costs, 1 / of_two, line);
  report.add({"model: the lock from another core", {}, 1e9 * costs.handover, "ns"});
  for (const std::size_t threads : {1, 2, 4, 8, 16}) {
    report.add({.name = "model: messages",
                .params = {{"threads", std::to_string(threads)}},
                .value = 1e-6 * bench::message_rate(sections, threads, costs),
                .unit = "M/s",
                .peer = "1 thread",
                .peer_value = 1e-6 / alone,
                .wanted = wanted_of(threads)});
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report{
      "contention", "messages a second of the threads of one rank do not fall from 1 to 16", 1, argc, argv};
  Self self;
  const std::vector<int> available = plait::usable_cores();
  std::vector<std::vector<double>> seconds_of_a_message(std::min<std::size_t>(available.size(), 16));
  Parts parts;
  std::vector<double> lines;
  for (int repetition = report.is_full() ? 31 : 11; repetition > 0; --repetition) {
    measure_parts(self, parts);
    if (available.size() > 1) {
      lines.push_back(line_seconds(available));
    }
    for (std::size_t threads = 1; threads <= seconds_of_a_message.size(); ++threads) {
      const std::vector<int> on(available.begin(), available.begin() + static_cast<std::ptrdiff_t>(threads));
      seconds_of_a_message[threads - 1].push_back(block_seconds(self, on) /
                                                  (messages_of_a_block * static_cast<double>(threads)));
    }
  }
  const double alone = bench::median(seconds_of_a_message[0]);
  report.add({"part of a message: send", {}, 1e9 * bench::Spread{parts.send}, "ns"});
  report.add({"part of a message: post the receive", {}, 1e9 * bench::Spread{parts.receive}, "ns"});
  report.add({"part of a message: take it in", {}, 1e9 * bench::Spread{parts.take_in}, "ns"});
  add_measured(report, seconds_of_a_message);
  if (seconds_of_a_message.size() < 2) {
    report.note("No model: one core cannot show what a lock costs that another core held last.");
  } else {
    const double line = bench::median(lines);
    report.add({"a cache line from another core", {}, 1e9 * bench::Spread{lines}, "ns"});
    add_model(report, parts, alone, bench::median(seconds_of_a_message[1]), line);
  }
  report.finish();
}
