// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/program/detail/replay_report.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "plait/base/error.hpp"
#include "plait/data/serialize.hpp"

namespace plait::replay {
namespace {

using Json = nlohmann::ordered_json;

double seconds(nanoseconds time) {
  return static_cast<double>(time.count()) / 1e9;
}

/// The value below which the given part of sorted values lies.
double quantile(const std::vector<double>& sorted, double part) {
  const auto last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<std::size_t>(std::llround(part * last))];
}

struct Repetition {
  double length_s = 0;  ///< Of the rank that took longest.
  double computing_s = 0;
  double calling_s = 0;
};

std::string in_units(double time_ns) {
  return time_ns < 1e3   ? fmt::format("{:.0f} ns", time_ns)
         : time_ns < 1e6 ? fmt::format("{:.1f} us", time_ns / 1e3)
         : time_ns < 1e9 ? fmt::format("{:.2f} ms", time_ns / 1e6)
                         : fmt::format("{:.3f} s", time_ns / 1e9);
}

/// The reports of all ranks together.
struct All {
  std::vector<Repetition> repetitions;
  std::map<std::string, std::vector<double>> calls;  ///< Lengths in nanoseconds, sorted, by function.
  std::uint64_t messages = 0;                        ///< Of one repetition, counted on both sides.
  std::uint64_t bytes = 0;
};

All put_together(const std::vector<Bytes>& ranks, std::size_t repetitions) {
  All all;
  all.repetitions.resize(repetitions);
  for (const Bytes& packed : ranks) {
    const auto played = data::unpack_as<std::vector<Played>>(packed);
    for (std::size_t i = 0; i < repetitions; ++i) {
      const Played& one = played.at(i);
      all.repetitions[i].length_s = std::max(all.repetitions[i].length_s, seconds(one.end - one.begin));
      all.repetitions[i].computing_s += seconds(one.computing);
      all.repetitions[i].calling_s += seconds(one.calling);
      for (const auto& [function, times] : one.calls) {
        for (const nanoseconds time : times) {
          all.calls[function].push_back(static_cast<double>(time.count()));
        }
      }
    }
    all.messages += played.back().messages;
    all.bytes += played.back().bytes;
  }
  for (auto& [function, times] : all.calls) {
    std::ranges::sort(times);
  }
  return all;
}

void add_calls(const All& all, std::string& text, Json& json) {
  text += fmt::format(
      "{:<22} {:>9} {:>10} {:>10} {:>10} {:>10} {:>10}\n", "call", "count", "min", "median", "p90", "max", "all");
  for (const auto& [function, times] : all.calls) {
    const double sum = std::accumulate(times.begin(), times.end(), 0.0);
    text += fmt::format("{:<22} {:>9} {:>10} {:>10} {:>10} {:>10} {:>10}\n",
                        function,
                        times.size(),
                        in_units(times.front()),
                        in_units(quantile(times, 0.5)),
                        in_units(quantile(times, 0.9)),
                        in_units(times.back()),
                        in_units(sum));
    json["calls"].push_back({{"function", function},
                             {"count", times.size()},
                             {"min_ns", times.front()},
                             {"median_ns", quantile(times, 0.5)},
                             {"p90_ns", quantile(times, 0.9)},
                             {"max_ns", times.back()},
                             {"all_ns", sum}});
  }
}

}  // namespace

ReplayReport make_report(const ReplaySettings& settings,
                         const std::string& backend,
                         const std::vector<Bytes>& ranks,
                         nanoseconds logged) {
  const All all = put_together(ranks, settings.repetitions);
  Json json{{"backend", backend},
            {"ranks", ranks.size()},
            {"scale", settings.scale},
            {"logged_s", seconds(logged)},
            {"messages", all.messages / 2},
            {"bytes", all.bytes / 2}};
  std::vector<double> lengths;
  for (const Repetition& one : all.repetitions) {
    lengths.push_back(one.length_s);
    json["repetitions"].push_back(
        {{"length_s", one.length_s}, {"computing_s", one.computing_s}, {"calling_s", one.calling_s}});
  }
  std::ranges::sort(lengths);
  ReplayReport report;
  report.text = fmt::format("{} messages, {:.3f} MB, {} ranks, {}: {} (as logged {})\n",
                            all.messages / 2,
                            static_cast<double>(all.bytes) / 2e6,
                            ranks.size(),
                            backend,
                            in_units(quantile(lengths, 0.5) * 1e9),
                            in_units(static_cast<double>(logged.count())));
  add_calls(all, report.text, json);
  report.json = json.dump(2) + "\n";
  return report;
}

void write_text(const std::filesystem::path& file, const std::string& text) {
  std::ofstream stream{file};
  stream << text;
  stream.close();
  if (!stream) {
    throw Error{ErrorCode::io, fmt::format("{} cannot be written", file.string())};
  }
}

}  // namespace plait::replay
