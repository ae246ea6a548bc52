// SPDX-License-Identifier: Apache-2.0
// plait-balance: tries balancers on recorded loads. `plait balance` calls it.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "plait/base/clock.hpp"
#include "plait/base/command_line.hpp"
#include "plait/base/error.hpp"
#include "plait/data/balance/balancers.hpp"
#include "plait/data/balance/detail/placing.hpp"
#include "plait/data/balance/objective.hpp"
#include "plait/data/balance/recorded_loads.hpp"
#include "plait/data/balance/zoltan/entries.hpp"
#include "plait/version.hpp"
#ifdef PLAIT_WITH_ZOLTAN
#include "plait/net/mpi/session.hpp"
#endif

namespace {

namespace balance = plait::data::balance;
using balance::Problem;
using balance::RecordedLoads;

struct Options {
  std::vector<std::string> files;
  std::vector<std::string> balancers;
  std::uint32_t ranks = 0;
  std::optional<std::uint64_t> phase;
  balance::Weights weights;
  double memory_max = std::numeric_limits<double>::infinity();
  std::uint32_t ranks_per_node = 0;
  std::string output;
  std::string json;
  bool is_list = false;
};

/// One line of the table.
struct Line {
  std::string name;
  balance::Decision decision;
  balance::Score score;
  std::vector<double> loads;
  double seconds = 0;
};

std::string amount(double value) {
  constexpr std::array<const char*, 5> units{"", " k", " M", " G", " T"};
  std::size_t unit = 0;
  while (value >= 1000 && unit + 1 < units.size()) {
    value /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}{}", value, units[unit]);
}

/// Changes the number of ranks: objects of rank r go to rank r * ranks / recorded, and each rank gets the mean of the
/// recorded backgrounds.
void resize(Problem& problem, std::uint32_t ranks) {
  if (ranks == 0 || ranks == problem.rank_count) {
    return;
  }
  const double background =
      std::accumulate(problem.background.begin(), problem.background.end(), 0.0) / problem.rank_count;
  for (balance::Object& object : problem.objects) {
    object.rank =
        plait::Rank{static_cast<std::uint32_t>(std::uint64_t{object.rank.value()} * ranks / problem.rank_count)};
  }
  problem.rank_count = ranks;
  problem.background.assign(ranks, background);
  problem.node_of_rank.clear();
}

Problem problem_of(const Options& options, const RecordedLoads& recorded, std::uint64_t phase) {
  Problem problem = recorded.problem(phase);
  resize(problem, options.ranks);
  problem.weights = options.weights;
  problem.memory_max = options.memory_max;
  if (options.ranks_per_node > 0) {
    problem.node_of_rank.resize(problem.rank_count);
    for (std::uint32_t rank = 0; rank < problem.rank_count; ++rank) {
      problem.node_of_rank[rank] = rank / options.ranks_per_node;
    }
  }
  return problem;
}

/// Balancers by name. Those of Zoltan need MPI, which starts with the first of them, as that takes long.
class Balancers {
 public:
  Balancers(int& argc, char**& argv) : argc_{argc}, argv_{argv} {}

  [[nodiscard]] std::unique_ptr<balance::Balancer> make(const std::string& text) {
#ifdef PLAIT_WITH_ZOLTAN
    if (text.starts_with("zoltan") && !session_) {
      session_.emplace(argc_, argv_);
    }
#endif
    return balance::make_balancer(text, balance::entries_with_zoltan());
  }

