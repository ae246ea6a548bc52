// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/program/predict_tasks.hpp"

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "plait/replay/detail/description.hpp"
#include "plait/replay/predict/beside.hpp"
#include "plait/replay/predict/predict_tasks.hpp"
#include "plait/replay/predict/task_gains.hpp"
#include "plait/replay/predict/uncertainty.hpp"
#include "plait/replay/program/text.hpp"

namespace plait::replay::program {
namespace {

constexpr std::size_t kinds_tried = 4;

/// What one line of the table predicts.
struct Question {
  std::string name;
  Platform platform;
  TaskOptions options;
};

struct TaskLine {
  std::string name;
  nanoseconds total{};
  double use = 0;
};

/// The steps from the middle that have about so many tasks.
StepRange middle_steps(const trace::RunTrace& run, std::uint64_t tasks_max) {
  std::map<std::uint32_t, std::uint64_t> counts;
  std::uint64_t whole = 0;
  for (const trace::RankTrace& rank : run.ranks) {
    for (const auto& [thread, task] : rank.tasks) {
      ++counts[task.step];
      ++whole;
    }
  }
  if (tasks_max == 0 || whole <= tasks_max) {
    return {};
  }
  std::uint64_t before = 0;
  auto first = counts.begin();
  while (first != counts.end() && before + first->second <= (whole - tasks_max) / 2) {
    before += first++->second;
  }
  std::uint64_t taken = 0;
  StepRange steps{first->first, first->first};
  for (auto at = first; at != counts.end() && (at == first || taken + at->second <= tasks_max); ++at) {
    taken += at->second;
    steps.last = at->first;
  }
  return steps;
}

/// The change of the machine, or an error for those that only an exchange without tasks has.
void apply(Question& question, const WhatIf& what_if) {
  switch (what_if.kind) {
    case WhatIf::Kind::compute:
      question.options.compute_factor *= what_if.value;
      return;
    case WhatIf::Kind::cores:
    case WhatIf::Kind::aggregate:
    case WhatIf::Kind::tile:
    case WhatIf::Kind::ranks:
    case WhatIf::Kind::scale:
      throw Error{
          ErrorCode::bad_argument,
          fmt::format("'{}' is of exchanges, and this run has tasks: use --workers and --ranks, or --exchange to "
                      "predict its messages alone",
                      what_if.name())};
    default:
      break;
  }
  Scenario scenario{.platform = question.platform};
  question.platform = with(std::move(scenario), {what_if}).value().platform;
}

/// "walk=2": makes a kind of task twice as fast.
void apply_faster(Question& question, const TaskRun& run, const std::string& text) {
  const std::size_t at = text.rfind('=');
  if (at == std::string::npos) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("--faster {}: give the kind of task and a factor, such as walk=2", text)};
  }
  const std::uint32_t kind = find_kind(run, text.substr(0, at)).value();
  question.options.kind_factor.resize(run.kinds.size(), 1);
  question.options.kind_factor[kind] /= parse_factor(text.substr(at + 1)).value();
}

void apply_without(Question& question, const TaskRun& run, const std::string& name) {
  const std::uint32_t kind = find_kind(run, name).value();
  question.options.kind_factor.resize(run.kinds.size(), 1);
  question.options.kind_factor[kind] = 0;
}

/// The time of each kind of task in a step that has it, of all ranks.
std::map<std::string, double> times_of_kinds(const TaskRun& run) {
  std::map<std::string, std::pair<double, std::set<std::uint32_t>>> sums;
  for (const RunNode& node : run.nodes) {
    if (node.role == NodeRole::task) {
      auto& [time, steps] = sums[run.kinds[node.kind]];
      time += static_cast<double>((node.took - node.stolen).count());
      steps.insert(node.step);
    }
  }
  std::map<std::string, double> times;
  for (const auto& [kind, sum] : sums) {
    times[kind] = sum.first / static_cast<double>(sum.second.size());
  }
  return times;
}

/// Has each kind take as much time in a step as in another run, which may have other numbers of its tasks.
void apply_times_of(Question& question, const TaskRun& run, const std::string& folder) {
  const auto own = times_of_kinds(run);
  const auto theirs = times_of_kinds(tasks_of_folder(folder).value());
  question.options.kind_factor.resize(run.kinds.size(), 1);
  for (std::size_t kind = 0; kind < run.kinds.size(); ++kind) {
    const auto here = own.find(run.kinds[kind]);
    const auto there = theirs.find(run.kinds[kind]);
    if (here != own.end() && here->second > 0) {
      question.options.kind_factor[kind] *= (there == theirs.end() ? 0 : there->second) / here->second;
    }
  }
}

