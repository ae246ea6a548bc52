// SPDX-License-Identifier: Apache-2.0
/// plait-predict: predicts how long a recorded exchange takes on a modelled machine, and what would change that.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "plait/base/command_line.hpp"
#include "plait/replay/detail/description.hpp"
#include "plait/replay/from_trace.hpp"
#include "plait/replay/predict/agreement.hpp"
#include "plait/replay/predict/computing.hpp"
#include "plait/replay/predict/platform.hpp"
#include "plait/replay/predict/predict.hpp"
#include "plait/replay/predict/prediction_run.hpp"
#include "plait/replay/predict/uncertainty.hpp"
#include "plait/replay/predict/unmeasured.hpp"
#include "plait/replay/predict/what_if.hpp"
#include "plait/replay/program/predict_tasks.hpp"
#include "plait/replay/program/text.hpp"
#include "plait/replay/synthetic.hpp"
#include "plait/version.hpp"

namespace {

using namespace plait;
using namespace plait::replay;
using program::change;
using program::text_of;

struct Options {
  std::string log;
  std::string synthetic;
  std::string recorded_on;
  std::string output;
  bool is_exchange = false;
  std::string grid;              ///< Of the ranks; empty: found.
  std::uint32_t dimension = 0;   ///< Of the problem; 0: of the grid.
  program::TaskQuestions asked;  ///< What exchanges and tasks have in common, and what only tasks have.
};

/// One line of the table.
struct Line {
  std::string name;
  nanoseconds total{};
  nanoseconds communication{};
  nanoseconds wait{};
};

/// The times of the log.
Prediction logged(const Schedule& schedule) {
  Prediction times_of_log{.total = schedule.length};
  for (const auto& rank : schedule.ranks) {
    RankTimes& times = times_of_log.ranks.emplace_back();
    for (const auto& stream : rank.streams) {
      for (const auto& operation : stream.operations) {
        const bool is_message = operation.action == Action::send || operation.action == Action::receive;
        times.compute += operation.action == Action::compute ? operation.took : nanoseconds{};
        times.wait += operation.action == Action::wait ? operation.took : nanoseconds{};
        times.end = std::max(times.end, is_message ? operation.at : operation.at + operation.took);
      }
    }
  }
  return times_of_log;
}

Prediction run(const Scenario& scenario) {
  return predict(*scenario.schedule, scenario.platform, scenario.options).value();
}

Line line_of(const std::string& name, const Prediction& prediction) {
  return {name, prediction.total, prediction.communication(), prediction.wait()};
}

/// `base`: index of the line with which others are compared.
void print_table(const std::vector<Line>& lines, std::size_t base) {
  std::size_t width = 8;
  for (const Line& line : lines) {
    width = std::max(width, line.name.size());
  }
  fmt::print("{:<{}}  {:>12}  {:>14}  {:>12}\n", "what if", width, "total", "communication", "wait a rank");
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Line& line = lines[i];
    fmt::print("{:<{}}  {:>12}  {:>14}  {:>12}{}\n",
               line.name,
               width,
               text_of(line.total),
               text_of(line.communication),
               text_of(line.wait),
               i == base ? "" : "  " + change(line.total, lines[base].total));
  }
}

/// A sentence about the usual changes that save most.
std::string advice(const Scenario& scenario, nanoseconds baseline) {
  std::vector<std::pair<nanoseconds, std::string>> found;
  for (const WhatIf& what_if : usual_what_ifs(scenario.platform)) {
    found.emplace_back(baseline - run(with(scenario, {what_if}).value()).total, what_if.name());
  }
  std::ranges::sort(found, [](const auto& a, const auto& b) { return a.first > b.first; });
  const auto part = [&](nanoseconds saved) {
    return 100 * static_cast<double>(saved.count()) / static_cast<double>(std::max<std::int64_t>(1, baseline.count()));
  };
  if (part(found[0].first) < 1) {
    return "None of the usual changes saves 1 % or more.";
  }
  std::string sentence = fmt::format(
      "What helps most: {} saves {:.0f} % ({})", found[0].second, part(found[0].first), text_of(found[0].first));
  for (const std::size_t next : {1U, 2U}) {
    if (part(found[next].first) >= 1) {
      sentence +=
          fmt::format("{} {}: {:.0f} %", next == 1 ? "; then" : ",", found[next].second, part(found[next].first));
    }
  }
  return sentence + ".";
}

