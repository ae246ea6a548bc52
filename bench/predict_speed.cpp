// SPDX-License-Identifier: Apache-2.0
// How many messages a second the models of `plait predict` play on one core, and what memory one takes: with few and
// with a million outstanding, with and without sharing of links.
#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "plait/base/random.hpp"
#include "plait/replay/predict/platform.hpp"
#include "plait/replay/predict/predict.hpp"
#include "plait/replay/schedule.hpp"

#include "support/report.hpp"

namespace {

using plait::replay::Action;
using plait::replay::Model;
using plait::replay::Operation;
using plait::replay::Platform;
using plait::replay::Prediction;
using plait::replay::Schedule;
using plait::replay::Shape;

/// Writes exchanges in which every rank has one lane.
class Writer {
 public:
  explicit Writer(std::uint32_t ranks) : begun_(ranks) {
    schedule.ranks.resize(ranks);
    for (auto& rank : schedule.ranks) {
      rank.lanes.resize(1);
    }
  }
  void receive(std::uint32_t rank, std::uint32_t from, std::uint64_t bytes) {
    begin(rank, {.action = Action::receive, .peer = from, .bytes = bytes});
  }
  void send(std::uint32_t rank, std::uint32_t to, std::uint64_t bytes) {
    begin(rank, {.action = Action::send, .peer = to, .bytes = bytes});
  }
  void wait(std::uint32_t rank) {
    auto& lane = schedule.ranks[rank].lanes[0];
    const auto first = static_cast<std::uint32_t>(lane.waited.size());
    lane.waited.insert(lane.waited.end(), begun_[rank].begin(), begun_[rank].end());
    lane.operations.push_back(
        {.action = Action::wait, .first = first, .count = static_cast<std::uint32_t>(begun_[rank].size())});
    begun_[rank].clear();
  }

  Schedule schedule;

 private:
  void begin(std::uint32_t rank, const Operation& operation) {
    auto& operations = schedule.ranks[rank].lanes[0].operations;
    begun_[rank].push_back(static_cast<std::uint32_t>(operations.size()));
    operations.push_back(operation);
  }
  std::vector<std::vector<std::uint32_t>> begun_;
};

Schedule ring(std::uint32_t ranks, int steps, std::uint64_t bytes) {
  Writer writer{ranks};
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    for (int step = 0; step < steps; ++step) {
      writer.receive(rank, (rank + ranks - 1) % ranks, bytes);
      writer.send(rank, (rank + 1) % ranks, bytes);
      writer.wait(rank);
    }
  }
  return std::move(writer.schedule);
}

/// 26 neighbours in a periodic box of 8 x 8 x 16; all messages of a step are begun before any is waited for.
Schedule halo(int steps, std::uint64_t bytes) {
  constexpr std::array<int, 3> sizes{8, 8, 16};
  Writer writer{1024};
  const auto neighbour = [&](std::uint32_t rank, int x, int y, int z) {
    const auto wrap = [](int at, int size) { return static_cast<std::uint32_t>((at + size) % size); };
    const auto own = static_cast<int>(rank);
    return wrap(own % 8 + x, 8) + 8 * wrap(own / 8 % 8 + y, 8) + 64 * wrap(own / 64 + z, sizes[2]);
  };
  const auto for_all = [&](std::uint32_t rank, const std::function<void(std::uint32_t)>& visit) {
    for (int i = 0; i < 27; ++i) {
      if (i != 13) {
        visit(neighbour(rank, i % 3 - 1, i / 3 % 3 - 1, i / 9 - 1));
      }
    }
  };
  for (std::uint32_t rank = 0; rank < 1024; ++rank) {
    for (int step = 0; step < steps; ++step) {
      for_all(rank, [&](std::uint32_t peer) { writer.receive(rank, peer, bytes); });
      for_all(rank, [&](std::uint32_t peer) { writer.send(rank, peer, bytes); });
      writer.wait(rank);
    }
  }
  return std::move(writer.schedule);
}

/// All receives, then all sends, then one wait.
Schedule all_to_all(std::uint32_t ranks, std::uint64_t bytes) {
  Writer writer{ranks};
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    for (std::uint32_t i = 1; i < ranks; ++i) {
      writer.receive(rank, (rank + ranks - i) % ranks, bytes);
    }
    for (std::uint32_t i = 1; i < ranks; ++i) {
      writer.send(rank, (rank + i) % ranks, bytes);
    }
    writer.wait(rank);
  }
  return std::move(writer.schedule);
}

/// Every rank sends to random others messages of random size, 100 a step.
Schedule random(std::uint32_t ranks, int steps, std::uint64_t bytes) {
  Writer writer{ranks};
  plait::Random chance{1};
  for (int step = 0; step < steps; ++step) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      for (int i = 0; i < 100; ++i) {
        const auto to = static_cast<std::uint32_t>(chance.below(ranks));
        const std::uint64_t size = 1 + chance.below(2 * bytes);
        writer.send(rank, to, size);
        writer.receive(to, rank, size);
      }
    }
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      writer.wait(rank);
    }
  }
  return std::move(writer.schedule);
}