/// A line for each change alone, then one with all.
std::vector<Question> questions_of(const TaskRun& run, const TaskQuestions& asked, const Question& base) {
  std::vector<std::pair<std::string, std::function<void(Question&)>>> changes;
  for (const std::uint32_t workers : asked.workers) {
    changes.emplace_back(fmt::format("{} worker{} a rank", workers, workers == 1 ? "" : "s"),
                         [=](Question& question) { question.options.workers = workers; });
  }
  for (const std::uint32_t ranks : asked.ranks) {
    changes.emplace_back(fmt::format("{} rank{}", ranks, ranks == 1 ? "" : "s"),
                         [=](Question& question) { question.options.ranks = ranks; });
  }
  for (const std::string& text : asked.faster) {
    changes.emplace_back("faster " + text, [&run, text](Question& question) { apply_faster(question, run, text); });
  }
  if (!asked.without.empty()) {
    const std::size_t count = asked.without.size();
    const std::string kinds =
        count > 2 ? fmt::format("{} kinds", count) : fmt::format("{}", fmt::join(asked.without, ", "));
    changes.emplace_back("without " + kinds, [&](Question& question) {
      std::ranges::for_each(asked.without, [&](const std::string& kind) { apply_without(question, run, kind); });
    });
  }
  if (!asked.times_of.empty()) {
    changes.emplace_back("times of " + asked.times_of,
                         [&](Question& question) { apply_times_of(question, run, asked.times_of); });
  }
  for (const WhatIf& what_if : asked.what_ifs) {
    changes.emplace_back(what_if.name(), [what_if](Question& question) { apply(question, what_if); });
  }
  std::vector<Question> questions;
  for (const auto& [name, change] : changes) {
    questions.push_back(base);
    questions.back().name = name;
    change(questions.back());
  }
  if (changes.size() > 1) {
    questions.push_back(base);
    questions.back().name = "all of these";
    for (const auto& [name, change] : changes) {
      change(questions.back());
    }
  }
  return questions;
}

void print_task_table(const std::vector<TaskLine>& lines) {
  std::size_t width = 8;
  for (const TaskLine& line : lines) {
    width = std::max(width, line.name.size());
  }
  fmt::print("{:<{}}  {:>12}  {:>8}\n", "what if", width, "total", "in tasks");
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const TaskLine& line = lines[i];
    fmt::print("{:<{}}  {:>12}  {:>6.1f} %{}\n",
               line.name,
               width,
               text_of(line.total),
               100 * line.use,
               i == 1 ? "" : "  " + change(line.total, lines[1].total));
  }
}

TaskLine line_as_recorded(const TaskRun& run) {
  nanoseconds busy{};
  for (const RunNode& node : run.nodes) {
    busy += node.role == NodeRole::task ? node.took : nanoseconds{};
  }
  const double whole = static_cast<double>(run.length.count()) * run.ranks * run.workers;
  return {"as recorded", run.length, whole > 0 ? static_cast<double>(busy.count()) / whole : 0};
}

std::string in_words(const TaskUncertainty& off) {
  return fmt::format(
      "The last line is uncertain by {}: the prediction of the run as it was is off by as much as {}, {}.",
      text_of(off.whole()),
      text_of(off.model),
      off.steps < 2 ? std::string{"and how computing differs between steps is not known of one step"}
                    : fmt::format("computing that differs between {} steps by {}", off.steps, text_of(off.computing)));
}

/// What was predicted.
struct TaskAnswers {
  std::vector<TaskLine> lines;
  TaskUncertainty off;  ///< Of the last line.
  std::optional<nanoseconds> against;
  std::vector<TaskGain> gains;
  std::string sentence;
};

void write_results(const TaskQuestions& asked, const TaskAnswers& answers) {
  nlohmann::json result{{"platform", asked.platform}, {"of", "tasks"}, {"lines", nlohmann::json::array()}};
  result["uncertainty_ns"] = answers.off.whole().count();
  for (const TaskLine& line : answers.lines) {
    result["lines"].push_back({{"name", line.name}, {"total_ns", line.total.count()}, {"in_tasks", line.use}});
  }
  for (const TaskGain& gain : answers.gains) {
    result["gains"].push_back({{"what", gain.what}, {"gain", gain.gain}});
  }
  if (answers.against) {
    result["against"] = {{"total_ns", answers.against->count()}};
  }
  if (!answers.sentence.empty()) {
    result["advice"] = answers.sentence;
  }
  if (!(std::ofstream{asked.json} << result.dump(2) << "\n")) {
    throw Error{ErrorCode::io, asked.json + " cannot be written; check that its folder exists"};
  }
}

