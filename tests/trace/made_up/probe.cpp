// SPDX-License-Identifier: Apache-2.0
// probe write FOLDER: records random made-up records. probe read FOLDER: prints those of rank 0, one a line.
// Built with code that tools/make_trace_code.py makes from schema.toml and records.toml.
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "plait/base/clock.hpp"
#include "plait/base/random.hpp"
#include "plait/trace/reader.hpp"
#include "plait/trace/recorder.hpp"

namespace {

using namespace plait;

constexpr std::uint32_t rank_count = 3;

void write(const std::string& folder) {
  const SteadyClock clock;
  trace::Recorder recorder{clock, {.folder = folder, .rank = Rank{0}, .rank_count = rank_count, .chunk_bytes = 4096}};
  Random random{17};
  for (std::uint16_t worker = 0; worker < 2; ++worker) {
    trace::ThreadRecorder& thread = recorder.thread(WorkerId{worker}, "worker");
    for (int i = 0; i < 200; ++i) {
      const nanoseconds start{1 + random.below(1'000'000)};
      thread.probe({.weather = static_cast<trace::Weather>(random.below(2)),
                    .label = recorder.name(trace::Role::span, "probe " + std::to_string(random.below(5))),
                    .start = start,
                    .end = start + nanoseconds{random.below(1000)},
                    .depth = static_cast<double>(random.below(1000)) / 8,
                    .amount = random.below(std::uint64_t{1} << 50U),
                    .tag = Tag{random.below(std::uint64_t{1} << 63U) * 2},
                    .target = random.happens(0.3) ? Rank{} : Rank{static_cast<std::uint32_t>(random.below(rank_count))},
                    .is_wet = random.happens(0.5),
                    .is_deep = random.happens(0.5),
                    .level = static_cast<std::uint8_t>(random.below(256)),
                    .count = static_cast<std::uint16_t>(random.below(65536)),
                    .delay = nanoseconds{random.below(1000)}});
    }
  }
}

void print(const trace::RankTrace& trace) {
  for (const auto& [thread, probe] : trace.probes) {
    fmt::print("{} {} {} {} {} {} {} {} {} {} {} {} {} {}\n",
               trace.threads.at(thread).worker.value(),
               static_cast<int>(probe.weather),
               trace.name(trace::Role::span, probe.label),
               probe.start.count(),
               probe.end.count(),
               probe.depth,
               probe.amount,
               probe.tag.value(),
               probe.target ? static_cast<int>(probe.target.value()) : -1,
               probe.is_wet,
               probe.is_deep,
               probe.level,
               probe.count,
               probe.delay.count());
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    return 2;
  }
  const std::string action = argv[1];
  if (action == "write") {
    write(argv[2]);
    return 0;
  }
  auto trace = trace::read_rank_trace(std::string{argv[2]} + "/rank-0000.plt");
  if (!trace || !trace.value().notices.empty()) {
    fmt::print(stderr, "{}\n", trace ? trace.value().notices.front() : trace.error().what());
    return 1;
  }
  print(trace.value());
  return 0;
}