Platform platform_of(const plait::replay::TopologySettings& topology) {
  Platform platform;
  platform.between_hosts = {.latency_ns = 1000,
                            .send_overhead_ns = 300,
                            .receive_overhead_ns = 300,
                            .overhead_per_byte_ns = 0.05,
                            .gap_ns = 100,
                            .gap_per_byte_ns = 0.08,
                            .eager_bytes_max = 16384,
                            .rendezvous_ns = 500};
  platform.within_host = platform.between_hosts;
  platform.topology = topology;
  return platform;
}

struct Case {
  std::string exchange;
  Schedule schedule;
  std::string topology;
  Platform platform;
  Model model = Model::points;
  std::string peer;       ///< Published in other conditions: see the note.
  double peer_value = 0;  ///< Messages a second.
};

/// Seconds of a processor that this program has had: what else runs on the machine is no matter of the model's.
double processor_seconds() {
  std::timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

class PredictSpeed {
 public:
  explicit PredictSpeed(bench::Report& report) : report_{report}, repetitions_{report.is_full() ? 9 : 3} {}

  void measure(const Case& one) {
    std::vector<double> rates;
    Prediction last;
    for (int repetition = 0; repetition < repetitions_; ++repetition) {
      const double begin = processor_seconds();
      last = plait::replay::predict(one.schedule, one.platform, {.model = one.model}).value();
      rates.push_back(static_cast<double>(last.messages) / (processor_seconds() - begin));
    }
    const double best = *std::ranges::max_element(rates);
    bench::Row row{.name = one.exchange,
                   .params = {{"model", one.model == Model::points ? "points" : "flows"},
                              {"topology", one.topology},
                              {"messages", std::to_string(last.messages)},
                              {"bytes a message", fmt::format("{}", last.memory_bytes / last.messages)},
                              {"predicted us", fmt::format("{:.1f}", static_cast<double>(last.total.count()) / 1000)}},
                   .value = bench::spread_of(rates),
                   .unit = "messages/s",
                   .peer = one.peer,
                   .best = best};
    if (one.peer_value > 0) {
      row.peer_value = one.peer_value;
    }
    report_.add(row);
  }

 private:
  bench::Report& report_;
  int repetitions_;
};

}  // namespace

int main(int argc, char** argv) {
  bench::Report report{
      "predict_speed",
      "a prediction plays 1 million messages a second on one core whatever the number outstanding, and 100 "
      "thousand that share the links of 1024 hosts",
      1,
      argc,
      argv};
  PredictSpeed bench{report};
  const Platform flat = platform_of({});
  const Platform tree = platform_of({.shape = Shape::fat_tree,
                                     .arity = 16,
                                     .levels = 3,
                                     .oversubscription = 2,
                                     .link_bytes_per_s = 12.5e9,
                                     .link_latency_ns = 100});
  const Platform dragonfly = platform_of({.shape = Shape::dragonfly,
                                          .groups = 33,
                                          .routers = 8,
                                          .hosts = 4,
                                          .link_bytes_per_s = 12.5e9,
                                          .link_latency_ns = 100,
                                          .global_bytes_per_s = 12.5e9,
                                          .global_latency_ns = 500});
  const Platform torus =
      platform_of({.shape = Shape::torus, .sizes = {8, 8, 16}, .link_bytes_per_s = 12.5e9, .link_latency_ns = 50});
  const std::string loggopsim = "LogGOPSim, published";
  const std::string simgrid = "SimGrid 3.32, published";

  bench.measure({"ring of 1024, 100 steps", ring(1024, 100, 1024), "flat", flat});
  bench.measure({"26 neighbours, 10 steps", halo(10, 8192), "flat", flat, Model::points, loggopsim, 0.59e6 / 3});
  bench.measure(
      {"all to all of 256, linear", all_to_all(256, 1024), "flat", flat, Model::points, loggopsim, 0.050e6 / 3});
  bench.measure(
      {"all to all of 1024, linear", all_to_all(1024, 1024), "flat", flat, Model::points, loggopsim, 5.3e3 / 3});
  bench.measure({"random, 10 steps", random(1024, 10, 8192), "flat", flat});
  bench.measure({"26 neighbours, 10 steps", halo(10, 8192), "fat tree", tree});

  bench.measure({"ring of 1024, 100 steps", ring(1024, 100, 1024), "fat tree", tree, Model::flows, simgrid, 31e3});
  bench.measure({"26 neighbours, 4 steps", halo(4, 8192), "flat", flat, Model::flows, simgrid, 3.3e3});
  bench.measure({"26 neighbours, 4 steps", halo(4, 8192), "fat tree", tree, Model::flows, simgrid, 740});
  bench.measure({"26 neighbours, 4 steps", halo(4, 8192), "dragonfly", dragonfly, Model::flows, simgrid, 330});
  bench.measure({"26 neighbours, 4 steps", halo(4, 8192), "torus", torus, Model::flows});
  bench.measure({"all to all of 256, linear", all_to_all(256, 1024), "flat", flat, Model::flows, simgrid, 650});
  bench.measure({"all to all of 256, linear", all_to_all(256, 1024), "dragonfly", dragonfly, Model::flows});
  bench.measure({"random, 1 step", random(1024, 1, 8192), "fat tree", tree, Model::flows});
  report.note(
      "LogGOPSim and SimGrid were measured beside each other on another day, on a core of this kind; LogGOPSim counts "
      "three "
      "events a message, and did not finish the all-to-all of 1024 in 602 s");
  report.finish();
}