std::string uncertainty_in_words(std::optional<nanoseconds> off) {
  return off ? fmt::format("By the spread of its calibration, the prediction is uncertain by {}.", text_of(*off))
             : "The platform file has no spread, so the uncertainty of the prediction is not known: plait fit makes "
               "one "
               "with it.";
}

/// The ranks with the most bytes of unexpected messages at one time, the largest first.
std::string unexpected_in_words(const Prediction& prediction) {
  constexpr std::size_t ranks_max = 8;
  std::vector<std::pair<Unexpected, std::size_t>> ranks;
  std::uint64_t copied = 0;
  std::uint64_t bytes = 0;
  for (std::size_t rank = 0; rank < prediction.ranks.size(); ++rank) {
    const Unexpected& unexpected = prediction.ranks[rank].unexpected;
    copied += unexpected.copied;
    bytes += unexpected.copied_bytes;
    if (unexpected.copied > 0) {
      ranks.emplace_back(unexpected, rank);
    }
  }
  if (ranks.empty()) {
    return "No eager message arrives before its receive is posted.";
  }
  std::ranges::stable_sort(
      ranks, std::greater<>{}, [](const auto& rank) { return std::pair{rank.first.bytes_max, rank.first.count_max}; });
  std::string text = fmt::format("{} unexpected messages ({:.3f} MB) are copied once more; at most at one time on rank",
                                 copied,
                                 static_cast<double>(bytes) * 1e-6);
  for (std::size_t i = 0; i < std::min(ranks.size(), ranks_max); ++i) {
    text += fmt::format("{} {}: {} ({:.1f} kB)",
                        i == 0 ? "" : ",",
                        ranks[i].second,
                        ranks[i].first.count_max,
                        static_cast<double>(ranks[i].first.bytes_max) * 1e-3);
  }
  return text + (ranks.size() > ranks_max ? ", less on others." : ".");
}

/// By rank.
nlohmann::json unexpected_to_json(const Prediction& prediction) {
  auto found = nlohmann::json::array();
  for (const RankTimes& rank : prediction.ranks) {
    found.push_back({{"at_once", rank.unexpected.count_max},
                     {"bytes_at_once", rank.unexpected.bytes_max},
                     {"copied", rank.unexpected.copied},
                     {"bytes_copied", rank.unexpected.copied_bytes}});
  }
  return found;
}

void print_agreement(const Agreement& agreement) {
  const auto quantiles = [](const char* name, const Quantiles<nanoseconds>& of) {
    fmt::print("  {:<10} p50 {:>12}   p90 {:>12}   p99 {:>12}\n",
               name,
               text_of(of.half),
               text_of(of.nine_tenths),
               text_of(of.most));
  };
  fmt::print("against the run: total {:+.1f} %; {} messages, from sent to notified:\n",
             100 * agreement.total_error,
             agreement.messages);
  quantiles("as logged", agreement.logged);
  quantiles("predicted", agreement.predicted);
  fmt::print("  {:<10} p50 {:>10.1f} %   p90 {:>10.1f} %   p99 {:>10.1f} %\n",
             "error",
             100 * agreement.error.half,
             100 * agreement.error.nine_tenths,
             100 * agreement.error.most);
}

nlohmann::json to_json(const Line& line) {
  return {{"name", line.name},
          {"total_ns", line.total.count()},
          {"communication_ns", line.communication.count()},
          {"wait_ns", line.wait.count()}};
}

nlohmann::json to_json(const Agreement& agreement) {
  const auto quantiles = [](const Quantiles<nanoseconds>& of) {
    return nlohmann::json{{"p50_ns", of.half.count()}, {"p90_ns", of.nine_tenths.count()}, {"p99_ns", of.most.count()}};
  };
  return {{"total_error", agreement.total_error},
          {"messages", agreement.messages},
          {"logged", quantiles(agreement.logged)},
          {"predicted", quantiles(agreement.predicted)},
          {"message_error_p50", agreement.error.half},
          {"message_error_p90", agreement.error.nine_tenths},
          {"message_error_p99", agreement.error.most}};
}

