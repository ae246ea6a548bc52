// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/program/detail/replay_settings.hpp"

#include <cmath>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/replay/change.hpp"
#include "plait/replay/check.hpp"
#include "plait/replay/fold.hpp"
#include "plait/replay/from_trace.hpp"
#include "plait/replay/synthetic.hpp"

namespace plait::replay {

void add_options(CLI::App& app, ReplaySettings& settings) {
  auto* const log = app.add_option("log", settings.log, "Folder of the recorded run");
  app.add_option("--synthetic", settings.synthetic, "Make the exchange up instead; keys:\n" + synthetic_help())
      ->excludes(log);
  app.add_option("--step", settings.step, "Only this step of the run");
  app.add_option("--ranks", settings.ranks, "Fold or tile the exchange onto so many [as many as logged]");
  app.option_defaults()->always_capture_default();
  app.add_option("--backend", settings.backend, "What moves the messages")
      ->check(CLI::IsMember({"mpi", "plait", "rma", "ofi"}));
  app.add_option("--threads",
                 settings.threads,
                 "Of a rank: one; streams, as many as logged; or the roles of each, inject,sends,receives");
  app.add_option("--scale", settings.scale, "Factor on the sizes of messages")->check(CLI::PositiveNumber);
  app.add_option("--delay", settings.delay_microseconds, "Microseconds to wait before each send")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--rate", settings.rate, "Begin operations at logged times, logged; FACTOR times as fast; or max");
  app.add_option("--compute", settings.computing, "What the program did between messages: keep or drop it")
      ->check(CLI::IsMember({"keep", "drop"}));
  app.add_option("--repeat", settings.repetitions, "How often; the log is of the last time")
      ->check(CLI::Range(1U, 1'000'000U));
  app.add_flag("--check", settings.is_checked, "Give each message bytes of its own, and compare what comes");
  app.add_option("--stall-seconds", settings.stall_seconds, "End when nothing moves for so long; 0: never")
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
                fmt::format("--ranks {} needs as many processes, and there are {}", settings.ranks, rank_count)};
  }
  if (settings.ranks != 0 && schedule.ranks.size() != rank_count) {
    schedule = onto_ranks(schedule, rank_count).value();
  }
  if (schedule.ranks.size() != rank_count) {
    throw Error{
        ErrorCode::bad_argument,
        fmt::format("the exchange is of {} ranks, and this replay has {} processes: start as many, or fold or tile it "
                    "with --ranks {}",
                    schedule.ranks.size(),
                    rank_count,
                    rank_count)};
  }
  if (settings.scale != 1) {
    scale_bytes(schedule, settings.scale);
  }
  const std::vector<std::string> trouble = find_trouble(schedule);
  if (!trouble.empty()) {
    std::string sentence = "the replay could not finish: ";
    for (const std::string& one : trouble) {
      sentence += fmt::format("{}{}", &one == trouble.data() ? "" : ";\n  ", one);
    }
    throw Error{ErrorCode::bad_input, sentence};
  }
  return schedule;
}

}  // namespace plait::replay
