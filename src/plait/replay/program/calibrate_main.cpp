// SPDX-License-Identifier: Apache-2.0
/// plait-calibrate: measures messages between two ranks, for `plait fit`. Of more ranks, the first and the last
/// measure.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <mpi.h>
#include <nlohmann/json.hpp>

#include "plait/base/command_line.hpp"
#include "plait/base/error.hpp"
#include "plait/net/mpi/session.hpp"
#include "plait/replay/calibrate/calibrate.hpp"
#include "plait/replay/calibrate/computation.hpp"
#include "plait/version.hpp"

namespace {

using namespace plait;
using namespace plait::replay::calibrating;
using Json = nlohmann::ordered_json;

constexpr std::uint64_t bytes_max = 1U << 30U;

struct CalibrateSettings {
  /// Around those at which common MPIs and networks change their ways.
  std::vector<std::uint64_t> sizes{
      0, 8, 64, 256, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 98304, 131072, 262144, 1048576, 4194304};
  std::uint32_t rounds = 5;
  double share_milliseconds = 2;
  std::filesystem::path output;
};

void add_options(CLI::App& app, CalibrateSettings& settings) {
  app.add_option("--sizes", settings.sizes, "Bytes of the messages [0 to 4 MiB]")
      ->delimiter(',')
      ->check(CLI::Range(std::uint64_t{0}, bytes_max));
  app.option_defaults()->always_capture_default();
  app.add_option("--rounds", settings.rounds, "How often everything is measured")->check(CLI::Range(1U, 1000U));
  app.add_option("--share", settings.share_milliseconds, "Milliseconds for each value, at least")
      ->check(CLI::PositiveNumber);
  app.option_defaults()->always_capture_default(false);
  app.add_option("-o,--output", settings.output, "File for the result [standard output]");
}

/// A barrier whose waiting ranks leave their cores to others.
void barrier_asleep() {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  int is_done = 0;
  while (MPI_Test(&request, &is_done, MPI_STATUS_IGNORE) == MPI_SUCCESS && is_done == 0) {
    std::this_thread::sleep_for(std::chrono::microseconds{200});
  }
}

/// Computing on all ranks at once.
struct AtOnce {
  double slowdown = 1;  ///< Against computing on one, on the slowest: 1 if each has a core of its own.
  double slice_ns = 0;  ///< How long a rank computes before another has its core; 0 if none ever had.
};

/// Collective.
AtOnce compute_at_once(const Computation& computation) {
  constexpr int trials = 5;
  constexpr int pieces = 1000;
  constexpr double piece_ns = 2e4;
  constexpr double of_others_ns = 5e4;  // less is an interrupt
  std::vector<double> slowdowns;
  std::array<double, 2> times{};  // own, and the number of times that it ended
  for (int trial = 0; trial < trials; ++trial) {
    barrier_asleep();
    double lost = 0;
    for (int piece = 0; piece < pieces; ++piece) {
      const double later = computation.disturbance(piece_ns);
      lost += later;
      times[1] += later > of_others_ns ? 1 : 0;
    }
    times[0] += pieces * piece_ns;
    slowdowns.push_back(1 + lost / (pieces * piece_ns));
  }
  double slowest = median(slowdowns);
  MPI_Allreduce(MPI_IN_PLACE, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, times.data(), 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return {.slowdown = slowest, .slice_ns = times[1] > 0 ? times[0] / times[1] : 0};
}

/// The most ranks of one host. Collective.
int ranks_on_host() {
  MPI_Comm mine = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &mine);
  int count = 0;
  MPI_Comm_size(mine, &count);
  MPI_Comm_free(&mine);
  MPI_Allreduce(MPI_IN_PLACE, &count, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return count;
}

/// One rank after the other.
Computation measured_computation(int rank, int count) {
  Computation computation;
  for (int turn = 0; turn < count; ++turn) {
    barrier_asleep();
    if (turn == rank) {
      computation.measure();
    }
  }
  barrier_asleep();
  return computation;
}

std::string host() {
  char name[MPI_MAX_PROCESSOR_NAME];
  int length = 0;
  MPI_Get_processor_name(name, &length);
  return {name, static_cast<std::size_t>(length)};
}

std::string library() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string whole{text, static_cast<std::size_t>(length)};
  return whole.substr(0, whole.find_first_of(",\n"));
}

/// Rank 0's, of itself and of the last rank.
bool is_within_host(int rank, int count) {
  std::string mine = host();
  mine.resize(MPI_MAX_PROCESSOR_NAME);
  std::string theirs = mine;
  if (rank == count - 1) {
    MPI_Send(mine.data(), static_cast<int>(mine.size()), MPI_CHAR, 0, 0, MPI_COMM_WORLD);
  } else if (rank == 0) {
    MPI_Recv(theirs.data(), static_cast<int>(theirs.size()), MPI_CHAR, count - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  return mine == theirs;
}

Json to_json(const Calibration& calibration) {
  Json series = Json::array();
  for (const Series& one : calibration.series) {
    series.push_back({{"what", one.what}, {"bytes", one.bytes}, {"times_ns", one.times_ns}});
  }
  return {{"eager_bytes_max", calibration.eager_bytes_max}, {"series", std::move(series)}};
}

/// Throws: `Error` with `io`.
void write(const Json& result, const std::filesystem::path& output) {
  if (output.empty()) {
    fmt::print("{}\n", result.dump(2));
    return;
  }
  std::ofstream stream{output};
  stream << result.dump(2) << "\n";
  stream.close();
  if (!stream) {
    throw Error{ErrorCode::io, fmt::format("{} cannot be written; is the disk full?", output.string())};
  }
}

void calibrate_on_ranks(const CalibrateSettings& settings) {
  int rank = 0;
  int count = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &count);
  if (count < 2) {
    throw Error{ErrorCode::bad_argument, "two processes or more are needed: mpiexec -n 2 plait-calibrate"};
  }
  const Computation computation = measured_computation(rank, count);
  const AtOnce at_once = compute_at_once(computation);
  const int most_on_host = ranks_on_host();
  const bool is_within = is_within_host(rank, count);
  const bool measures = rank == 0 || rank == count - 1;
  MPI_Comm two = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, measures ? 0 : MPI_UNDEFINED, rank, &two);
  Calibration calibration;
  if (measures) {
    const Pair pair{two, computation};
    const bool shows = rank == 0 && isatty(STDERR_FILENO) != 0;
    calibration =
        calibrate(pair,
                  {.sizes = settings.sizes, .rounds = settings.rounds, .share_ns = settings.share_milliseconds * 1e6},
                  [&](std::uint32_t round) {
                    if (shows) {
                      fmt::print(stderr, "\rround {} of {} ", round + 1, settings.rounds);
                    }
                  });
    if (shows) {
      fmt::print(stderr, "\r{:30}\r", "");
    }
    MPI_Comm_free(&two);
  }
  barrier_asleep();
  if (rank == 0) {
    Json result{{"format", "plait-calibration"},
                {"version", 1},
                {"mpi", library()},
                {"ranks", count},
                {"is_within_host", is_within},
                {"ranks_on_host", most_on_host},
                {"slowdown_of_computing_at_once", at_once.slowdown},
                {"core_slice_ns", at_once.slice_ns}};
    result.update(to_json(calibration));
    write(result, settings.output);
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "plait-calibrate: measures messages between the first and the last rank, for `plait fit`.\n"
      "The others sleep meanwhile. Nothing else should run on these hosts.\n\n"
      "  mpiexec -n 2 --map-by node plait-calibrate -o between.json\n",
      "plait-calibrate"};
  app.set_version_flag("--version", plait::version_line("plait-calibrate"));
  CalibrateSettings settings;
  add_options(app, settings);
  if (const auto status = plait::end_after_parsing<CLI::ParseError>(app, argc, argv)) {
    return *status;
  }
  std::ranges::sort(settings.sizes);
  try {
    net::MpiSession session{argc, argv};
    try {
      calibrate_on_ranks(settings);
      return 0;
    } catch (const std::exception& error) {
      session.fail("plait-calibrate", error);
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "plait-calibrate: {}\n", error.what());
    return 1;
  }
}
