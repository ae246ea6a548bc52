// SPDX-License-Identifier: Apache-2.0
/// plait-replay: sends the messages of a recorded run again, on the real network. One process for each rank of the log.
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <mpi.h>

#include "plait/base/clock.hpp"
#include "plait/data/serialize.hpp"
#include "plait/net/mpi/session.hpp"
#include "plait/replay/backend/mpi/make_backend.hpp"
#include "plait/replay/backend/mpi/ranks.hpp"
#include "plait/replay/player.hpp"
#include "plait/replay/program/detail/replay_report.hpp"
#include "plait/replay/program/detail/replay_settings.hpp"
#include "plait/replay/watch.hpp"
#include "plait/trace/meta.hpp"
#include "plait/version.hpp"

namespace {

using namespace plait;
using namespace plait::replay;

/// Its part for this rank; nothing, on all ranks, when rank 0 has reported trouble.
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
    const ReplayReport report = make_report(settings, backend.name(), ranks, part->length);
    fmt::print("{}", report.text);
    if (!settings.output.empty()) {
      write_text(settings.output / "replay.json", report.json);
    }
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
  CLI11_PARSE(app, argc, argv);
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
