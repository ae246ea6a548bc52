// SPDX-License-Identifier: Apache-2.0
// What `plait record` costs the recorded program, and what `--progress` costs and gains. Runs with and without
// recording alternate; each pair of runs gives one ratio.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "plait/testing/temporary_folder.hpp"

#include "support/command.hpp"
#include "support/computation.hpp"
#include "support/report.hpp"

namespace {

namespace filesystem = std::filesystem;

const std::string source_folder = PLAIT_SOURCE_FOLDER;

/// Everything that a command prints; empty when it fails.
std::string text_of(const std::string& command) {
  bench::CommandOutput output = bench::output_of(command);
  if (!output.is_good) {
    fmt::print(stderr, "{}\nfailed: {}\n", output.text, command);
    return "";
  }
  return std::move(output.text);
}

enum class Recording { none, plain, with_progress, profile, with_windows, with_paths, sampled, often_sampled };

/// What the recorder reads of the environment, beside its folder.
const char* variables_of(Recording recording) {
  switch (recording) {
    case Recording::with_progress:
      return "PLAIT_RECORD_PROGRESS=1";
    case Recording::profile:
      return "PLAIT_RECORD_PROFILE=1";
    case Recording::with_windows:
      return "PLAIT_RECORD_PROFILE=1 PLAIT_RECORD_WINDOW=10ms/1s";
    case Recording::with_paths:
      return "PLAIT_RECORD_CALL_PATH=4";
    case Recording::sampled:
      return "PLAIT_RECORD_SAMPLE=100";
    case Recording::often_sampled:
      return "PLAIT_RECORD_SAMPLE=1000";
    default:
      return "";
  }
}

/// Creates the command lines; owns the folder of the recordings.
class Commands {
 public:
  Commands() {
    const filesystem::path own = filesystem::read_symlink("/proc/self/exe").parent_path();
    library_ = own.parent_path() / "lib/libplait-record.so";
    program_ = own / "record/bench_record_program";
  }

  [[nodiscard]] bool is_ready() const { return filesystem::exists(library_) && filesystem::exists(program_); }
  /// Deletes the previous recording: the folder has one at a time.
  [[nodiscard]] std::string recorded(Recording recording, const std::string& command) const {
    const filesystem::path run = scratch_ / "run";
    filesystem::remove_all(run);
    if (recording == Recording::none) {
      return command;
    }
    return fmt::format("env LD_PRELOAD={} PLAIT_RECORD_FOLDER={} {} {}",
                       library_.string(),
                       run.string(),
                       variables_of(recording),
                       command);
  }
  [[nodiscard]] static std::string here(int ranks, const std::string& command) {
    return fmt::format("{}/tools/mpiexec {} {}", source_folder, ranks, command);
  }
  [[nodiscard]] static std::string in_lab(const std::string& command) {
    return fmt::format("{}/bench/lab/run --hosts 2 --rate 1gbit -- /usr/bin/{}", source_folder, command);
  }
  [[nodiscard]] std::string program(const std::string& arguments) const { return program_.string() + " " + arguments; }

 private:
  filesystem::path library_;
  filesystem::path program_;
  plait::test::TemporaryFolder scratch_;
};

/// Percent that `second` is longer than `first`.
double overhead_percent(double first, double second) {
  return 100 * (second - first) / first;
}

class Benchmark {
 public:
  Benchmark(bench::Report& report, const Commands& commands) : report_{report}, commands_{commands} {}

  void run() {
    measure_calls();
    measure_melt();
    measure_gain();
  }

 private:
  [[nodiscard]] int pairs() const { return report_.is_full() ? 15 : 5; }

  void add(const std::string& name, const std::string& of, const std::vector<double>& values, const char* unit) {
    report_.add({name, {{"of", of}}, values, unit});
  }

  void measure_calls() {
    constexpr double events_of_call = 5.0 / 3;  // three calls; one message sent, one received
    constexpr std::array ways{
        Recording::none, Recording::plain, Recording::profile, Recording::with_windows, Recording::with_paths};
    std::array<std::vector<double>, ways.size()> costs;
    for (int pair = 0; pair < pairs(); ++pair) {
      std::array<double, ways.size()> seconds{};
      for (std::size_t way = 0; way < ways.size(); ++way) {
        const std::string command = commands_.recorded(ways[way], commands_.program("calls 200"));
        const auto measured = bench::numbers_after("seconds", text_of(Commands::here(1, command)));
        if (measured.empty()) {
          report_.note("the program of calls did not run");
          return;
        }
        seconds[way] = measured[0];
        costs[way].push_back(1e9 * (seconds[way] - seconds[0]) / events_of_call);
      }
    }
    add("cost of an event", "messages to itself", costs[1], "ns");
    add("cost of an event", "messages to itself, in a profile", costs[2], "ns");
    add("cost of an event", "messages to itself, in a profile with windows", costs[3], "ns");
    add("cost of an event", "messages to itself, with call paths of 4", costs[4], "ns");
  }

