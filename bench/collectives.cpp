// SPDX-License-Identifier: Apache-2.0
// Every collective of MPI, blocking, non-blocking, persistent and among neighbours, beside the engine's own or one made
// of messages, by size, number of members and datatype, in turns; and the messages of the same run, which show what the
// network needs for the same bytes.
#include <algorithm>
#include <chrono>
#include <iterator>
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
#include "support/shared_cores.hpp"
#include "support/stopwatch.hpp"
#include "support/turns.hpp"

namespace {

using Kind = bench::ElementType::Kind;

constexpr double over_peer_max = 1.5;  ///< Wanted of the engine's, over MPI's.
constexpr int burst_length = 64;
constexpr int message_tag = 1;
/// Of blocks: below, what a non-blocking collective hides is less than the noise.
constexpr std::size_t overlapped_bytes_min = 16384;

struct Settings {
  std::vector<std::size_t> sizes;
  std::vector<int> members;
  bool shows_progress = false;
};

/// Fewer where ranks share cores, as each start of all ranks takes a millisecond there.
int repetitions_of(std::size_t bytes) {
  const int alone = bytes <= 4096 ? 40 : bytes <= 65536 ? 20 : 8;
  return bench::is_crowded() ? std::max(alone / 4, 5) : alone;
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
    if (is_in()) {
      const int is_periodic = 1;
      MPI_Cart_create(comm_, 1, &size_, &is_periodic, 0, &ring_);
    }
  }
  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;
  ~Members() {
    if (is_in()) {
      MPI_Comm_free(&ring_);
      MPI_Comm_free(&comm_);
    }
  }
  [[nodiscard]] bool is_in() const noexcept { return comm_ != MPI_COMM_NULL; }
  [[nodiscard]] int size() const noexcept { return size_; }
  [[nodiscard]] MPI_Comm comm() const noexcept { return comm_; }
  /// The same ranks, each with two neighbours; of two ranks both are the other.
  [[nodiscard]] MPI_Comm ring() const noexcept { return ring_; }
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
  MPI_Comm ring_ = MPI_COMM_NULL;
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

  /// Subjects with data of one type.
  struct Measured {
    std::string type;
    std::vector<bench::Subject> subjects;
  };

  /// 0 bytes: the barriers.
  void measure_size(const Members& members, const bench::EvenStart* start, std::size_t bytes) {
    if (start != nullptr) {
      bench::Buffers buffers{std::max<std::size_t>(bytes, 16), members.size()};
      std::vector<std::unique_ptr<bench::ElementType>> types;
      const std::vector<Measured> all = subjects_of(members, bytes, buffers, types);
      bench::Turns turns;
      for (const Measured& part : all) {
        for (const bench::Subject& subject : part.subjects) {
          add_turns(turns, *start, part.type, subject, bytes);
        }
      }
      turns.run(repetitions_of(bytes));
      for (const Measured& part : all) {
        for (const bench::Subject& subject : part.subjects) {
          add_rows(members.size(), bytes, {part, all.front().type, subject}, turns);
        }
      }
    }
    wait_for_all();
  }

  std::vector<Measured> subjects_of(const Members& members,
                                    std::size_t bytes,
                                    bench::Buffers& buffers,
                                    std::vector<std::unique_ptr<bench::ElementType>>& types) {
    std::vector<Measured> all;
    for (const Kind kind : kinds_of(bytes)) {
      const bench::ElementType& type = *types.emplace_back(std::make_unique<bench::ElementType>(kind));
      std::vector<bench::Collective> collectives = bench::mpi_collectives(members.comm(), type, bytes, buffers);
      if (bytes > 0) {
        std::ranges::move(bench::neighbourhoods(members.ring(), type, bytes, buffers), std::back_inserter(collectives));
      }
      all.push_back({.type = type.name(), .subjects = bench::blocking(collectives)});
      all.push_back({.type = type.name(), .subjects = bench::non_blocking(collectives)});
      if (kind != Kind::structs) {
        all.push_back({.type = type.name(), .subjects = bench::prepared(collectives)});
      }
    }
    const std::string contiguous = all.front().type;
    plait::comm::Group group = members.group(runtime_.messages());
    all.push_back({contiguous, bench::engine_collectives(group, bytes, buffers)});
    all.push_back({contiguous, bench::message_collectives(members.comm(), members.ring(), bytes, buffers)});
    return all;
  }

  /// Of contiguous, large non-blocking ones twice: alone, and with computing for as long as that took.
  void add_turns(bench::Turns& turns,
                 const bench::EvenStart& start,
                 const std::string& type,
                 const bench::Subject& subject,
                 std::size_t bytes) {
    const auto alone_us = std::make_shared<double>(0);
    turns.add(subject.name + type, [this, &start, call = subject.call, after = subject.after, alone_us] {
      const bench::EvenTime time = start.time(call, after);
      skews_us_.push_back(time.skew_us);
      *alone_us = time.call_us;
      return time.call_us;
    });
    if (is_overlapped(subject, type, bytes)) {
      turns.add(hidden_name(subject), [&start, with = subject.with, alone_us] {
        const double both_us = start.time([&] { with([&] { compute(*alone_us); }); }).call_us;
        const double hidden_us = std::clamp(2 * *alone_us - both_us, 0.0, *alone_us);
        return *alone_us > 0 ? 100 * hidden_us / *alone_us : 0.0;
      });
    }
  }

  static bool is_overlapped(const bench::Subject& subject, const std::string& type, std::size_t bytes) {
    return subject.with && type != "structs" && bytes >= overlapped_bytes_min;
  }
  static std::string hidden_name(const bench::Subject& subject) { return "hidden " + subject.name; }
  static void compute(double us) {
    const bench::Stopwatch watch;
    while (watch.microseconds() < us) {
    }
  }

  struct Place {
    const Measured& part;
    const std::string& contiguous;
    const bench::Subject& subject;
  };

  void add_rows(int members, std::size_t bytes, const Place& place, const bench::Turns& turns) {
    const auto& [part, contiguous, subject] = place;
    bench::Row row{.name = subject.name,
                   .params = params(bytes, members, part.type),
                   .value = turns[subject.name + part.type],
                   .unit = "us"};
    if (part.type == "structs") {
      row.peer = "doubles";
      row.peer_value = bench::median(turns[subject.name + contiguous]);
    } else if (!subject.peer.empty()) {
      row.peer = subject.peer;
      row.peer_value = bench::median(turns[subject.peer + contiguous]);
    }
    if (subject.name.starts_with("engine ")) {
      row.wanted = bench::at_most_of_peer(over_peer_max);
    }
    report_.add(row);
    if (is_overlapped(subject, part.type, bytes)) {
      report_.add({.name = hidden_name(subject),
                   .params = params(bytes, members, part.type),
                   .value = turns[hidden_name(subject)],
                   .unit = "%"});
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
