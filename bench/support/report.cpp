// SPDX-License-Identifier: Apache-2.0
#include "support/report.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "plait/base/topology.hpp"
#include "plait/version.hpp"

#include "support/command.hpp"
#ifdef PLAIT_WITH_MPI
#include <mpi.h>
#endif

namespace bench {

namespace {

/// Before MPI_Init and after MPI_Finalize, the launcher's environment variables have the rank.
bool is_first_rank() {
#ifdef PLAIT_WITH_MPI
  int has_begun = 0;
  int has_ended = 0;
  MPI_Initialized(&has_begun);
  MPI_Finalized(&has_ended);
  if (has_begun != 0 && has_ended == 0) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank == 0;
  }
#endif
  for (const char* const name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "FLUX_TASK_RANK", "SLURM_PROCID"}) {
    if (const char* const value = std::getenv(name)) {
      return std::string_view{value} == "0";
    }
  }
  return true;
}

/// The first line that a command prints; empty when it cannot be run.
std::string first_line_of(const std::string& command) {
  const std::string text = output_of(command).text;
  return text.substr(0, text.find('\n'));
}

std::string mpi_version() {
#ifdef PLAIT_WITH_MPI
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string all{text, static_cast<std::size_t>(length)};
  std::string line = all.substr(0, all.find_first_of(",\n"));
  std::ranges::replace(line, '\t', ' ');  // MPICH sets its version apart with one
  return line;
#else
  return "none";
#endif
}

nlohmann::json machine() {
  return {{"cores", plait::machine_core_count()},
          {"processor", first_line_of("sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1")},
          {"mpi", mpi_version()},
          {"strategy", std::getenv("PLAIT_STRATEGY")}};
}

template <class T>
nlohmann::json or_null(const T& value, bool is_there) {
  return is_there ? nlohmann::json(value) : nlohmann::json(nullptr);
}

std::string label_of(const Row& row) {
  std::string label = row.name;
  for (const auto& [key, value] : row.params) {
    label += fmt::format(" {}={}", key, value);
  }
  return label;
}

bool is_reached(const Row& row) {
  return row.wanted->is_reached_by(row.value.median);
}

/// The column of the wanted figure; empty for a row without.
std::string wanted_of(const Row& row) {
  return row.wanted ? fmt::format("{} {}", row.wanted->in_words(), is_reached(row) ? "reached" : "MISSED") : "";
}

nlohmann::json to_json(const Row& row) {
  nlohmann::json peers = nlohmann::json::array();
  for (const Peer& peer : row.peers) {
    peers.push_back({{"name", peer.name}, {"value", peer.median}, {"best", peer.best}});
  }
  nlohmann::json result{{"name", row.name},
                        {"params", row.params},
                        {"value", row.value.median},
                        {"unit", row.unit},
                        {"low", row.value.low},
                        {"high", row.value.high},
                        {"peer", or_null(row.peer, !row.peer.empty())},
                        {"peer_value", or_null(row.peer_value.value_or(0), row.peer_value.has_value())},
                        {"bound", or_null(row.bound, !row.bound.empty())},
                        {"bound_value", or_null(row.bound_value.value_or(0), row.bound_value.has_value())}};
  if (row.best) {
    result["best"] = *row.best;
  }
  if (!peers.empty()) {
    result["peers"] = peers;
  }
  if (row.wanted) {
    result["wanted"] = {{"limit", row.wanted->limit == Wanted::Limit::at_most ? "at most" : "at least"},
                        {"value", row.wanted->value},
                        {"basis", or_null(row.wanted->basis, !row.wanted->basis.empty())},
                        {"reached", is_reached(row)}};
  }
  return result;
}

}  // namespace

Spread::Spread(const std::vector<double>& values)
    : Spread{quantile(values, 0.5), quantile(values, 0.25), quantile(values, 0.75)} {}

Report::Report(std::string name,
               std::string claim,
               const Place& place,
               int argc,
               char** argv,
               const std::function<void(CLI::App&)>& add_options)
    : name_{std::move(name)}, claim_{std::move(claim)} {
  ::setenv("PLAIT_STRATEGY", "default", 0);  // figures are of the defaults, unless the user wants a strategy's
  bool describes = false;
  CLI::App app{claim_, "plait bench " + name_};
  app.set_version_flag("--version", plait::version_line("bench_" + name_));
  app.add_flag("--full", is_full_, "more sizes and repetitions");
  app.add_option("--json", json_file_, "also write the results to this file");
  if (place.has_model) {
    app.add_flag("--model", is_model_, "on a modelled network, where there can be no lab");
  }
  app.add_flag("--describe", describes, "print what this benchmark shows, as JSON, and end");
  if (add_options) {
    add_options(app);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (is_first_rank()) {
      app.exit(error);
    }
    std::exit(error.get_exit_code() == 0 ? 0 : 2);
  }
  if (describes) {
    const nlohmann::json description{{"bench", name_},
                                     {"claim", claim_},
                                     {"ranks", place.ranks},
                                     {"network", place.network == Network::lab ? "lab" : "here"},
                                     {"links", place.links},
                                     {"model", place.has_model}};
    fmt::print("{}\n", description.dump());
    std::exit(0);
  }
  command_ = fmt::format("{}", fmt::join(argv, argv + argc, " "));
  command_ = command_.substr(command_.substr(0, command_.find(' ')).rfind('/') + 1);
}