  /// The time of the steps that LAMMPS reports, which excludes input and finalisation.
  [[nodiscard]] std::optional<double> melt_seconds(Recording recording) const {
    const std::string melt = fmt::format("lmp -in {}/tests/record/programs/melt.in -var n {} -var steps {} -log none",
                                         source_folder,
                                         report_.is_full() ? 20 : 14,
                                         report_.is_full() ? 400 : 250);
    const std::string text = text_of(Commands::here(2, commands_.recorded(recording, melt)));
    const std::string mark = "Loop time of ";
    const std::size_t place = text.find(mark);
    if (place == std::string::npos) {
      return {};
    }
    return std::strtod(text.c_str() + place + mark.size(), nullptr);
  }

  void measure_melt() {
    if (text_of("command -v lmp").empty()) {
      report_.note("no LAMMPS here (apt-get install lammps): what recording costs it was not measured");
      return;
    }
    using enum Recording;
    constexpr std::array ways{none, plain, with_progress, with_paths, sampled, often_sampled, none};
    std::array<std::vector<double>, ways.size()> overheads;
    for (int pair = 0; pair < pairs(); ++pair) {
      // The order alternates, as later programs run on a warmer or busier machine.
      std::array<double, ways.size()> seconds{};
      for (std::size_t i = 0; i < ways.size(); ++i) {
        const std::size_t at = pair % 2 == 0 ? i : ways.size() - 1 - i;
        const auto measured = melt_seconds(ways[at]);
        if (!measured) {
          report_.note("LAMMPS did not run");
          return;
        }
        seconds[at] = *measured;
      }
      const double alone = 0.5 * (seconds.front() + seconds.back());
      for (std::size_t way = 1; way < ways.size(); ++way) {
        overheads[way].push_back(overhead_percent(ways[way] == none ? seconds.front() : alone, seconds[way]));
      }
    }
    add("overhead", "recording LAMMPS' melt", overheads[1], "%");
    add("overhead", "recording LAMMPS' melt with --progress", overheads[2], "%");
    add("overhead", "recording LAMMPS' melt with call paths of 4", overheads[3], "%");
    add("overhead", "recording LAMMPS' melt with 100 samples a second", overheads[4], "%");
    add("overhead", "recording LAMMPS' melt with 1000 samples a second", overheads[5], "%");
    add("overhead", "nothing: LAMMPS' melt twice", overheads[6], "%");
  }

  /// Between two hosts of the lab; the computation takes as long as the exchange.
  void measure_gain() {
    constexpr std::size_t bytes = std::size_t{4} << 20U;
    const int rounds = report_.is_full() ? 15 : 7;
    const auto sample = [&](Recording recording, std::uint64_t steps) {
      std::string command = commands_.program(fmt::format("exchange {} {} {}", bytes, rounds, steps));
      command = recording == Recording::none ? "env " + command : commands_.recorded(recording, command);
      return bench::numbers_after("seconds", text_of(Commands::in_lab(command)));
    };
    const auto first = sample(Recording::none, 0);
    if (first.size() != 3) {
      report_.note("no lab here (see plait doctor): what --progress gains was not measured");
      return;
    }
    const std::uint64_t steps = bench::computation_of(first[0]);
    std::vector<double> gains;
    for (int pair = 0; pair < pairs(); ++pair) {
      const auto without = sample(Recording::none, steps);
      const auto with = sample(Recording::with_progress, steps);
      if (without.size() != 3 || with.size() != 3) {
        report_.note("a run in the lab failed");
        continue;
      }
      const double possible = without[2] - std::max(without[0], without[1]);
      gains.push_back(100 * (without[2] - with[2]) / possible);
    }
    add("gain of --progress, of the possible", "4 MiB both ways, computing between", gains, "%");
  }

  bench::Report& report_;
  const Commands& commands_;
};

}  // namespace

int main(int argc, char** argv) {
  bench::Report report{
      "record",
      "recording costs a program below 3 % and 150 ns an event; progress in the background hides 70 % of "
      "what can be hidden",
      1,
      argc,
      argv};
  const Commands commands;
  if (!commands.is_ready()) {
    std::fprintf(stderr, "there is no lib/libplait-record.so or no record/bench_record_program beside this program\n");
    return 1;
  }
  Benchmark{report, commands}.run();
  report.finish();
  return 0;
}
