// SPDX-License-Identifier: Apache-2.0
// Every blocking collective of MPI beside the engine's own, by size, number of members and datatype, in turns; and the
// messages of the same run, which show what the network needs for the same bytes.
#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mpi.h>

#include "plait/plait.hpp"

#include "collectives/even_start.hpp"
#include "collectives/subjects.hpp"
#include "support/raw_mpi.hpp"
#include "support/report.hpp"
#include "support/turns.hpp"

namespace {

using Kind = bench::ElementType::Kind;

constexpr double over_peer_max = 1.5;  ///< Wanted of the engine's, over MPI's.
constexpr int burst_length = 64;
constexpr int message_tag = 1;

struct Settings {
  std::vector<std::size_t> sizes;
  std::vector<int> members;
  bool shows_progress = false;
};

int repetitions_of(std::size_t bytes) {
  return bytes <= 4096 ? 40 : bytes <= 65536 ? 20 : 8;
}

/// Returns when all ranks are here. Sleeps, so that ranks without work leave their cores to the others.
void wait_for_all() {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  for (int done = 0; done == 0;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds{200});
    }
  }
}

/// The ranks below `size`, for both sides; MPI_COMM_NULL on others.
class Members {
 public:
  explicit Members(int size) : size_{size} {
    const int rank = bench::RawMpi::rank();
    MPI_Comm_split(MPI_COMM_WORLD, rank < size ? 0 : MPI_UNDEFINED, rank, &comm_);
  }
  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;
  ~Members() {
    if (is_in()) {
      MPI_Comm_free(&comm_);
    }
  }
  [[nodiscard]] bool is_in() const noexcept { return comm_ != MPI_COMM_NULL; }
  [[nodiscard]] int size() const noexcept { return size_; }
  [[nodiscard]] MPI_Comm comm() const noexcept { return comm_; }
  [[nodiscard]] plait::comm::Group group(plait::comm::Endpoint& endpoint) const {
    std::vector<plait::Rank> ranks;
    for (int rank = 0; rank < size_; ++rank) {
      ranks.emplace_back(static_cast<std::uint32_t>(rank));
    }
    return {endpoint, std::move(ranks), plait::CommId{static_cast<std::uint32_t>(1000 + size_)}};
  }

 private:
  int size_;
  MPI_Comm comm_ = MPI_COMM_NULL;
};

