// SPDX-License-Identifier: Apache-2.0
/// plait-replay: sends the messages of a recorded run again, on the real network. One process for each rank of the log.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mpi.h>
#include <nlohmann/json.hpp>

#include "plait/base/clock.hpp"
#include "plait/base/command_line.hpp"
#include "plait/base/error.hpp"
#include "plait/data/serialize.hpp"
#include "plait/net/mpi/session.hpp"
#include "plait/replay/backend/mpi/make_backend.hpp"
#include "plait/replay/backend/mpi/ranks.hpp"
#include "plait/replay/change.hpp"
#include "plait/replay/check.hpp"
#include "plait/replay/fold.hpp"
#include "plait/replay/from_trace.hpp"
#include "plait/replay/player.hpp"
#include "plait/replay/synthetic.hpp"
#include "plait/replay/watch.hpp"
#include "plait/trace/meta.hpp"
#include "plait/version.hpp"

namespace {

using namespace plait;
using namespace plait::replay;
using Json = nlohmann::ordered_json;

/// The command line of plait-replay; the same on all ranks.
struct ReplaySettings {
  std::filesystem::path log;
  std::string synthetic;
  std::optional<std::uint32_t> step;
  std::uint32_t ranks = 0;  ///< 0: as many as logged.
  std::string backend = "mpi";
  std::string threads = "one";
  double scale = 1;
  double delay_microseconds = 0;
  std::string rate = "max";
  std::string computing = "keep";
  std::uint32_t repetitions = 1;
  bool is_checked = false;
  double stall_seconds = 30;
  std::filesystem::path output;  ///< Empty: no log is written.
  std::vector<std::string> command;
};

void add_options(CLI::App& app, ReplaySettings& settings) {
  auto* const log = app.add_option("log", settings.log, "Folder of the recorded run");
  app.add_option("--synthetic", settings.synthetic, "Generate the exchange instead; keys:\n" + synthetic_help())
      ->excludes(log);
  app.add_option("--step", settings.step, "Only this step of the run");
  app.add_option(
      "-n,--ranks", settings.ranks, "Fold or tile the exchange onto this many ranks [as many as in the log]");
  app.option_defaults()->always_capture_default();
  app.add_option("--backend", settings.backend, "The library that moves the messages")
      ->check(CLI::IsMember({"mpi", "plait", "rma", "ofi"}));
  app.add_option(
      "--threads",
      settings.threads,
      "Threads of a rank: one; streams, one for each in the log; or the roles of each, inject,sends,receives");
  app.add_option("--scale", settings.scale, "Factor on the sizes of messages")->check(CLI::PositiveNumber);
  app.add_option("--delay", settings.delay_microseconds, "Microseconds to wait before each send")
      ->check(CLI::NonNegativeNumber);
  app.add_option(
      "--rate", settings.rate, "When operations start: logged, at logged times; FACTOR times as fast; or max, at once");
  app.add_option("--compute", settings.computing, "Computing between messages: keep or drop it")
      ->check(CLI::IsMember({"keep", "drop"}));
  app.add_option("--repeat", settings.repetitions, "Number of repetitions; the last one is logged")
      ->check(CLI::Range(1U, 1'000'000U));
  app.add_flag("--check", settings.is_checked, "Send a pattern in each message, and compare it on arrival");
  app.add_option(
         "--stall-seconds", settings.stall_seconds, "End if no operation starts or ends for this time; 0: no limit")
      ->check(CLI::NonNegativeNumber);
  app.option_defaults()->always_capture_default(false);
  app.add_option("-o,--output", settings.output, "Folder for the log of the replay; must be new");
}

PlayOptions play_options(const ReplaySettings& settings) {
  return {.computing = settings.computing == "keep" ? Computing::keep : Computing::drop,
          .rate = rate_from(settings.rate).value(),
          .delay = nanoseconds{std::llround(settings.delay_microseconds * 1000)},
          .threads = threads_from(settings.threads).value(),
          .payload = settings.is_checked ? Payload::checked : Payload::unset};
}

/// The exchange to replay on `rank_count` ranks. Throws: `Error` if it cannot be read, or a replay could not finish.
Schedule load_schedule(const ReplaySettings& settings, std::uint32_t rank_count) {
  if (settings.log.empty() && settings.synthetic.empty()) {
    throw Error{ErrorCode::bad_argument, "give the folder of a recorded run, or --synthetic DESCRIPTION"};
  }
  if (settings.synthetic.empty() && !std::filesystem::is_directory(settings.log)) {
    throw Error{
        ErrorCode::bad_input,
        fmt::format("{} is no folder; give that of a recorded run, with rank-0000.plt in it", settings.log.string())};
  }
  Schedule schedule = settings.synthetic.empty() ? schedule_from_folder(settings.log, settings.step).value()
                                                 : synthetic_schedule(settings.synthetic).value();
  if (settings.ranks != 0 && settings.ranks != rank_count) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("--ranks {} needs as many processes, but there are {}", settings.ranks, rank_count)};
  }
  if (settings.ranks != 0 && schedule.ranks.size() != rank_count) {
    schedule = onto_ranks(schedule, rank_count).value();
  }
  if (schedule.ranks.size() != rank_count) {
    throw Error{
        ErrorCode::bad_argument,
        fmt::format("the exchange has {} ranks, and this replay has {} processes: start as many processes, or fold or "
                    "tile the exchange with --ranks {}",
                    schedule.ranks.size(),
                    rank_count,
                    rank_count)};
  }
  if (settings.scale != 1) {
    scale_bytes(schedule, settings.scale);
  }
  if (const std::vector<std::string> trouble = find_trouble(schedule); !trouble.empty()) {
    throw Error{ErrorCode::bad_input, fmt::format("the replay could not finish: {}", fmt::join(trouble, ";\n  "))};
  }
  return schedule;
}