 private:
  int& argc_;
  char**& argv_;
#ifdef PLAIT_WITH_ZOLTAN
  std::optional<plait::net::MpiSession> session_;
#endif
};

Line line_of(std::string name, const Problem& problem, balance::Decision decision, double seconds) {
  Line line{.name = std::move(name), .decision = std::move(decision), .seconds = seconds};
  line.score = balance::score(problem, line.decision.placement);
  line.loads = balance::rank_loads(problem, line.decision.placement);
  return line;
}

Line try_out(const std::string& name, const Problem& problem, Balancers& balancers) {
  const std::unique_ptr<balance::Balancer> balancer = balancers.make(name);
  const plait::SteadyClock clock;
  const plait::nanoseconds start = clock.now();
  balance::Decision decision = balancer->decide(problem);
  const double seconds = std::chrono::duration<double>{clock.now() - start}.count();
  if (decision.messages == 0) {
    balance::detail::count_as_gathered(problem, decision);
  }
  return line_of(name, problem, std::move(decision), seconds);
}

void print_table(const std::vector<Line>& lines) {
  std::size_t width = 8;
  for (const Line& line : lines) {
    width = std::max(width, line.name.size());
  }
  fmt::print(
      "{:<{}}   imbalance  rounds  messages     moved     bytes    between    between   decided\n", "balancer", width);
  fmt::print("{:<{}}                                 objects     moved      ranks      nodes     in ms\n", "", width);
  for (const Line& line : lines) {
    fmt::print("{:<{}}  {:>10.6f} {:>7} {:>9} {:>9} {:>9} {:>10} {:>10} {:>9.3f}\n",
               line.name,
               width,
               line.score.imbalance(),
               line.decision.rounds,
               amount(static_cast<double>(line.decision.messages)),
               amount(static_cast<double>(line.score.objects_moved)),
               amount(line.score.bytes_moved),
               amount(line.score.bytes_between_ranks),
               amount(line.score.bytes_between_nodes),
               line.seconds * 1e3);
  }
}

nlohmann::json to_json(const Line& line, const Problem& problem) {
  nlohmann::json placement = nlohmann::json::object();
  for (std::size_t i = 0; i < problem.objects.size(); ++i) {
    placement[std::to_string(problem.objects[i].id.value())] = line.decision.placement[i].value();
  }
  return {{"balancer", line.name},
          {"imbalance", line.score.imbalance()},
          {"load_max_s", line.score.load_max},
          {"cost_max_s", line.score.cost_max},
          {"rounds", line.decision.rounds},
          {"messages", line.decision.messages},
          {"message_bytes", line.decision.message_bytes},
          {"objects_moved", line.score.objects_moved},
          {"bytes_moved", line.score.bytes_moved},
          {"bytes_between_ranks", line.score.bytes_between_ranks},
          {"bytes_between_nodes", line.score.bytes_between_nodes},
          {"memory_max_bytes", line.score.memory_max},
          {"decided_s", line.seconds},
          {"loads_s", line.loads},
          {"placement", std::move(placement)}};
}

void write_json(const std::string& path, const nlohmann::json& whole) {
  if (!(std::ofstream{path} << whole.dump(1) << "\n")) {
    throw plait::Error{plait::ErrorCode::io, path + " cannot be written"};
  }
}

/// The balancer with the least cost; of equal ones the first.
const Line& best_of(const std::vector<Line>& lines) {
  const auto cost = [](const Line& line) { return line.score.cost_max; };
  return *std::ranges::min_element(lines.begin() + 1, lines.end(), {}, cost);
}

/// The requested balancers, or all.
std::vector<std::string> names_of(const Options& options) {
  if (!options.balancers.empty()) {
    return options.balancers;
  }
  std::vector<std::string> names;
  for (const auto& entry : balance::balancer_entries()) {
    names.emplace_back(entry.name);
  }
  return names;
}

nlohmann::json result_of(const Problem& problem, const std::vector<Line>& lines) {
  nlohmann::json result{{"ranks", problem.rank_count},
                        {"objects", problem.objects.size()},
                        {"load_mean_s", lines.front().score.load_mean},
                        {"load_bound_s", balance::load_bound(problem)},
                        {"best", best_of(lines).name},
                        {"lines", nlohmann::json::array()}};
  for (const Line& line : lines) {
    result["lines"].push_back(to_json(line, problem));
  }
  return result;
}

void balance_all(const Options& options, Balancers& balancers) {
  const std::vector<std::filesystem::path> paths(options.files.begin(), options.files.end());
  const RecordedLoads recorded{paths};
  const std::vector<std::uint64_t> phases = recorded.phases();
  if (phases.empty() && !options.phase) {
    throw plait::Error{plait::ErrorCode::bad_input,
                       "no phase is in the files of all ranks: there is nothing to balance"};
  }
  const std::uint64_t phase = options.phase ? *options.phase : phases.back();
  const Problem problem = problem_of(options, recorded, phase);
  balance::check(problem);

  std::vector<Line> lines{line_of("as it is", problem, {.placement = balance::present_placement(problem)}, 0)};
  const double mean = lines.front().score.load_mean;
  fmt::print("phase {} of {}: {} objects on {} ranks, mean load {:.6g} s, no imbalance below {:.6f}\n",
             phase,
             phases.empty() ? "those" : fmt::format("{} to {}", phases.front(), phases.back()),
             problem.objects.size(),
             problem.rank_count,
             mean,
             mean > 0 ? std::max(0.0, balance::load_bound(problem) / mean - 1) : 0);
  for (const std::string& name : names_of(options)) {
    lines.push_back(try_out(name, problem, balancers));
  }
  print_table(lines);
  if (!options.json.empty()) {
    nlohmann::json result = result_of(problem, lines);
    result["phase"] = phase;
    result["phases"] = phases;
    write_json(options.json, result);
  }
  if (!options.output.empty()) {
    const Line& best = best_of(lines);
    const auto written = balance::write_placement(recorded, phase, best.decision.placement, options.output);
    fmt::print("wrote the placement of {} as {} to {}\n", best.name, written.front().string(), written.back().string());
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "plait-balance: tries balancers on recorded loads (vt's LB statistics, one file a rank).\n"
      "`plait balance` starts it, and draws pictures.\n\n"
      "  plait-balance runs/first/stats.*.json --balancer refine -o better\n",
      "plait-balance"};
  app.set_version_flag("--version", plait::version_line("plait-balance"));
  Options options;
  app.add_option("FILES", options.files, "Files of load statistics, one for each rank");
  app.add_option("--balancer", options.balancers, "Name, or name:option=value,...; may be given several times");
  app.add_option("-n,--ranks", options.ranks, "Place on so many ranks, instead of those recorded");
  app.add_option("--phase", options.phase, "Which phase; by default the last that all ranks have");
  app.add_option("--between-ranks", options.weights.between_ranks, "Seconds a byte between two ranks of a node costs");
  app.add_option("--between-nodes", options.weights.between_nodes, "Seconds a byte between two nodes costs");
  app.add_option("--moved", options.weights.moved, "Seconds a byte that moves costs, spread over the phases to come");
  app.add_option("--memory", options.memory_max, "Bytes of objects that a rank may keep");
  app.add_option("--ranks-per-node", options.ranks_per_node, "Instead of the nodes that were recorded");
  app.add_option("-o,--output", options.output, "Write the best placement as files PREFIX.RANK.json");
  app.add_option("--json", options.json, "Write the results there");
  app.add_flag("--list", options.is_list, "Show the balancers and end");
  try {
    if (const auto status = plait::end_after_parsing<CLI::ParseError>(app, argc, argv)) {
      return *status;
    }
    if (options.is_list) {
      for (const auto& entry : balance::entries_with_zoltan()) {
        fmt::print("{:<14} {}\n", entry.name, entry.what);
      }
    } else {
      Balancers balancers{argc, argv};
      balance_all(options, balancers);
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "plait balance: {}\n", error.what());
    return 1;
  }
  return 0;
}
