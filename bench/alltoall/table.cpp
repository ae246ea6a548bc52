// SPDX-License-Identifier: Apache-2.0
#include "alltoall/table.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "support/stopwatch.hpp"

namespace alltoall {

namespace {

// Of more than that, the figures are not to be trusted.
constexpr double waited_max = 0.02;
constexpr double foreign_cpu_max = 0.1;

std::string sentence_of(const Disturbance& disturbance) {
  const double foreign_cpu = disturbance.foreign_cpu.value_or(0);
  const bool is_too_much = disturbance.waited > waited_max || foreign_cpu > foreign_cpu_max;
  return fmt::format("ranks waited {:.1f} % of the time for a processor{}{}",
                     100 * disturbance.waited,
                     disturbance.foreign_cpu ? fmt::format("; others used {:.0f} %", 100 * foreign_cpu) : "",
                     is_too_much ? ": TOO MUCH, do not trust these figures" : "");
}

std::vector<double> totals_of(const std::vector<Turn>& turns) {
  std::vector<double> totals;
  for (const Turn& turn : turns) {
    totals.push_back(turn.total);
  }
  return totals;
}

double median_work(const std::vector<Turn>& turns) {
  return parts_of(turns).work;
}

const Measured* find(const SizeMeasured& measured, std::string_view name) {
  const auto found = std::ranges::find(measured.variants, name, &Measured::name);
  return found == measured.variants.end() ? nullptr : &*found;
}

/// What one variant comes to in one direction, beside others.
struct Summary {
  bench::Spread total;  ///< Seconds.
  double work = 0;
  std::optional<bench::Spread> overlap;
  double overlap_best = 0;  ///< Where there is an overlap.
  std::optional<double> over_blocking;
  double longest_part = 0;  ///< max(communication, work), of its twin, or of itself where it has none.
};

std::optional<Summary> summary_of(const SizeMeasured& measured, const Measured& one, std::size_t direction) {
  const std::vector<Turn>& turns = one.turns[direction];
  if (turns.empty()) {
    return std::nullopt;
  }
  Summary summary{.total = totals_of(turns), .work = median_work(turns)};
  const Measured* const twin = one.twin.empty() ? nullptr : find(measured, one.twin);
  const Parts parts = parts_of(twin != nullptr ? twin->turns[direction] : turns);
  summary.longest_part = std::max(parts.communication, parts.work);
  if (twin != nullptr) {
    summary.overlap = overlaps(twin->turns[direction], turns);
    summary.overlap_best = best_overlap(twin->best[direction], one.best[direction]);
  }
  if (const Measured* const blocking = find(measured, "MPI")) {
    summary.over_blocking = summary.total.median / bench::median(totals_of(blocking->turns[direction]));
  }
  return summary;
}

std::string times(const std::optional<Summary>& summary) {
  return summary ? fmt::format(" {:>12.6g} {:>11.6g}", summary->total.median, summary->work)
                 : fmt::format(" {:>12} {:>11}", "-", "-");
}

std::string ratios(const std::optional<Summary>& summary) {
  if (!summary) {
    return "";
  }
  const std::string overlap = summary->overlap ? fmt::format("{:>6.2f} ({:>5.2f} {:>5.2f}) {:>5.2f}",
                                                             summary->overlap->median,
                                                             summary->overlap->low,
                                                             summary->overlap->high,
                                                             summary->overlap_best)
                                               : fmt::format("{:>6} {:>19}", "-", "");
  const std::string over_blocking =
      summary->over_blocking ? fmt::format("{:>6.2f}", *summary->over_blocking) : "     -";
  return fmt::format("  {} {:>6.2f} {}", overlap, summary->total.median / summary->longest_part, over_blocking);
}

std::string ratio_titles(const Measured& one) {
  std::string text;
  for (const Direction direction : directions) {
    if (!one.turns[static_cast<std::size_t>(direction)].empty()) {
      const std::string overlap = fmt::format("overlap_{} (quart.)", direction == Direction::row ? "row" : "col");
      text += fmt::format("  {:<20} {:>5} {:>6} {:>6}", overlap, "best", "x max", "x MPI");
    }
  }
  return text;
}

}  // namespace

void print_table(const SizeMeasured& measured) {
  if (measured.variants.empty()) {
    return;
  }
  fmt::print("{:<4} {:>8} {:>5} {:>12} {:>11} {:>12} {:>11}{}\n",
             "ALG",
             "Bytes",
             "iters",
             "t_total_row",
             "t_comp_row",
             "t_total_col",
             "t_comp_col",
             ratio_titles(measured.variants.front()));
  for (const Measured& one : measured.variants) {
    const auto row = summary_of(measured, one, 0);
    const auto column = summary_of(measured, one, 1);
    fmt::print("{:<4} {:>8} {:>5}{}{}{}{}  {}\n",
               one.name,
               measured.block_bytes,
               one.iterations,
               times(row),
               times(column),
               ratios(row),
               ratios(column),
               one.label);
  }
  if (measured.disturbance) {
    fmt::print("{}\n", sentence_of(*measured.disturbance));
  }
  fmt::print("\n");
}

std::vector<bench::Row> rows_of(const SizeMeasured& measured) {
  std::vector<bench::Row> rows;
  for (const Measured& one : measured.variants) {
    for (const Direction direction : directions) {
      const auto summary = summary_of(measured, one, static_cast<std::size_t>(direction));
      if (!summary) {
        continue;
      }
      std::map<std::string, std::string> params{
          {"alg", one.name}, {"bytes", std::to_string(measured.block_bytes)}, {"group", to_string(direction)}};
      if (measured.disturbance) {
        params["waited"] = fmt::format("{:.3f}", measured.disturbance->waited);
      }
      if (!one.label.empty()) {
        params["by"] = one.label;
      }
      const bench::Spread& total = summary->total;
      rows.push_back(
          {"total",
           params,
           {1e6 * total.median, 1e6 * total.low, 1e6 * total.high},
           "us",
           summary->over_blocking ? "MPI_Alltoall, then the work" : "",
           summary->over_blocking ? std::optional{1e6 * total.median / *summary->over_blocking} : std::nullopt,
           "max(communication, work)",
           1e6 * summary->longest_part});
      if (summary->overlap) {
        const double best = summary->overlap_best;
        rows.push_back({"overlap", params, *summary->overlap, "1", "", {}, "all is hidden", 1.0});
        rows.push_back({"overlap of the best times", params, best, "1", "", {}, "all is hidden", 1.0});
      }
    }
  }
  return rows;
}

}  // namespace alltoall
