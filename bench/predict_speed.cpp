// SPDX-License-Identifier: Apache-2.0
// How many messages a second the models of `plait predict` play on one core, and the memory of each: with few and with
// a million outstanding, with and without sharing of links.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "plait/replay/predict/platform.hpp"
#include "plait/replay/predict/predict.hpp"
#include "plait/replay/schedule.hpp"
#include "plait/replay/synthetic.hpp"

#include "support/report.hpp"
#include "support/stopwatch.hpp"

namespace {

using plait::replay::Action;
using plait::replay::Model;
using plait::replay::Platform;
using plait::replay::Prediction;
using plait::replay::Schedule;
using plait::replay::TopologyShape;

/// In each step, each rank receives from the rank before it and sends to the next, then waits for both.
Schedule ring(std::uint32_t ranks, int steps, std::uint64_t bytes) {
  Schedule schedule;
  schedule.ranks.resize(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    auto& stream = schedule.ranks[rank].streams.emplace_back();
    for (int step = 0; step < steps; ++step) {
      const auto first = static_cast<std::uint32_t>(stream.operations.size());
      const auto waited = static_cast<std::uint32_t>(stream.waited.size());
      stream.operations.push_back({.action = Action::receive, .peer = (rank + ranks - 1) % ranks, .bytes = bytes});
      stream.operations.push_back({.action = Action::send, .peer = (rank + 1) % ranks, .bytes = bytes});
      stream.operations.push_back({.action = Action::wait, .first = waited, .count = 2});
      stream.waited.insert(stream.waited.end(), {first, first + 1});
    }
  }
  return schedule;
}

Schedule synthetic(std::string_view description) {
  return plait::replay::synthetic_schedule(description).value();
}

/// 26 neighbours in a periodic box of 16 x 8 x 8; all messages of a step are posted before any wait.
Schedule halo(int steps) {
  return synthetic(fmt::format("pattern=halo,ranks=1024,mean=8192,steps={}", steps));
}

/// All receives, then all sends, then one wait.
Schedule all_to_all(std::uint32_t ranks) {
  return synthetic(fmt::format("pattern=all-to-all,ranks={},mean=1024", ranks));
}

/// 100 messages of random size a rank and step, between random ranks.
Schedule random(int steps) {
  return synthetic(
      fmt::format("pattern=random,ranks=1024,pairs=102400,mean=8192,distribution=exponential,steps={}", steps));
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
  std::string peer = {};                  ///< Published, measured in other conditions: see the note.
  std::optional<double> peer_value = {};  ///< Messages a second.
};

void measure(bench::Report& report, const Case& one) {
  std::vector<double> rates;
  Prediction last;
  for (int repetition = 0; repetition < (report.is_full() ? 9 : 3); ++repetition) {
    const double begin = bench::processor_seconds();
    last = plait::replay::predict(one.schedule, one.platform, {.model = one.model}).value();
    rates.push_back(static_cast<double>(last.messages) / (bench::processor_seconds() - begin));
  }
  report.add({.name = one.exchange,
              .params = {{"model", one.model == Model::points ? "points" : "flows"},
                         {"topology", one.topology},
                         {"messages", std::to_string(last.messages)},
                         {"bytes a message", fmt::format("{}", last.memory_bytes / last.messages)},
                         {"predicted us", fmt::format("{:.1f}", static_cast<double>(last.total.count()) / 1000)}},
              .value = rates,
              .unit = "messages/s",
              .peer = one.peer,
              .peer_value = one.peer_value,
              .best = std::ranges::max(rates)});
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report{
      "predict_speed",
      "a prediction plays 1 million messages a second on one core whatever the number outstanding, and 100 "
      "thousand that share the links of 1024 hosts",
      1,
      argc,
      argv};
  const Platform flat = platform_of({});
  const Platform tree = platform_of({.shape = TopologyShape::fat_tree,
                                     .arity = 16,
                                     .levels = 3,
                                     .oversubscription = 2,
                                     .link_bytes_per_s = 12.5e9,
                                     .link_latency_ns = 100});
  const Platform dragonfly = platform_of({.shape = TopologyShape::dragonfly,
                                          .groups = 33,
                                          .routers = 8,
                                          .hosts = 4,
                                          .link_bytes_per_s = 12.5e9,
                                          .link_latency_ns = 100,
                                          .global_bytes_per_s = 12.5e9,
                                          .global_latency_ns = 500});
  const Platform torus = platform_of(
      {.shape = TopologyShape::torus, .sizes = {16, 8, 8}, .link_bytes_per_s = 12.5e9, .link_latency_ns = 50});
  const std::string loggopsim = "LogGOPSim, published";
  const std::string simgrid = "SimGrid 3.32, published";

  measure(report, {"ring of 1024, 100 steps", ring(1024, 100, 1024), "flat", flat});
  measure(report, {"26 neighbours, 10 steps", halo(10), "flat", flat, Model::points, loggopsim, 0.59e6 / 3});
  measure(report, {"all to all of 256, linear", all_to_all(256), "flat", flat, Model::points, loggopsim, 0.050e6 / 3});
  measure(report, {"all to all of 1024, linear", all_to_all(1024), "flat", flat, Model::points, loggopsim, 5.3e3 / 3});
  measure(report, {"random, 10 steps", random(10), "flat", flat});
  measure(report, {"26 neighbours, 10 steps", halo(10), "fat tree", tree});

  measure(report, {"ring of 1024, 100 steps", ring(1024, 100, 1024), "fat tree", tree, Model::flows, simgrid, 31e3});
  measure(report, {"26 neighbours, 4 steps", halo(4), "flat", flat, Model::flows, simgrid, 3.3e3});
  measure(report, {"26 neighbours, 4 steps", halo(4), "fat tree", tree, Model::flows, simgrid, 740});
  measure(report, {"26 neighbours, 4 steps", halo(4), "dragonfly", dragonfly, Model::flows, simgrid, 330});
  measure(report, {"26 neighbours, 4 steps", halo(4), "torus", torus, Model::flows});
  measure(report, {"all to all of 256, linear", all_to_all(256), "flat", flat, Model::flows, simgrid, 650});
  measure(report, {"all to all of 256, linear", all_to_all(256), "dragonfly", dragonfly, Model::flows});
  measure(report, {"random, 1 step", random(1), "fat tree", tree, Model::flows});
  report.note(
      "LogGOPSim and SimGrid were measured beside each other on another day, on a core of this kind; LogGOPSim counts "
      "three events a message, and did not finish the all-to-all of 1024 in 602 s");
  report.finish();
}
