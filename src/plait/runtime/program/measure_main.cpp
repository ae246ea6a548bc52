// SPDX-License-Identifier: Apache-2.0
/// plait-measure: what messages cost with each of the settings that a strategy chooses from. Two ranks measure messages
/// between them. One rank measures how many threads are to copy a non-contiguous message: it has all cores.
/// `plait doctor --measure` starts it and chooses.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <mpi.h>
#include <nlohmann/json.hpp>

#include "plait/base/bytes.hpp"
#include "plait/base/command_line.hpp"
#include "plait/base/error.hpp"
#include "plait/base/topology.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/comm/layout.hpp"
#include "plait/net/mpi/session.hpp"
#include "plait/runtime/gather.hpp"
#include "plait/runtime/runtime.hpp"
#include "plait/runtime/strategy.hpp"
#include "plait/task/graph.hpp"
#include "plait/version.hpp"

namespace {

using namespace plait;
using Json = nlohmann::ordered_json;
using comm::ProgressionMode;

constexpr Tag data_tag{1};
constexpr Tag control_tag{1000};

struct MeasureSettings {
  std::filesystem::path output;
  std::uint32_t rounds = 15;
  double seconds_max = 25;  ///< Divided among what is measured; after its part, no further round starts.
  bool describes = false;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The median of several blocks, so that a short disturbance of the machine changes nothing.
double median_of_blocks(const std::function<double()>& measure) {
  std::array<double, 5> values{};
  std::ranges::generate(values, measure);
  std::ranges::nth_element(values, values.begin() + values.size() / 2);
  return values[values.size() / 2];
}

/// Computes steps that depend on each other, in registers only.
void compute(std::uint64_t count) {
  std::uint64_t state = count | 1U;
  for (std::uint64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    asm volatile("" : "+r"(state));  // keeps the compiler from leaving steps out
  }
}

/// Steps that take a second on an otherwise idle core, of rank 0, on all ranks.
double steps_of_a_second() {
  constexpr std::uint64_t trial_steps = 2'000'000;
  double fastest = std::numeric_limits<double>::max();
  for (int trial = 0; trial < 10; ++trial) {
    const auto start = std::chrono::steady_clock::now();
    compute(trial_steps);
    fastest = std::min(fastest, seconds_since(start));
  }
  double steps = trial_steps / fastest;
  MPI_Bcast(&steps, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return steps;
}

/// Exchanges of two ranks. Times are valid on rank 0, which starts each.
class Exchanges {
 public:
  explicit Exchanges(Runtime& runtime)
      : messages_{runtime.messages()}, is_first_{runtime.self() == Rank{0}}, peer_{is_first_ ? 1U : 0U} {}

  /// Seconds of half a round trip; `count` of them are a block.
  double half_round_trip(std::size_t bytes, int count) {
    const std::span<std::byte> data = buffer(bytes);
    pass_round_trips(data, 1 + count / 2);
    return median_of_blocks([&] {
      barrier(messages_);
      const auto start = std::chrono::steady_clock::now();
      pass_round_trips(data, count);
      return seconds_since(start) / (2 * count);
    });
  }

  /// Seconds of a message in bursts to rank 0, which posts its receives first; `count` are a block.
  double burst(std::size_t bytes, int messages, int count) {
    const std::span<std::byte> data = buffer(bytes * static_cast<std::size_t>(messages));
    pass_bursts(data, bytes, 1 + count / 2);
    return median_of_blocks([&] {
      barrier(messages_);
      const auto start = std::chrono::steady_clock::now();
      pass_bursts(data, bytes, count);
      return seconds_since(start) / (count * messages);
    });
  }

  /// Seconds of a message that is posted, computed beside, and waited for, on both ranks; the mean of both directions.
  double computed_beside(std::size_t bytes, std::uint64_t steps, int count) {
    const std::span<std::byte> data = buffer(bytes);
    barrier(messages_);
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < count; ++i) {
      for (const bool sends : {is_first_, !is_first_}) {
        comm::Request request =
            sends ? messages_.send({peer_, data_tag}, data) : messages_.receive({peer_, data_tag}, data);
        compute(steps);
        request.wait();
      }
    }
    return seconds_since(start) / (2 * count);
  }

  /// Seconds of computing while a receive waits for a message that comes later.
  double computing(std::uint64_t steps) {
    const std::span<std::byte> data = buffer(8);
    comm::Request receive = messages_.receive({peer_, control_tag}, data.first(4));
    barrier(messages_);
    const auto start = std::chrono::steady_clock::now();
    compute(steps);
    const double seconds = seconds_since(start);
    messages_.send({peer_, control_tag}, data.last(4)).wait();
    receive.wait();
    return seconds;
  }

 private:
  std::span<std::byte> buffer(std::size_t bytes) {
    buffer_.resize(std::max(buffer_.size(), bytes), std::byte{1});
    return std::span{buffer_}.first(bytes);
  }

  void pass_round_trips(std::span<std::byte> data, int count) {
    for (int i = 0; i < count; ++i) {
      for (const bool sends : {is_first_, !is_first_}) {
        (sends ? messages_.send({peer_, data_tag}, data) : messages_.receive({peer_, data_tag}, data)).wait();
      }
    }
  }

  void pass_bursts(std::span<std::byte> data, std::size_t bytes, int count) {
    std::vector<comm::Request> requests;
    for (int i = 0; i < count; ++i) {
      requests.clear();
      if (!is_first_) {
        messages_.receive({peer_, control_tag}, {}).wait();
      }
      for (std::size_t place = 0; place < data.size(); place += bytes) {
        const std::span<std::byte> part = data.subspan(place, bytes);
        requests.push_back(is_first_ ? messages_.receive({peer_, data_tag}, part)
                                     : messages_.send({peer_, data_tag}, part));
      }
      if (is_first_) {
        messages_.send({peer_, control_tag}, {}).wait();
      }
      for (comm::Request& request : requests) {
        request.wait();
      }
    }
  }

  comm::Endpoint& messages_;
  bool is_first_;
  Rank peer_;
  Bytes buffer_;
};

/// What was measured of one setting: `what` it was, on which `driver`.
struct Subject {
  std::string choice;   ///< "packet_bytes", "packing", "progress" or "copiers".
  std::string driver;   ///< "shm", "mpi" or "between_hosts".
  std::string setting;  ///< As in the file of a strategy.
  std::string what;