/// Of which tasks' times the predictions are made: what is measured, estimated, and not known.
std::vector<std::string> sentences_of_times(const TaskRun& run, const std::vector<Question>& questions) {
  std::vector<std::string> sentences;
  nanoseconds stolen{};
  nanoseconds computing{};
  for (const RunNode& node : run.nodes) {
    stolen += node.stolen;
    computing += node.took;
  }
  if (stolen > nanoseconds{}) {
    sentences.push_back(fmt::format(
        "Of the computing, {} ({:.1f} %) were taken by messages, as {}; each message that is left takes its part.",
        text_of(stolen),
        100 * static_cast<double>(stolen.count()) / static_cast<double>(computing.count()),
        run.stolen.is_measured ? "measured on the thread that polls" : "estimated from tasks with and without them"));
  }
  const std::uint32_t cores = run.ranks * run.workers;
  const bool is_elsewhere = std::ranges::any_of(questions, [&](const Question& question) {
    const std::uint32_t ranks = question.options.ranks > 0 ? question.options.ranks : run.ranks;
    const std::uint32_t workers = question.options.workers > 0 ? question.options.workers : run.workers;
    return ranks * workers != cores;
  });
  if (is_elsewhere) {
    sentences.push_back(fmt::format(
        "In the run, another core of the host computed during {:.0f} % of the computing; what that slowed is in these "
        "times as recorded. --times-of has those of another run, which may be of few steps.",
        100 * part_beside_others(run)));
  }
  return sentences;
}

}  // namespace

bool has_tasks(const trace::RunTrace& run) {
  return std::ranges::any_of(run.ranks, [](const auto& rank) { return !rank.tasks.empty(); });
}

void predict_task_run(const trace::RunTrace& trace, const TaskQuestions& asked) {
  const StepRange steps = asked.step ? StepRange{*asked.step, *asked.step} : middle_steps(trace, asked.tasks_max);
  const TaskRun run = tasks_of_run(trace, steps).value();
  Question base;
  base.platform = asked.platform.empty() ? platform_of(run) : read_platform(asked.platform).value();
  base.options.model = asked.model == "flows" ? Model::flows : Model::points;
  base.options.tolerance = asked.tolerance;
  std::vector<std::string> notices = run.notices;
  TaskAnswers answers{.lines = {line_as_recorded(run)}, .off = {}, .against = {}, .gains = {}, .sentence = {}};
  const auto predict_line = [&](const Question& question) {
    TaskPrediction prediction = predict_tasks(run, question.platform, question.options).value();
    answers.lines.push_back({question.name, prediction.total, prediction.use()});
    notices.insert(notices.end(), prediction.notices.begin(), prediction.notices.end());
    return prediction;
  };
  base.name = "predicted";
  const TaskPrediction first = predict_line(base);
  fmt::print("{} ranks of {} worker{}: {} tasks, {} messages, {:.3f} MB; {}\n",
             run.ranks,
             run.workers,
             run.workers == 1 ? "" : "s",
             first.tasks,
             first.messages,
             static_cast<double>(first.bytes) * 1e-6,
             base.platform.name.empty() ? asked.platform : base.platform.name);
  const std::vector<Question> questions = questions_of(run, asked, base);
  for (const Question& question : questions) {
    predict_line(question);
  }
  print_task_table(answers.lines);
  const Question& last = questions.empty() ? base : questions.back();
  answers.off = uncertainty_of_tasks(run, last.platform, last.options, answers.lines.back().total, first.total);
  fmt::print("{}\n", in_words(answers.off));
  for (const std::string& sentence :
       asked.has_advice ? sentences_of_times(run, questions) : std::vector<std::string>{}) {
    fmt::print("{}\n", sentence);
  }
  if (!asked.against.empty()) {
    answers.against = tasks_of_folder(asked.against).value().length;
    fmt::print("against {}: {}, the prediction is off by {}\n",
               asked.against,
               text_of(*answers.against),
               change(answers.lines.back().total, *answers.against));
  }
  if (asked.has_advice || asked.has_all_gains) {
    answers.gains =
        gains_of(run, last.platform, last.options, asked.has_all_gains ? run.kinds.size() : kinds_tried).value();
    answers.sentence = sentence_of(answers.gains);
    if (asked.has_all_gains) {
      for (const TaskGain& gain : answers.gains) {
        fmt::print("  {:>6.1f} %  {} twice as fast\n", 100 * gain.gain, gain.what);
      }
    }
    fmt::print("{}\n", answers.sentence);
  }
  std::ranges::sort(notices);
  notices.erase(std::ranges::unique(notices).begin(), notices.end());
  for (const std::string& notice : notices) {
    fmt::print(stderr, "plait predict: {}\n", notice);
  }
  if (!asked.json.empty()) {
    write_results(asked, answers);
  }
}

}  // namespace plait::replay::program