/// Takes the changes in the order of the command line.
void add_what_ifs(CLI::App& app, std::vector<WhatIf>& found) {
  constexpr const char* group = "What if (each may be given several times)";
  const auto add = [&](const char* name, const char* help, const auto& parse) {
    app.add_option_function<std::vector<std::string>>(
           name,
           [&found, parse](const std::vector<std::string>& texts) {
             std::ranges::transform(texts, std::back_inserter(found), parse);
           },
           help)
        ->allow_extra_args(false)
        ->group(group);
  };
  const auto factor = [&](const char* name, WhatIf::Kind kind, const char* help) {
    add(name, help, [kind](const std::string& text) {
      return WhatIf{.kind = kind, .value = parse_factor(text).value()};
    });
  };
  const auto count = [&](const char* name, WhatIf::Kind kind, const char* help) {
    add(name, help, [kind, name](const std::string& text) {
      const auto value = replay::detail::parse_count(text, 1'000'000);
      if (!value || *value == 0) {
        throw Error{ErrorCode::bad_argument, fmt::format("{} must be 1 or more", name)};
      }
      return WhatIf{.kind = kind, .value = static_cast<double>(*value)};
    });
  };
  factor("--latency", WhatIf::Kind::latency, "Latencies times this factor, as in x0.5");
  factor("--bandwidth", WhatIf::Kind::bandwidth, "Bandwidths of all links times this factor");
  factor("--overhead", WhatIf::Kind::overhead, "Overheads of messages at the processors times this factor");
  factor("--compute", WhatIf::Kind::compute, "Computing times times this factor; x0.25: on four times the cores");
  count("--cores", WhatIf::Kind::cores, "The tasks of a host on so many cores, perfectly balanced");
  add("--tile",
      "Copies of the ranks, joined at their edges: 8, or 4x2 along each dimension",
      [](const std::string& text) { return parse_tile(text).value(); });
  factor("--scale", WhatIf::Kind::scale, "A problem so many times as large, on the same ranks");
  app.add_flag_callback(
         "--aggregate",
         [&found] { found.push_back({.kind = WhatIf::Kind::aggregate}); },
         "The messages to one rank between two waits are one message")
      ->group(group);
  count("--placement", WhatIf::Kind::placement, "Ranks on each host");
  add("--eager", "Messages up to this size are sent eagerly, as in 64KiB", [](const std::string& text) {
    return WhatIf{.kind = WhatIf::Kind::eager, .value = static_cast<double>(parse_bytes(text).value())};
  });
  add("--progress", "When messages progress: ideal, calls, background:10us", [](const std::string& text) {
    return parse_progress(text).value();
  });
}

/// `run`: of the log, if there is one.
Scenario scenario_of(const Options& options, const std::optional<trace::RunTrace>& run) {
  auto schedule = run ? schedule_from_run(*run, options.asked.step) : synthetic_schedule(options.synthetic);
  Scenario scenario;
  scenario.platform = read_platform(options.asked.platform).value();
  scenario.options.model = options.asked.model == "flows" ? Model::flows : Model::points;
  if (run) {
    const Platform recorded_on =
        options.recorded_on.empty() ? scenario.platform : read_platform(options.recorded_on).value();
    schedule = with_computing_alone(std::move(schedule).value(), recorded_on, scenario.options);
  }
  scenario.schedule = std::make_shared<const Schedule>(std::move(schedule).value());
  scenario.options.tolerance = options.asked.tolerance;
  scenario.grid_choice = options.grid.empty() ? GridChoice{} : parse_grid(options.grid).value();
  scenario.dimension = options.dimension;
  if (!run && options.grid.empty()) {
    scenario.grid = synthetic_grid(options.synthetic).value();
  }
  scenario.options.keeps_times = !options.output.empty() || !options.asked.against.empty();
  return scenario;
}

Agreement agreement_with(const std::string& folder, const Scenario& scenario, const Prediction& prediction) {
  const Schedule other = schedule_from_folder(folder).value();
  Agreement agreement = compare(logged_latencies(other), predicted_latencies(*scenario.schedule, prediction));
  agreement.total_error = static_cast<double>((prediction.total - other.length).count()) /
                          static_cast<double>(std::max<std::int64_t>(1, other.length.count()));
  return agreement;
}

/// Prints the notices from a number on.
void print_notices(const std::vector<std::string>& notices, std::size_t from = 0) {
  for (std::size_t i = from; i < notices.size(); ++i) {
    fmt::print(stderr, "plait predict: {}\n", notices[i]);
  }
}