  auto operator<=>(const Subject&) const = default;
};

/// Seconds of each subject, one value a round.
using Samples = std::map<Subject, std::vector<double>>;

/// A setting that is measured.
struct Candidate {
  std::string name;
  Options options;
};

/// Measures candidates in turns, so that a temporary disturbance of the machine affects all of them.
class Rounds {
 public:
  /// `group_count`: of the calls of `run`, for the time that each may take.
  Rounds(const MeasureSettings& settings, std::uint32_t group_count)
      : round_count_{settings.rounds}, group_count_{group_count}, seconds_max_{settings.seconds_max / group_count} {}

  using Add = std::function<void(const std::string& what, double seconds)>;

  /// Calls `measure(exchanges, add)` for each candidate.
  template <class Measure>
  void run(const std::string& choice,
           const std::string& driver,
           const std::vector<Candidate>& candidates,
           const Measure& measure) {
    run_on_runtimes(choice, driver, candidates, [&](Runtime& runtime, const Add& add) {
      Exchanges exchanges{runtime};
      measure(exchanges, add);
    });
  }

  void run_on_runtimes(const std::string& choice,
                       const std::string& driver,
                       const std::vector<Candidate>& candidates,
                       const std::function<void(Runtime&, const Add&)>& measure) {
    const auto start = std::chrono::steady_clock::now();
    for (std::uint32_t round = 0; round < round_count_; ++round) {
      if (round >= rounds_min && is_late(start)) {
        break;
      }
      report_progress(choice, driver, round);
      // In an order of its own each round, equal on both ranks: none always follows the same other one.
      std::vector<std::size_t> order(candidates.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::ranges::shuffle(order, std::mt19937{round});
      for (const std::size_t number : order) {
        const Candidate& candidate = candidates[number];
        Runtime runtime{MPI_COMM_WORLD, candidate.options};
        measure(runtime, [&](const std::string& what, double seconds) {
          samples_[{choice, driver, candidate.name, what}].push_back(seconds);
        });
      }
    }
    ++groups_done_;
  }

  [[nodiscard]] const Samples& samples() const { return samples_; }

 private:
  static constexpr std::uint32_t rounds_min = 3;

  /// Of rank 0, on all ranks.
  [[nodiscard]] bool is_late(std::chrono::steady_clock::time_point start) const {
    int late = static_cast<int>(seconds_since(start) > seconds_max_);
    MPI_Bcast(&late, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return late != 0;
  }

  /// A line that `plait doctor` reads.
  void report_progress(const std::string& choice, const std::string& driver, std::uint32_t round) const {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
      fmt::print(
          "progress {} {} {} {}\n", groups_done_ * round_count_ + round, group_count_ * round_count_, choice, driver);
      std::fflush(stdout);
    }
  }

  std::uint32_t round_count_;
  std::uint32_t group_count_;
  double seconds_max_;
  std::uint32_t groups_done_ = 0;
  Samples samples_;
};

/// The defaults, which nothing but a thread that waits polls, on a network.
Options plain_options(const std::string& network) {
  Options options;
  options.network = NetworkOptions::from_environment();
  options.network.packet_bytes = {};
  options.network.network = network;
  options.progression.mode = ProgressionMode::none;
  return options;
}

void measure_packets(Rounds& rounds, const std::string& driver, const Options& plain) {
  std::vector<Candidate> candidates{{"8192", plain}, {"rendezvous", plain}};
  candidates[1].options.messages.eager_bytes_max = 0;
  for (const std::size_t bytes : {2048U, 4032U, 16384U, 32768U}) {
    candidates.push_back({fmt::to_string(bytes), plain});
    candidates.back().options.network.packet_bytes = {bytes, bytes, bytes};
  }
  rounds.run("packet_bytes", driver, candidates, [](Exchanges& exchanges, const auto& add) {
    for (const std::size_t bytes : {512U, 2048U, 4096U, 8192U, 16384U, 32768U}) {
      add(fmt::format("round trip, {} B", bytes), exchanges.half_round_trip(bytes, 20));
      add(fmt::format("burst of 24, {} B", bytes), exchanges.burst(bytes, 24, 4));
    }
  });
}

void measure_packing(Rounds& rounds, const std::string& driver, const Options& plain) {
  std::vector<Candidate> candidates;
  for (const char* const name : {"aggregate", "immediate"}) {
    candidates.push_back({name, plain});
    candidates.back().options.messages.packing = name;
  }
  rounds.run("packing", driver, candidates, [](Exchanges& exchanges, const auto& add) {
    add("round trip, 64 B", exchanges.half_round_trip(64, 100));
    for (const std::size_t bytes : {64U, 1024U}) {
      add(fmt::format("burst of 24, {} B", bytes), exchanges.burst(bytes, 24, 20));
      add(fmt::format("burst of 256, {} B", bytes), exchanges.burst(bytes, 256, 2));
    }
  });
}

std::vector<Candidate> progress_candidates(const Options& plain) {
  std::vector<Candidate> candidates;
  for (const int period : {100, 50, 200, 500}) {
    candidates.push_back({fmt::format("timer {}", period), plain});
    comm::ProgressionOptions& progression = candidates.back().options.progression;
    progression.mode = ProgressionMode::timer;
    progression.period_min = std::chrono::microseconds{period};
  }
  // With threads for idle cores, or a core of its own, only where there is one for each of the two ranks.
  std::vector<ProgressionMode> others{ProgressionMode::none, ProgressionMode::idle_cores};
  if (usable_core_count() >= 4 || (usable_core_count() >= 2 && usable_core_count() < machine_core_count())) {
    others.push_back(ProgressionMode::dedicated);
  }
  for (const ProgressionMode mode : others) {
    candidates.push_back({comm::to_string(mode), plain});
    candidates.back().options.progression.mode = mode;
  }
  return candidates;
}

void measure_progress(Rounds& rounds, const std::string& driver, const Options& plain) {
  const double second = steps_of_a_second();
  std::map<std::size_t, std::uint64_t> steps;
  {
    Runtime runtime{MPI_COMM_WORLD, plain};
    Exchanges exchanges{runtime};
    for (const std::size_t bytes : {std::size_t{1} << 20U, std::size_t{8} << 20U}) {
      double seconds = exchanges.half_round_trip(bytes, 4);
      MPI_Bcast(&seconds, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
      steps[bytes] = static_cast<std::uint64_t>(seconds * second);
    }
  }
  rounds.run("progress", driver, progress_candidates(plain), [&](Exchanges& exchanges, const auto& add) {
    add("round trip, 64 B", exchanges.half_round_trip(64, 100));
    add("1 MiB beside computing as long",
        exchanges.computed_beside(std::size_t{1} << 20U, steps[std::size_t{1} << 20U], 4));
    add("8 MiB beside computing as long",
        exchanges.computed_beside(std::size_t{8} << 20U, steps[std::size_t{8} << 20U], 1));
    add("10 ms of computing, a receive posted", exchanges.computing(static_cast<std::uint64_t>(0.01 * second)));
  });
}

/// A message from this rank to itself, as blocks that alternate with others of the same size.
struct BlockMessage {
  std::string name;
  std::size_t bytes = 0;
  std::size_t block_bytes = 0;
  int count = 0;  ///< Of steps that are measured together.
};

/// Seconds of a step that packs, moves and unpacks the message, while all other workers are idle.
double copied(Runtime& runtime, const BlockMessage& message) {
  Bytes from(2 * message.bytes, std::byte{1});
  Bytes to(2 * message.bytes);
  const auto blocks = [&](Bytes& memory) {
    return comm::Layout::strided(
        memory.data(), message.block_bytes, 2 * message.block_bytes, message.bytes / message.block_bytes);
  };
  task::Graph graph;
  graph.send("send", {runtime.self(), data_tag}, [&] { return blocks(from); });
  graph.receive("receive", {runtime.self(), data_tag}, blocks(to));
  runtime.run(graph);  // warms up
  return median_of_blocks([&] {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < message.count; ++i) {
      runtime.run(graph);
    }
    return seconds_since(start) / message.count;
  });
}

/// Numbers of threads up to all cores: each up to 4, then steps that grow, as few saturate the memory bandwidth.
void measure_copies(Rounds& rounds) {
  const std::uint32_t cores = usable_core_count();
  std::vector<Candidate> candidates;
  for (std::uint32_t copiers = 1; copiers <= cores; copiers += copiers < 4 ? 1 : copiers / 2) {
    candidates.push_back({fmt::to_string(copiers), plain_options("automatic")});
    candidates.back().options.worker_count = cores;
    candidates.back().options.messages.copiers_max = copiers;
  }
  if (candidates.size() < 2) {
    return;  // a single core has nothing to choose
  }
  const std::vector<BlockMessage> messages{{"4 MiB in blocks of 4 KiB", std::size_t{4} << 20U, 4096, 2},
                                           {"4 MiB in blocks of 64 B", std::size_t{4} << 20U, 64, 2},
                                           {"32 MiB in blocks of 4 KiB", std::size_t{32} << 20U, 4096, 1}};
  rounds.run_on_runtimes("copiers", "shm", candidates, [&](Runtime& runtime, const Rounds::Add& add) {
    for (const BlockMessage& message : messages) {
      add(message.name, copied(runtime, message));
    }
  });
}

/// Whether messages between the ranks use shared memory by default, MPI on one host, or MPI between hosts.
enum class Route : std::uint8_t { shm, mpi, between_hosts };

Route find_route(const Options& automatic) {
  Runtime runtime{MPI_COMM_WORLD, automatic};
  if (std::string_view{runtime.messages().driver_name()}.find("mpi") == std::string_view::npos) {
    return Route::shm;
  }
  MPI_Comm sharing = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &sharing);
  int count = 0;
  MPI_Comm_size(sharing, &count);
  MPI_Comm_free(&sharing);
  // Hosts that only share memory by chance, as those of a lab, have names.
  return count == 1 || !automatic.network.host.empty() ? Route::between_hosts : Route::mpi;
}

Json to_json(const Samples& samples) {
  Json rows = Json::array();
  for (const auto& [subject, seconds] : samples) {
    rows.push_back({{"choice", subject.choice},
                    {"driver", subject.driver},
                    {"setting", subject.setting},
                    {"what", subject.what},
                    {"seconds", seconds}});
  }
  return rows;
}

/// What the results are valid for, and the file in which a runtime finds the choices.
Json describe() {
  const MeasuredSystem system = this_system();
  return {{"system",
           {{"processor", system.processor}, {"cores", system.cores}, {"mpi", system.mpi}, {"plait", system.plait}}},
          {"file", strategy_file(system).string()}};
}

/// Throws: `Error` with `io`.
void write(const MeasureSettings& settings, const Samples& samples, double seconds) {
  Json result = describe();
  result["seconds"] = seconds;
  result["samples"] = to_json(samples);
  std::ofstream stream{settings.output};
  stream << result.dump() << '\n';
  stream.close();
  if (!stream) {
    throw Error{ErrorCode::io, fmt::format("{} cannot be written; is the disk full?", settings.output.string())};
  }
}

void measure_on_ranks(const MeasureSettings& settings) {
  int rank = 0;
  int rank_count = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &rank_count);
  require(rank_count <= 2, "plait-measure needs one or two ranks: it is started by plait doctor --measure");
  const auto start = std::chrono::steady_clock::now();
  if (rank_count == 1) {
    Rounds alone{settings, 1};
    measure_copies(alone);
    write(settings, alone.samples(), seconds_since(start));
    return;
  }
  const Options automatic = plain_options("automatic");
  const Options mpi = plain_options("mpi");
  std::vector<std::pair<std::string, Options>> drivers;
  const Route route = find_route(automatic);
  if (route == Route::shm) {
    drivers.emplace_back("shm", automatic);
  }
  drivers.emplace_back(route == Route::between_hosts ? "between_hosts" : "mpi",
                       route == Route::between_hosts ? automatic : mpi);
  Rounds rounds{settings, 1 + 2 * static_cast<std::uint32_t>(drivers.size())};
  for (const auto& [driver, options] : drivers) {
    measure_packets(rounds, driver, options);
    measure_packing(rounds, driver, options);
  }
  measure_progress(rounds, drivers.front().first, drivers.front().second);
  if (rank == 0) {
    write(settings, rounds.samples(), seconds_since(start));
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "plait-measure: measures what messages between two ranks cost with different settings of plait.\n"
      "`plait doctor --measure` starts it, and keeps what is better than the defaults.\n\n"
      "  mpiexec -n 2 plait-measure --output measured.json    packets, packing and progress\n"
      "  plait-measure --output measured.json                 threads that copy non-contiguous messages\n",
      "plait-measure"};
  app.set_version_flag("--version", plait::version_line("plait-measure"));
  MeasureSettings settings;
  app.add_option("-o,--output", settings.output, "JSON file for the results");
  app.add_flag("--describe", settings.describes, "Print this system and the file for its strategy, as JSON, and end");
  app.add_option("--seconds", settings.seconds_max, "Time for all; three rounds take place in any case")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--rounds", settings.rounds, "How often each setting is measured at most")
      ->check(CLI::Range(1U, 1000U))
      ->capture_default_str();
  if (const auto status = plait::end_after_parsing<CLI::ParseError>(app, argc, argv)) {
    return *status;
  }
  if (settings.describes) {
    fmt::print("{}\n", describe().dump());
    return 0;
  }
  if (settings.output.empty()) {
    fmt::print(stderr, "plait-measure: --output is missing: name the file for the results\n");
    return 2;
  }
  try {
    const net::MpiSession session{argc, argv};
    try {
      measure_on_ranks(settings);
    } catch (const std::exception& error) {
      session.fail("plait-measure", error);
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "plait-measure: {}\n", error.what());
    return 1;
  }
}
