// SPDX-License-Identifier: Apache-2.0
#include "support/report.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "plait/base/topology.hpp"
#ifdef PLAIT_WITH_MPI
#include <mpi.h>
#endif

namespace bench {

namespace {

/// The first line that a command prints; empty when it cannot be run.
std::string output_of(const char* command) {
  std::string line;
  if (FILE* const pipe = popen(command, "r")) {
    char buffer[256];
    if (std::fgets(buffer, sizeof buffer, pipe) != nullptr) {
      line = buffer;
    }
    pclose(pipe);
  }
  while (!line.empty() && (line.back() == '\n' || line.back() == ' ')) {
    line.pop_back();
  }
  return line;
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
          {"processor", output_of("sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1")},
          {"mpi", mpi_version()}};
}

template <class T>
nlohmann::json or_null(const T& value, bool is_there) {
  return is_there ? nlohmann::json(value) : nlohmann::json(nullptr);
}

/// The lines below a row that has several peers; empty for others.
std::string all_peers(const Row& row) {
  std::string lines;
  for (const Peer& peer : row.peers) {
    lines += fmt::format("    {:<44} {:>12.5g}  best {:.4g}\n", peer.name, peer.median, peer.best);
  }
  return lines;
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
  return result;
}

}  // namespace

Spread spread_of(std::vector<double> values) {
  if (values.empty()) {
    return {};
  }
  std::ranges::sort(values);
  const auto at = [&](double part) {
    return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1) + 0.5)];
  };
  return {at(0.5), at(0.25), at(0.75)};
}

Report::Report(std::string name, std::string claim, Place place, int argc, char** argv)
    : name_{std::move(name)}, claim_{std::move(claim)} {
  for (int i = 0; i < argc; ++i) {
    command_ += (i > 0 ? " " : "") + std::string{argv[i]};
  }
  command_ = command_.substr(command_.substr(0, command_.find(' ')).rfind('/') + 1);
  for (int i = 1; i < argc; ++i) {
    if (!takes(i, argc, argv, place)) {
      fmt::print(stderr, "unknown option {}\n{}", argv[i], usage(place));
      std::exit(2);
    }
  }
}

bool Report::takes(int& index, int argc, char** argv, const Place& place) {
  const std::string_view argument{argv[index]};
  if (argument == "--full") {
    is_full_ = true;
  } else if (argument == "--model" && place.network == Network::lab) {
    is_model_ = true;
  } else if (argument == "--json" && index + 1 < argc) {
    json_file_ = argv[++index];
  } else if (argument == "--describe") {
    const char* const network = place.network == Network::lab ? "lab" : "here";
    const nlohmann::json told{{"bench", name_}, {"claim", claim_}, {"ranks", place.ranks}, {"network", network}};
    fmt::print("{}\n", told.dump());
    std::exit(0);
  } else if (argument == "--help") {
    fmt::print("{}", usage(place));
    std::exit(0);
  } else {
    return false;
  }
  return true;
}

std::string Report::usage(const Place& place) const {
  const bool has_model = place.network == Network::lab;
  return fmt::format(
      "{}: {}\nUsage: plait bench {} [--full] [--json FILE]{}\n  --full  more sizes and repetitions\n  "
      "--json  also write the results to FILE\n{}",
      name_,
      claim_,
      name_,
      has_model ? " [--model]" : "",
      has_model ? "  --model  on a modelled network, where there can be no lab\n" : "");
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
  rows_.push_back(std::move(row));
}

void Report::note(std::string sentence) {
  if (std::ranges::find(notes_, sentence) == notes_.end()) {
    notes_.push_back(std::move(sentence));
  }
}

void Report::finish() const {
  fmt::print("{}: {} ({})\n", name_, claim_, network());
  fmt::print("{:<34} {:>12} {:>25}  {:<8} {:>12}  {}\n", "", "median", "quartiles", "", "peer", "");
  nlohmann::json results = nlohmann::json::array();
  for (const Row& row : rows_) {
    std::string label = row.name;
    for (const auto& [key, value] : row.params) {
      label += fmt::format(" {}={}", key, value);
    }
    fmt::print("{:<34} {:>12.5g} {:>12.5g} {:>12.5g}  {:<8} {:>12}  {}\n",
               label,
               row.value.median,
               row.value.low,
               row.value.high,
               row.unit,
               row.peer_value ? fmt::format("{:.5g}", *row.peer_value) : "",
               row.peer);
    if (row.best) {
      fmt::print("    {:<44} {:>12.5g}  best {:.4g}\n", "this", row.value.median, *row.best);
    }
    fmt::print("{}", all_peers(row));
    results.push_back(to_json(row));
  }
  for (const std::string& sentence : notes_) {
    fmt::print("{}\n", sentence);
  }
  if (json_file_.empty()) {
    return;
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  std::ofstream file{json_file_};
  file << nlohmann::json{{"bench", name_},
                         {"commit", output_of("git rev-parse --short HEAD 2>/dev/null")},
                         {"machine", machine()},
                         {"network", network()},
                         {"command", command_},
                         {"seconds", seconds},
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