void predict_exchange(const Options& options, const std::optional<trace::RunTrace>& log) {
  const Scenario scenario = scenario_of(options, log);
  const std::size_t notices = scenario.schedule->notices.size();
  print_notices(scenario.schedule->notices);
  print_notices(unmeasured(*scenario.schedule, scenario.platform));
  const bool has_log = options.synthetic.empty();
  std::vector<Line> lines;
  if (has_log) {
    lines.push_back(line_of("as logged", logged(schedule_from_run(*log, options.asked.step).value())));
  }
  const std::size_t base = lines.size();
  Prediction prediction = run(scenario);
  Scenario last = scenario;
  lines.push_back(line_of("predicted", prediction));
  fmt::print("{} ranks on {}: {} messages, {:.3f} MB, model of {}\n",
             prediction.ranks.size(),
             scenario.platform.name.empty() ? options.asked.platform : scenario.platform.name,
             prediction.messages,
             static_cast<double>(prediction.bytes) * 1e-6,
             options.asked.model);
  std::optional<Agreement> agreement;
  if (!options.asked.against.empty()) {
    agreement = agreement_with(options.asked.against, scenario, prediction);
  }
  for (const WhatIf& what_if : options.asked.what_ifs) {
    last = with(scenario, {what_if}).value();
    print_notices(last.schedule->notices, notices);
    prediction = run(last);
    lines.push_back(line_of(what_if.name(), prediction));
  }
  if (options.asked.what_ifs.size() > 1) {
    last = with(scenario, options.asked.what_ifs).value();
    prediction = run(last);
    lines.push_back(line_of("all of these", prediction));
  }
  print_table(lines, base);
  const std::optional<nanoseconds> off = uncertainty(scenario, lines[base].total);
  fmt::print("{}\n{}\n", uncertainty_in_words(off), unexpected_in_words(prediction));
  print_notices(prediction.notices);
  nlohmann::json result{
      {"platform", scenario.platform.name}, {"model", options.asked.model}, {"lines", nlohmann::json::array()}};
  for (const Line& line : lines) {
    result["lines"].push_back(to_json(line));
  }
  result["unexpected"] = unexpected_to_json(prediction);
  if (off) {
    result["uncertainty_ns"] = off->count();
  }
  if (agreement) {
    print_agreement(*agreement);
    result["against"] = to_json(*agreement);
  }
  if (options.asked.has_advice) {
    const std::string sentence = advice(last, prediction.total);
    fmt::print("{}\n", sentence);
    result["advice"] = sentence;
  }
  if (!options.output.empty()) {
    write_prediction({options.output, last.platform.name, last.platform.ranks_per_host}, *last.schedule, prediction);
    fmt::print("wrote {}\n", options.output);
  }
  if (!options.asked.json.empty() && !(std::ofstream{options.asked.json} << result.dump(2) << "\n")) {
    throw Error{ErrorCode::io, options.asked.json + " cannot be written; check that its folder exists"};
  }
}

bool asks_of_tasks(const program::TaskQuestions& asked) {
  return !asked.workers.empty() || !asked.faster.empty() || !asked.without.empty() || !asked.times_of.empty() ||
         asked.has_all_gains;
}

/// Whether tasks are scheduled anew. A run that has calls of MPI as well is played on a platform: only so its calls
/// take the time that they take there.
bool schedules_tasks(const Options& options, const trace::RunTrace& run) {
  if (options.is_exchange || !program::has_tasks(run)) {
    return false;
  }
  if (!has_calls_and_tasks(run)) {
    return true;
  }
  if (!options.asked.platform.empty() && !asks_of_tasks(options.asked)) {
    return false;
  }
  fmt::print(stderr,
             "plait predict: tasks are scheduled anew, and calls of MPI take the time that they took; with --platform "
             "alone, both are played as an exchange\n");
  return true;
}

