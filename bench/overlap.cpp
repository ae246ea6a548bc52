// SPDX-License-Identifier: Apache-2.0
// How much of a transfer is hidden behind computing on the sender, on the receiver, or on both: post, compute, wait.
// The procedure and the overhead ratio are those of MadMPI's overlap benchmarks; the percentage is that of the OSU
// micro-benchmarks.
#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "support/computation.hpp"
#include "support/drivers.hpp"
#include "support/exchange.hpp"
#include "support/link_meter.hpp"
#include "support/modelled_pair.hpp"
#include "support/polled_mpi.hpp"
#include "support/report.hpp"
#include "support/sides.hpp"
#include "support/stopwatch.hpp"

namespace {

constexpr std::size_t strided_block_bytes = 4096;
constexpr std::size_t kibi = 1024;
constexpr std::size_t mebi = kibi * kibi;
constexpr const char* polling_thread = "raw MPI and a polling thread";

struct Size {
  std::size_t bytes = 0;
  std::vector<double> parts;  ///< Lengths of the computation, in durations of the transfer.
  int repetitions = 0;
  double seconds_max = 0;   ///< No repetition starts after this time.
  bool is_strided = false;  ///< Messages are every second block of a buffer.
  bool has_all_progressions = false;
};

/// The time that an overlapped transfer takes beyond the longer of transfer and computation, over the shorter of them:
/// 0 is perfect overlap, 1 is none. Cut at 2, as MadMPI does.
double overhead_ratio(double seconds, double transfer, double computing) {
  return std::min(2.0, (seconds - std::max(transfer, computing)) / std::min(transfer, computing));
}

/// The overhead ratio that is wanted at most: on links of 1 Gbit/s, and on slow ones, where the time that a processor
/// takes for a transfer is a smaller part. Nothing for other links and sizes.
std::optional<double> overhead_ratio_max(double bits_per_s, std::size_t bytes) {
  if (bytes == 64 * kibi && (bits_per_s == 1e9 || bits_per_s == 2e8)) {
    return 0.3;
  }
  if (bits_per_s == 1e9) {
    return bytes == 4 * mebi || bytes == 16 * mebi ? std::optional{0.1} : std::nullopt;
  }
  return bits_per_s == 2e8 && bytes >= mebi ? std::optional{0.05} : std::nullopt;
}

/// Who computes, and for how many durations of the transfer.
using Where = std::pair<std::string, double>;

/// The samples of one way of making progress, in seconds.
struct Samples {
  std::vector<double> empty_one_way;
  std::vector<double> one_way;
  std::map<Where, std::vector<double>> overlapped;
  bench::Crossing crossing;  ///< Nothing outside a lab.
};

/// Measures messages of one size.
class Measurement {
 public:
  Measurement(bench::Report& report, int rank, Size size)
      : report_{report},
        rank_{rank},
        size_{std::move(size)},
        buffer_(size_.is_strided ? 2 * size_.bytes : size_.bytes, std::byte{1}) {
    bench::RawMpi raw;
    const double one_way =
        bench::Exchange{raw, rank_, std::span{buffer_}}.one_way(std::span{buffer_}.first(size_.bytes), 2);
    for (const double part : size_.parts) {
      double steps = one_way * part * static_cast<double>(steps_of_a_second_);
      MPI_Bcast(&steps, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
      steps_[part] = static_cast<std::uint64_t>(steps);
    }
  }

  void run() {
    for (int repetition = 0; repetition == 0 || (repetition < size_.repetitions && !is_late()); ++repetition) {
      MPI_Barrier(MPI_COMM_WORLD);
      steps_of_a_second_ = std::max(steps_of_a_second_, bench::computation_of(1));
      measure_mpi();
      measure_plait();
    }
    add_rows();
  }

 private:
  void measure_mpi() {
    MPI_Datatype type = MPI_BYTE;
    if (size_.is_strided) {
      const auto count = static_cast<int>(size_.bytes / strided_block_bytes);
      MPI_Type_vector(count, strided_block_bytes, 2 * strided_block_bytes, MPI_BYTE, &type);
      MPI_Type_commit(&type);
    }
    {
      bench::RawMpi raw{type};
      sample(raw, "raw MPI");
      bench::PolledMpi polled{raw};
      sample(polled, polling_thread);
    }
    if (size_.is_strided) {
      MPI_Type_free(&type);
    }
  }

  [[nodiscard]] bool is_late() const {
    return bench::of_rank_0(bench::RawMpi{}, static_cast<int>(watch_.seconds() > size_.seconds_max)) != 0;
  }

  void measure_plait() {
    for (const bench::Progression& progression : bench::progressions()) {
      const auto runtime = driver_.start(progression.options);
      bench::Plait side{*runtime, size_.is_strided ? strided_block_bytes : 0};
      sample(side, name_of(progression.name));
      if (!size_.has_all_progressions || is_late()) {
        return;
      }
    }
  }

  template <class Side>
  void sample(Side& side, const std::string& name) {
    Samples& samples = samples_[name];
    bench::Exchange exchange{side, rank_, std::span{buffer_}};
    exchange.one_way({}, 5);  // connects and warms up
    links_.start();
    samples.empty_one_way.push_back(exchange.one_way({}, 20));
    samples.one_way.push_back(exchange.one_way(buffer_, 1));
    for (const auto& [part, steps] : steps_) {
      samples.overlapped[{"sender", part}].push_back(exchange.sender_computes(steps));
      samples.overlapped[{"receiver", part}].push_back(exchange.receiver_computes(steps));
      samples.overlapped[{"both", part}].push_back(exchange.both_compute(steps));
    }
    const auto messages = static_cast<double>(2 + 4 * steps_.size());
    links_.stop(messages * static_cast<double>(size_.bytes), samples.crossing);
  }

  // The overlapped times are compared with the fastest transfer and the fastest computation, so that time which another
  // program takes counts against the overlap, never for it.
  [[nodiscard]] static double transfer_of(const Samples& samples) { return bench::quantile(samples.one_way, 0); }
  [[nodiscard]] double computing_alone(const Where& where) const {
    return static_cast<double>(steps_.at(where.second)) / static_cast<double>(steps_of_a_second_);
  }

  [[nodiscard]] std::vector<double> overhead_ratios(const Samples& samples, const Where& where) const {
    std::vector<double> all = net_seconds(samples, where);
    for (double& value : all) {
      value = overhead_ratio(value, transfer_of(samples), computing_alone(where));
    }
    return all;
  }

  /// max(0, 100 - 100 * (overall - computing) / transfer)
  [[nodiscard]] std::vector<double> osu_percentages(const Samples& samples, const Where& where) const {
    std::vector<double> all = net_seconds(samples, where);
    for (double& value : all) {
      value = std::max(0.0, 100 - 100 * (value - computing_alone(where)) / transfer_of(samples));
    }
    return all;
  }

  /// Without the empty message that belongs to the procedure.
  [[nodiscard]] static std::vector<double> net_seconds(const Samples& samples, const Where& where) {
    std::vector<double> all = samples.overlapped.at(where);
    const double empty = where.first == "both" ? 0 : bench::median(samples.empty_one_way);
    for (double& seconds : all) {
      seconds = std::max(0.0, seconds - empty);
    }
    return all;
  }

  [[nodiscard]] std::string name_of(const std::string& progression) const {
    return "plait " + driver_.name + " " + progression;
  }

  /// Of the overhead ratio of `name`. The default progression is wanted to reach an absolute one and, with large
  /// messages on links of 1 Gbit/s, that of a naive polling thread; a dedicated thread, that of the default
  /// progression.
  [[nodiscard]] std::optional<bench::Wanted> wanted_of(const std::string& name, const Where& where) const {
    const auto ratio_of = [&](const std::string& of) {
      return bench::at_most(bench::median(overhead_ratios(samples_.at(of), where)), of);
    };
    if (name == name_of("dedicated")) {
      return ratio_of(name_of("timer"));
    }
    const double bits_per_s = bench::lab_bits_per_s().value_or(0);
    const std::optional<double> ratio_max = overhead_ratio_max(bits_per_s, size_.bytes);
    if (!ratio_max || name != name_of("timer") || size_.is_strided) {
      return std::nullopt;
    }
    const bench::Wanted absolute = bench::at_most(*ratio_max);
    const bool has_peer =
        bits_per_s == 1e9 && size_.bytes >= 4 * mebi && samples_.at(polling_thread).crossing.is_whole();
    return has_peer ? stricter(absolute, ratio_of(polling_thread)) : absolute;
  }

  void add_rows() {
    const Samples& raw = samples_.at("raw MPI");
    for (const auto& [name, samples] : samples_) {
      if (!samples.crossing.is_whole()) {
        report_.note(samples.crossing.why_left_out(name, size_.bytes));
        continue;
      }
      if (name == "raw MPI") {
        continue;
      }
      std::map<std::string, std::string> params{
          {"bytes", std::to_string(size_.bytes)}, {"by", name}, {"data", size_.is_strided ? "strided" : "whole"}};
      report_.add(
          {"one way", params, 1e3 * bench::Spread{samples.one_way}, "ms", "raw MPI", 1e3 * bench::median(raw.one_way)});
      for (const auto& [where, seconds] : samples.overlapped) {
        params["computing"] = where.first;
        params["compute/transfer"] = fmt::format("{}", where.second);
        const double raw_ratio = bench::median(overhead_ratios(raw, where));
        const double raw_percentage = bench::median(osu_percentages(raw, where));
        report_.add({.name = "overhead ratio",
                     .params = params,
                     .value = overhead_ratios(samples, where),
                     .peer = "raw MPI",
                     .peer_value = raw_ratio,
                     .wanted = wanted_of(name, where)});
        report_.add({"OSU overlap", params, osu_percentages(samples, where), "%", "raw MPI", raw_percentage});
      }
    }
  }

  bench::Report& report_;
  int rank_;
  Size size_;
  plait::Bytes buffer_;
  bench::Stopwatch watch_;
  std::uint64_t steps_of_a_second_ = bench::computation_of(1);  ///< The most measured so far.
  bench::LinkMeter links_;
  bench::Driver driver_ = bench::default_driver();
  std::map<double, std::uint64_t> steps_;  ///< Of the computation, by its length in transfers.
  std::map<std::string, Samples> samples_;
};

std::vector<Size> sizes(bool is_full) {
  if (is_full) {
    const std::vector<double> parts{0.5, 1, 2};
    return {{64 * kibi, parts, 31, 20},
            {256 * kibi, parts, 31, 20},
            {mebi, parts, 21, 20},
            {4 * mebi, parts, 11, 90, false, true},
            {16 * mebi, parts, 7, 120},
            {64 * mebi, {1}, 5, 120},
            {mebi, {1}, 11, 20, true},
            {4 * mebi, parts, 11, 60, true}};
  }
  return {{64 * kibi, {1}, 15, 2},
          {mebi, {1}, 9, 5},
          {4 * mebi, {0.5, 1, 2}, 5, 14, false, true},
          {16 * mebi, {1}, 3, 8},
          {4 * mebi, {1}, 5, 4, true}};
}

/// Transfers on a modelled link, compared with a rank that never polls while it computes.
void add_model(bench::Report& report) {
  bench::ModelledPair never{plait::nanoseconds::zero()};
  for (const auto poll_every : {std::chrono::microseconds{100}, std::chrono::microseconds{1000}}) {
    bench::ModelledPair often{poll_every};
    for (const std::size_t bytes : {mebi / 16, mebi, 4 * mebi, 16 * mebi, 64 * mebi}) {
      const double transfer = never.seconds("none", 0, bytes);
      for (const char* const who : {"sender", "receiver", "both"}) {
        const auto ratio = [&](bench::ModelledPair& pair) {
          return overhead_ratio(pair.seconds(who, transfer, bytes), transfer, transfer);
        };
        const double value = ratio(often);
        report.add({"model: overhead ratio",
                    {{"bytes", std::to_string(bytes)},
                     {"computing", who},
                     {"driver", "sim"},
                     {"poll_every_us", std::to_string(poll_every.count())}},
                    value,
                    "",
                    "model: no poll while computing",
                    ratio(never)});
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report{
      "overlap",
      "on a slow link, aims at hiding a transfer of 4 or 16 MiB behind computing, on either side and on both",
      {.ranks = {2}, .network = bench::Network::lab, .has_model = true},
      argc,
      argv};
  if (report.is_model()) {
    add_model(report);
    report.finish();
    return 0;
  }
  const plait::MpiSession session{argc, argv, true};
  const int rank = bench::rank_of(2, 2);
  for (const Size& size : sizes(report.is_full())) {
    Measurement{report, rank, size}.run();
  }
  report.finish();
}
