// SPDX-License-Identifier: Apache-2.0
// Collections: whether elements that migrate after every phase lose messages or become slow, and what a phase costs
// beside the same number of tasks.
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <mpi.h>

#include "plait/plait.hpp"

#include "support/report.hpp"
#include "support/stopwatch.hpp"
#include "support/turns.hpp"

namespace {

/// An element that sends a token to the next one, and counts those that it receives.
struct Link {
  std::uint64_t id = 0;
  std::uint64_t received = 0;
  std::uint64_t sum = 0;
  std::array<double, 32> payload{};

  void take(std::uint64_t phase) {
    ++received;
    sum += phase;
  }
};

struct Ring {
  std::uint32_t elements_of_rank;
  std::uint64_t phases;
};

class Migrate {
 public:
  Migrate(bench::Report& report, plait::Runtime& runtime) : report_{report}, runtime_{runtime} {}

  /// Returns whether every message was received exactly once.
  bool measure_ring(const Ring& ring) {
    const std::uint32_t ranks = runtime_.rank_count();
    const std::uint64_t count = std::uint64_t{ring.elements_of_rank} * ranks;
    plait::Collection<Link> links{runtime_,
                                  plait::Shape{static_cast<std::uint32_t>(count)},
                                  [](plait::ElementId id, plait::Index) { return Link{.id = id.value()}; }};
    std::vector<double> times;
    std::uint64_t forwarded = 0;
    for (std::uint64_t phase = 0; phase < ring.phases; ++phase) {
      plait::barrier(runtime_.messages());
      const bench::Stopwatch watch;
      forwarded += links
                       .each([&](Link& link, plait::ElementContext& context) {
                         context.send<&Link::take>(plait::ElementId{(link.id + 1) % count}, phase);
                       })
                       .forwarded;
      std::vector<plait::Move> moves;
      for (const auto& [id, link] : links.local()) {
        moves.push_back({id, plait::Rank{(runtime_.self().value() + 1) % ranks}});
      }
      links.migrate(moves);
      times.push_back(watch.seconds() * 1e6);
    }
    const bool is_right =
        links.all_reduce(
            [&](const Link& link) {
              return static_cast<int>(link.received == ring.phases && link.sum == ring.phases * (ring.phases - 1) / 2);
            },
            plait::Minimum{}) == 1;
    const std::size_t part = ring.phases / 10;
    const bench::Spread first = std::vector<double>(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(part));
    const bench::Spread last = std::vector<double>(times.end() - static_cast<std::ptrdiff_t>(part), times.end());
    const std::map<std::string, std::string> params{{"elements", std::to_string(count)},
                                                    {"phases", std::to_string(ring.phases)},
                                                    {"forwarded", std::to_string(forwarded)}};
    report_.add({.name = "ring, first tenth of the phases", .params = params, .value = first, .unit = "us"});
    report_.add({.name = "ring, last tenth", .params = params, .value = last, .unit = "us"});
    report_.add({.name = "last / first",
                 .params = params,
                 .value = {last.median / first.median, last.low / first.high, last.high / first.low},
                 .unit = "ratio"});
    return is_right;
  }

  /// Measures a phase of elements that do almost nothing, beside a graph of as many tasks.
  void measure_phase(std::uint32_t count) {
    plait::Collection<Link> links{runtime_,
                                  plait::Shape{count * runtime_.rank_count()},
                                  [](plait::ElementId id, plait::Index) { return Link{.id = id.value()}; }};
    plait::Graph graph;
    const plait::TaskKind kind = graph.kind("step");
    std::vector<std::uint64_t> values(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      graph.task(kind, [&values, i] { ++values[i]; });
    }
    const auto send = [&](std::uint64_t distance) {  // within this rank
      links.each([count, distance](Link& link, plait::ElementContext& context) {
        const std::uint64_t first = link.id / count * count;
        context.send<&Link::take>(plait::ElementId{first + (link.id + distance) % count}, std::uint64_t{1});
      });
    };
    bench::Turns turns;
    const auto add = [&](const char* name, const std::function<void()>& work) {
      turns.add(name, [this, count, work] { return timed(work) / count * 1e9; });
    };
    add("a step", [&] { links.each([](Link& link) { ++link.sum; }); });
    add("a step and a message", [&] { send(1); });
    add("a step and a message that wakes its element again", [&] { send(count - 1); });
    add("a task of a graph", [&] { runtime_.run(graph); });
    turns.run(report_.is_full() ? 51 : 15);
    const std::map<std::string, std::string> params{{"elements of a rank", std::to_string(count)}};
    const double beside = bench::median(turns["a task of a graph"]);
    for (const char* const name :
         {"a step", "a step and a message", "a step and a message that wakes its element again"}) {
      report_.add({name, params, turns[name], "ns", "a task of a graph", beside});
    }
  }

 private:
  template <class Work>
  double timed(Work work) {
    plait::barrier(runtime_.messages());
    const bench::Stopwatch watch;
    work();
    return watch.seconds();
  }

  bench::Report& report_;
  plait::Runtime& runtime_;
};

}  // namespace

int main(int argc, char** argv) {
  bench::Report report{"migrate",
                       "elements that move after every phase lose no message, and the last phases cost what the first "
                       "did; an element's step costs below 300 ns, with a message below 800 ns",
                       2,
                       argc,
                       argv};
  const plait::MpiSession session{argc, argv};
  plait::Runtime runtime{MPI_COMM_WORLD};
  Migrate bench{report, runtime};
  const bool is_right = bench.measure_ring({.elements_of_rank = 64, .phases = report.is_full() ? 10'000U : 1'000U});
  bench.measure_phase(10'000);
  report.note(is_right ? "Every message was received exactly once." : "Messages were lost or duplicated.");
  report.finish();
  return is_right ? 0 : 1;
}