/// Half of a round trip of one message between the first and the last rank, in microseconds.
double half_round_trip_us(const bench::ElementType& type, int count, bench::Buffers& buffers) {
  const int last = bench::RawMpi::rank_count() - 1;
  const bool is_first = bench::RawMpi::rank() == 0;
  const int peer = is_first ? last : 0;
  const bench::Stopwatch watch;
  const auto send = [&] { MPI_Send(buffers.out(), count, type.handle(), peer, message_tag, MPI_COMM_WORLD); };
  const auto receive = [&] {
    MPI_Recv(buffers.in(), count, type.handle(), peer, message_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  };
  if (is_first) {
    send();
    receive();
  } else {
    receive();
    send();
  }
  return watch.microseconds() / 2;
}

/// What each message of a burst takes, in microseconds.
double burst_us(int bytes, bench::Buffers& buffers) {
  const int last = bench::RawMpi::rank_count() - 1;
  const bench::Stopwatch watch;
  if (bench::RawMpi::rank() == 0) {
    for (int i = 0; i < burst_length; ++i) {
      MPI_Send(buffers.out(), bytes, MPI_BYTE, last, message_tag, MPI_COMM_WORLD);
    }
    MPI_Recv(nullptr, 0, MPI_BYTE, last, message_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    for (int i = 0; i < burst_length; ++i) {
      MPI_Recv(buffers.in(), bytes, MPI_BYTE, 0, message_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Send(nullptr, 0, MPI_BYTE, 0, message_tag, MPI_COMM_WORLD);
  }
  return watch.microseconds() / burst_length;
}

class Benchmark {
 public:
  Benchmark(bench::Report& report, plait::Runtime& runtime, const Settings& settings)
      : report_{report}, runtime_{runtime}, settings_{settings} {
    total_ = static_cast<int>(settings.sizes.size() * (settings.members.size() + 1) + settings.members.size());
  }

  void run() {
    for (const std::size_t size : settings_.sizes) {
      progress("messages");
      measure_messages(size);
    }
    for (const int count : settings_.members) {
      const Members members{count};
      std::unique_ptr<bench::EvenStart> start;
      if (members.is_in()) {
        start = std::make_unique<bench::EvenStart>(members.comm());
      }
      skews_us_.clear();
      progress(fmt::format("{} ranks", count));
      measure_size(members, start.get(), 0);
      for (const std::size_t size : settings_.sizes) {
        progress(fmt::format("{} ranks, {} bytes", count, size));
        measure_size(members, start.get(), size);
      }
      report_skew(count, start.get());
    }
  }

 private:
  /// A line for `plait doctor --collectives`, which shows a bar.
  void progress(const std::string& what) {
    if (settings_.shows_progress && bench::RawMpi::rank() == 0) {
      fmt::print("progress {} {} {}\n", done_, total_, what);
      std::fflush(stdout);
    }
    ++done_;
  }

  void measure_messages(std::size_t bytes) {
    const int rank = bench::RawMpi::rank();
    if (rank == 0 || rank == bench::RawMpi::rank_count() - 1) {
      bench::Buffers buffers{bytes, 1};
      bench::Turns turns;
      std::vector<std::unique_ptr<bench::ElementType>> types;
      for (const Kind kind : kinds_of(bytes)) {
        types.push_back(std::make_unique<bench::ElementType>(kind));
        const bench::ElementType& type = *types.back();
        turns.add(type.name(), [&type, &buffers, count = static_cast<int>(bytes / type.data_bytes())] {
          return half_round_trip_us(type, count, buffers);
        });
      }
      turns.add("burst", [&] { return burst_us(static_cast<int>(bytes), buffers); });
      turns.run(5 * repetitions_of(bytes));
      for (const auto& type : types) {
        add_message(bytes, type->name(), turns);
      }
      report_.add(
          {.name = "message of a burst", .params = params(bytes, 2, "bytes"), .value = turns["burst"], .unit = "us"});
    }
    wait_for_all();
  }

  void add_message(std::size_t bytes, const std::string& type, const bench::Turns& turns) {
    bench::Row row{.name = "message", .params = params(bytes, 2, type), .value = turns[type], .unit = "us"};
    if (type == "structs") {
      row.peer = "doubles";
      row.peer_value = bench::median(turns["doubles"]);
    }
    report_.add(row);
  }

  /// 0 bytes: the barriers.
  void measure_size(const Members& members, const bench::EvenStart* start, std::size_t bytes) {
    if (start != nullptr) {
      bench::Buffers buffers{std::max<std::size_t>(bytes, 16), members.size()};
      bench::Turns turns;
      std::vector<std::unique_ptr<bench::ElementType>> types;
      std::vector<std::pair<std::string, std::vector<bench::Subject>>> all;
      for (const Kind kind : kinds_of(bytes)) {
        const auto& type = types.emplace_back(std::make_unique<bench::ElementType>(kind));
        all.emplace_back(type->name(), bench::mpi_collectives(members.comm(), *type, bytes, buffers));
      }
      all.emplace_back("engine", bench::engine_collectives(members.group(runtime_.messages()), bytes, buffers));
      for (const auto& [type, subjects] : all) {
        for (const bench::Subject& subject : subjects) {
          turns.add(subject.name + type, [this, start, call = subject.call] {
            const bench::EvenTime time = start->time(call);
            skews_us_.push_back(time.skew_us);
            return time.call_us;
          });
        }
      }
      turns.run(repetitions_of(bytes));
      add_rows(members.size(), bytes, all, turns);
    }
    wait_for_all();
  }

  using Subjects = std::vector<std::pair<std::string, std::vector<bench::Subject>>>;

  void add_rows(int members, std::size_t bytes, const Subjects& all, const bench::Turns& turns) {
    const std::string& contiguous = all.front().first;
    for (const auto& [type, subjects] : all) {
      const bool is_engine = type == "engine";
      for (const bench::Subject& subject : subjects) {
        bench::Row row{.name = subject.name,
                       .params = params(bytes, members, is_engine ? contiguous : type),
                       .value = turns[subject.name + type],
                       .unit = "us"};
        if (is_engine) {
          row.peer = subject.peer;
          row.peer_value = bench::median(turns[subject.peer + contiguous]);
          row.wanted = bench::at_most_of_peer(over_peer_max);
        } else if (type == "structs") {
          row.peer = "doubles";
          row.peer_value = bench::median(turns[subject.name + contiguous]);
        }
        report_.add(row);
      }
    }
  }

  void report_skew(int members, const bench::EvenStart* start) {
    if (start != nullptr) {
      report_.add(
          {.name = "arrival skew", .params = {{"ranks", std::to_string(members)}}, .value = skews_us_, .unit = "us"});
      report_.add({.name = "error of the clocks",
                   .params = {{"ranks", std::to_string(members)}},
                   .value = start->clock_error_us(),
                   .unit = "us"});
    }
  }

  static std::vector<Kind> kinds_of(std::size_t bytes) {
    return bytes == 0 || bytes % 16 != 0 ? std::vector{Kind::bytes} : std::vector{Kind::doubles, Kind::structs};
  }
  static std::map<std::string, std::string> params(std::size_t bytes, int ranks, const std::string& type) {
    return {{"bytes", std::to_string(bytes)}, {"ranks", std::to_string(ranks)}, {"datatype", type}};
  }

  bench::Report& report_;
  plait::Runtime& runtime_;
  const Settings& settings_;
  std::vector<double> skews_us_;
  int done_ = 0;
  int total_ = 0;
};

std::vector<std::size_t> default_sizes(bool is_full) {
  return is_full ? std::vector<std::size_t>{1, 8, 64, 512, 4096, 32768, 65536, 262144, 1U << 20U, 4U << 20U}
                 : std::vector<std::size_t>{1, 16, 1024, 16384, 65536, 1U << 20U};
}

/// Powers of two up to all ranks, and all.
std::vector<int> default_members(bool is_full) {
  const int all = bench::RawMpi::rank_count();
  std::vector<int> found;
  for (int members = 2; members < all; members = is_full ? members + 1 : 2 * members) {
    found.push_back(members);
  }
  found.push_back(all);
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  bench::Report report{"collectives",
                       "no collective of the engine takes more than 1.5 times MPI's, for blocks of 1 byte to 4 MiB",
                       {.ranks = {4}},
                       argc,
                       argv,
                       [&](CLI::App& app) {
                         app.add_option("--sizes", settings.sizes, "bytes of a block, as 16,65536")
                             ->delimiter(',')
                             ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 28U));
                         app.add_option("--members", settings.members, "numbers of ranks that take part, as 2,4")
                             ->delimiter(',')
                             ->check(CLI::PositiveNumber);
                         app.add_flag("--progress", settings.shows_progress, "print a line before each part");
                       }};
  const plait::MpiSession session{argc, argv};
  bench::rank_of(2, 1 << 20);
  if (settings.sizes.empty()) {
    settings.sizes = default_sizes(report.is_full());
  }
  if (settings.members.empty()) {
    settings.members = default_members(report.is_full());
  }
  for (const int members : settings.members) {
    if (members < 2 || members > bench::RawMpi::rank_count()) {
      fmt::print(stderr, "--members {}: there are {} ranks\n", members, bench::RawMpi::rank_count());
      return 2;
    }
  }
  plait::Options options = plait::Options::from_environment();
  options.progression.mode = plait::comm::ProgressionMode::none;  // the thread that waits polls
  plait::Runtime runtime{MPI_COMM_WORLD, options};
  Benchmark{report, runtime, settings}.run();
  plait::barrier(runtime.messages());
  report.finish();
}