/// A run of tasks is scheduled by what its tasks depended on, any other played as an exchange.
void predict_all(const Options& options) {
  std::optional<trace::RunTrace> run;
  if (options.synthetic.empty()) {
    run = trace::read_run(options.log).value();
  }
  const program::TaskQuestions& asked = options.asked;
  if (run && schedules_tasks(options, *run)) {
    if (!options.output.empty()) {
      throw Error{ErrorCode::bad_argument,
                  "--output writes exchanges only, and this run has tasks: add --exchange for its messages alone"};
    }
    program::predict_task_run(*run, asked);
    return;
  }
  if (asks_of_tasks(asked)) {
    throw Error{
        ErrorCode::bad_argument,
        "--workers, --faster, --without, --times-of and --what-if are of runs with tasks, and this one has none: "
        "record a program of plait with `plait run`"};
  }
  if (asked.platform.empty()) {
    throw Error{ErrorCode::bad_argument, "--platform is missing: the machine to predict for"};
  }
  Options of_exchange = options;
  for (const std::uint32_t ranks : asked.ranks) {
    of_exchange.asked.what_ifs.push_back({.kind = WhatIf::Kind::ranks, .value = static_cast<double>(ranks)});
  }
  predict_exchange(of_exchange, run);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "plait-predict: how long a recorded run takes on a modelled machine, and what would change that.\n"
      "`plait predict` starts it, and finds platforms by name.\n\n"
      "  plait-predict runs/melt --platform cluster.json --latency x0.5\n",
      "plait-predict"};
  app.set_version_flag("--version", version_line("plait-predict"));
  Options options;
  app.add_option("LOG", options.log, "Folder of the recorded run");
  app.add_option("--synthetic", options.synthetic, synthetic_help());
  app.add_option("--step", options.asked.step, "Only this step of the run");
  app.add_option(
      "--platform", options.asked.platform, "Platform file; of runs with tasks, else the network as recorded");
  app.add_option("--recorded-on",
                 options.recorded_on,
                 "Platform file of the machine of the log, whose messages lengthened its computing [--platform]");
  app.add_option("--model", options.asked.model, "points (LogGPS) or flows (max-min fair sharing of links)")
      ->check(CLI::IsMember({"points", "flows"}));
  app.add_option("--tolerance", options.asked.tolerance, "Of flows: 0 is exact, 0.05 usual")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("-o,--output", options.output, "Write the prediction (with all changes) as a run folder");
  app.add_option("--against", options.asked.against, "Compare with this recorded or replayed run");
  app.add_option("--grid", options.grid, "The ranks of an exchange: 4x2, 4x2:periodic, 4x2:open, or all");
  app.add_option("--dimension", options.dimension, "Of the problem of --ranks and --scale")->check(CLI::Range(1, 9));
  app.add_flag("--exchange", options.is_exchange, "Of a run with tasks: only its messages, at logged times");
  constexpr const char* of_tasks = "Of runs with tasks (each may be given several times)";
  const auto counts = CLI::Range(1, 1'000'000);
  app.add_option("-w,--workers", options.asked.workers, "Workers of each rank")
      ->check(counts)
      ->allow_extra_args(false)
      ->group(of_tasks);
  app.add_option("-n,--ranks",
                 options.asked.ranks,
                 "Ranks: the tasks of neighbouring ones on one; of exchanges, the same problem cut finer")
      ->check(counts)
      ->allow_extra_args(false)
      ->group(of_tasks);
  app.add_option("--faster", options.asked.faster, "KIND=FACTOR: tasks of this kind so many times as fast")
      ->allow_extra_args(false)
      ->group(of_tasks);
  app.add_option("--without", options.asked.without, "KIND: tasks of this kind take no time")
      ->allow_extra_args(false)
      ->group(of_tasks);
  app.add_option("--times-of", options.asked.times_of, "Kinds take as long in a step as in this run")->group(of_tasks);
  app.add_flag("--what-if", options.asked.has_all_gains, "What each kind of task twice as fast would gain")
      ->group(of_tasks);
  app.add_option(
      "--tasks-max", options.asked.tasks_max, "Of longer runs, only steps from the middle with so many tasks");
  app.add_option("--json", options.asked.json, "Write the results to this file");
  app.add_flag("!--no-advice", options.asked.has_advice, "Do not search for the changes that help most");
  try {
    add_what_ifs(app, options.asked.what_ifs);
    if (const auto status = plait::end_after_parsing<CLI::ParseError>(app, argc, argv)) {
      return *status;
    }
    if (options.log.empty() == options.synthetic.empty()) {
      throw Error{ErrorCode::bad_argument, "give the folder of a run, or --synthetic"};
    }
    predict_all(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "plait predict: {}\n", error.what());
    return 1;
  }
  return 0;
}