std::string Report::network() const {
  if (is_model_) {
    return "model";
  }
  const char* const lab = std::getenv("PLAIT_LAB");  // set by `plait lab` for what runs in it
  return lab != nullptr ? fmt::format("lab: {}", lab) : "this host";
}

void Report::add(Row row) {
  if (const auto fastest = std::ranges::min_element(row.peers, {}, &Peer::median); fastest != row.peers.end()) {
    row.peer = fastest->name;
    row.peer_value = fastest->median;
  }
  if (row.wanted) {
    row.wanted = resolved(*row.wanted, row.peer, row.peer_value);
  }
  rows_.push_back(std::move(row));
}

void Report::note(std::string sentence) {
  if (std::ranges::find(notes_, sentence) == notes_.end()) {
    notes_.push_back(std::move(sentence));
  }
}

void Report::finish() const {
  if (is_first_rank()) {
    print();
    write_file();
  }
}

void Report::print() const {
  fmt::print("{}: {} ({})\n", name_, claim_, network());
  if (const std::string_view strategy = std::getenv("PLAIT_STRATEGY"); strategy != "default") {
    fmt::print("options are chosen by PLAIT_STRATEGY={}\n", strategy);
  }
  std::size_t width = 0;
  std::size_t wanted_width = 0;
  for (const Row& row : rows_) {
    width = std::max(width, label_of(row).size());
    wanted_width = std::max(wanted_width, wanted_of(row).size());
  }
  const auto wanted_column = [wanted_width](const std::string& text) {
    return wanted_width == 0 ? "" : fmt::format("  {:<{}}", text, wanted_width);
  };
  fmt::print(
      "{:<{}} {:>12} {:>25}  {:<8}{} {:>12}\n", "", width, "median", "quartiles", "", wanted_column("wanted"), "peer");
  for (const Row& row : rows_) {
    fmt::print("{:<{}} {:>12.5g} {:>12.5g} {:>12.5g}  {:<8}{} {:>12}  {}{}\n",
               label_of(row),
               width,
               row.value.median,
               row.value.low,
               row.value.high,
               row.unit,
               wanted_column(wanted_of(row)),
               row.peer_value ? fmt::format("{:.5g}", *row.peer_value) : "",
               row.peer,
               row.bound_value ? fmt::format("  [{}: {:.5g}]", row.bound, *row.bound_value) : "");
    if (row.best) {
      fmt::print("    {:<44} {:>12.5g}  best {:.4g}\n", "this", row.value.median, *row.best);
    }
    for (const Peer& peer : row.peers) {
      fmt::print("    {:<44} {:>12.5g}  best {:.4g}\n", peer.name, peer.median, peer.best);
    }
  }
  for (const std::string& sentence : notes_) {
    fmt::print("{}\n", sentence);
  }
  print_wanted();
}

void Report::print_wanted() const {
  std::vector<std::string> missed;
  std::size_t count = 0;
  for (const Row& row : rows_) {
    count += row.wanted ? 1 : 0;
    if (row.wanted && !is_reached(row)) {
      const std::string unit = row.unit == "1" ? "" : row.unit;
      missed.push_back(fmt::format("{}: {:.4g}{}{}, wanted {}{}",
                                   label_of(row),
                                   row.value.median,
                                   unit.empty() ? "" : " ",
                                   unit,
                                   row.wanted->in_words(),
                                   row.wanted->basis.empty() ? "" : fmt::format(" ({})", row.wanted->basis)));
    }
  }
  if (count > 0) {
    fmt::print("{} of {} wanted figures reached{}\n", count - missed.size(), count, missed.empty() ? "" : "; missed:");
  }
  for (const std::string& sentence : missed) {
    fmt::print("  {}\n", sentence);
  }
}

void Report::write_file() const {
  if (json_file_.empty()) {
    return;
  }
  nlohmann::json results = nlohmann::json::array();
  for (const Row& row : rows_) {
    results.push_back(to_json(row));
  }
  std::ofstream file{json_file_};
  file << nlohmann::json{{"bench", name_},
                         {"commit", first_line_of("git rev-parse --short HEAD 2>/dev/null")},
                         {"machine", machine()},
                         {"network", network()},
                         {"command", command_},
                         {"seconds", watch_.seconds()},
                         {"notes", notes_},
                         {"results", results}}
              .dump(2)
       << '\n';
  if (!file) {
    fmt::print(stderr, "cannot write {}\n", json_file_);
    std::exit(1);
  }
}

}  // namespace bench