/// This rank's part of the exchange; nothing, on all ranks, if rank 0 has reported an error.
std::optional<RankPart> get_part(const ReplaySettings& settings) {
  std::vector<RankPart> parts;
  std::string trouble;
  if (rank_in(MPI_COMM_WORLD) == Rank{0}) {
    try {
      const Schedule schedule = load_schedule(settings, size_of(MPI_COMM_WORLD));
      for (const std::string& notice : schedule.notices) {
        fmt::print(stderr, "plait-replay: {}\n", notice);
      }
      parts = divide(schedule);
    } catch (const Error& error) {
      trouble = error.what();
      fmt::print(stderr, "plait-replay: {}\n", trouble);
    }
  }
  if (!broadcast_text(MPI_COMM_WORLD, trouble).empty()) {
    return std::nullopt;
  }
  return hand_out(MPI_COMM_WORLD, parts);
}

/// The host of each rank, on rank 0.
std::vector<std::string> hosts_of_all() {
  char name[MPI_MAX_PROCESSOR_NAME];
  int length = 0;
  MPI_Get_processor_name(name, &length);
  std::vector<std::string> hosts;
  for (const Bytes& bytes :
       gather_bytes(MPI_COMM_WORLD, std::as_bytes(std::span{name, static_cast<std::size_t>(length)}))) {
    hosts.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return hosts;
}

trace::Meta make_meta(const ReplaySettings& settings, const RankPart& part, const std::string& backend) {
  trace::Meta meta{.program = "plait-replay", .command = settings.command, .ranks = part.rank_count, .workers = 1};
  meta.hosts = hosts_of_all();
  meta.started = std::chrono::system_clock::now();
  meta.mpi = backend;
  meta.recorder = "replay";
  meta.options = {{"log", settings.synthetic.empty() ? settings.log.string() : settings.synthetic},
                  {"threads", settings.threads},
                  {"scale", fmt::format("{}", settings.scale)},
                  {"rate", settings.rate},
                  {"compute", settings.computing},
                  {"delay_microseconds", fmt::format("{}", settings.delay_microseconds)}};
  return meta;
}

void record_members(const RankPart& part, trace::Recorder& recorder) {
  trace::ThreadRecorder& trace = recorder.thread(WorkerId{}, "start");
  for (const auto& [communicator, members] : part.communicators) {
    trace.communicator({.communicator = communicator, .members = members});
  }
}

std::vector<Played> play(const ReplaySettings& settings, const RankPart& part, Player& player, trace::Meta* meta) {
  const SteadyClock clock;
  std::vector<Played> played;
  for (std::uint32_t i = 0; i < settings.repetitions; ++i) {
    const bool is_logged = i + 1 == settings.repetitions && !settings.output.empty();
    if (is_logged && meta != nullptr) {
      trace::write_meta(settings.output, *meta);
    }
    const std::unique_ptr<trace::Recorder> recorder =
        is_logged ? std::make_unique<trace::Recorder>(
                        clock, trace::RecorderOptions{settings.output, part.self, part.rank_count, 256 * 1024})
                  : std::make_unique<trace::Recorder>(clock);
    record_members(part, *recorder);
    record_clock(MPI_COMM_WORLD, *recorder);
    MPI_Barrier(MPI_COMM_WORLD);
    played.push_back(player.play(*recorder));
    MPI_Barrier(MPI_COMM_WORLD);
    record_clock(MPI_COMM_WORLD, *recorder);
  }
  if (meta != nullptr && !settings.output.empty()) {
    meta->ended = std::chrono::system_clock::now();
    trace::write_meta(settings.output, *meta);
  }
  return played;
}

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

/// What all ranks have reported.
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

void report_calls(const All& all, Json& json) {
  fmt::print(
      "{:<22} {:>9} {:>10} {:>10} {:>10} {:>10} {:>10}\n", "call", "count", "min", "median", "p90", "max", "all");
  for (const auto& [function, times] : all.calls) {
    const double sum = std::accumulate(times.begin(), times.end(), 0.0);
    fmt::print("{:<22} {:>9} {:>10} {:>10} {:>10} {:>10} {:>10}\n",
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

/// Prints how long the repetitions and their calls took, and writes it to replay.json. `ranks`: of each its `Played` of
/// all repetitions, packed by `data::pack`. Throws: `Error` with `io`.
void report(const ReplaySettings& settings,
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
  fmt::print("{} messages, {:.3f} MB, {} ranks, {}: {} (as logged {})\n",
             all.messages / 2,
             static_cast<double>(all.bytes) / 2e6,
             ranks.size(),
             backend,
             in_units(quantile(lengths, 0.5) * 1e9),
             in_units(static_cast<double>(logged.count())));
  report_calls(all, json);
  if (!settings.output.empty()) {
    const auto file = settings.output / "replay.json";
    std::ofstream stream{file};
    stream << json.dump(2) << "\n";
    stream.close();
    if (!stream) {
      throw Error{ErrorCode::io, fmt::format("{} cannot be written; is the disk full?", file.string())};
    }
  }
}

int replay_on_ranks(const ReplaySettings& settings, const PlayOptions& options, const net::MpiSession& session) {
  const std::optional<RankPart> part = get_part(settings);
  if (!part) {
    return 1;
  }
  const std::shared_ptr<Backend> owner = make_backend(MPI_COMM_WORLD, settings.backend, *part);
  Backend& backend = *owner;
  Player player{backend, *part, options};
  trace::Meta meta = make_meta(settings, *part, backend.name());
  std::vector<Played> played;
  {
    const Watch watch{player, stall_after(settings.stall_seconds, *part, options), [&](const std::string& sentence) {
                        fmt::print(stderr, "plait-replay: {}\n", sentence);
                        session.abort(1);
                      }};
    played = play(settings, *part, player, part->self == Rank{0} ? &meta : nullptr);
  }
  const std::vector<Bytes> ranks = gather_bytes(MPI_COMM_WORLD, data::pack(played));
  if (part->self == Rank{0}) {
    report(settings, backend.name(), ranks, part->length);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "plait-replay: sends the messages of a recorded run again.\n"
      "One process for each rank of the log; `plait replay` starts it and compares.\n\n"
      "  mpiexec -n 4 plait-replay RUN --compute drop\n",
      "plait-replay"};
  app.set_version_flag("--version", plait::version_line("plait-replay"));
  ReplaySettings settings;
  add_options(app, settings);
  if (const auto status = plait::end_after_parsing<CLI::ParseError>(app, argc, argv)) {
    return *status;
  }
  settings.command.assign(argv, argv + argc);
  PlayOptions options;
  try {
    options = play_options(settings);
  } catch (const Error& error) {
    fmt::print(stderr, "plait-replay: {}\n", error.what());
    return 2;
  }
  try {
    net::MpiSession session{argc, argv, options.threads.size() != 1};
    try {
      return replay_on_ranks(settings, options, session);
    } catch (const std::exception& error) {
      fmt::print(stderr, "plait-replay: {}\n", error.what());
      session.abort(1);
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "plait-replay: {}\n", error.what());
    return 1;
  }
}
