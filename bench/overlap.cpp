// SPDX-License-Identifier: Apache-2.0
// How much of a transfer is hidden behind computing on the sender, on the receiver, or on both: post, compute, wait.
// Procedure and overhead ratio are those of MadMPI's overlap benchmarks, the percentage is that of the OSU
// micro-benchmarks.
#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "support/computation.hpp"
#include "support/drivers.hpp"
#include "support/modelled_pair.hpp"
#include "support/polled_mpi.hpp"
#include "support/report.hpp"
#include "support/sides.hpp"
#include "support/stopwatch.hpp"

namespace {

constexpr std::size_t strided_block_bytes = 4096;

enum class Form { contiguous, strided };

struct Size {
  std::size_t bytes = 0;
  std::vector<double> parts;  ///< Lengths of the computation, in durations of the transfer.
  int repetitions = 0;
  double seconds_max = 0;  ///< No repetition starts after so long.
  Form form = Form::contiguous;
  bool has_all_progressions = false;

  /// What a buffer takes: blocks and gaps of the same length, when strided.
  [[nodiscard]] std::size_t extent() const { return form == Form::strided ? 2 * bytes : bytes; }
};

/// Raw MPI with every second block of a buffer.
class StridedMpi : public bench::RawMpi {
 public:
  explicit StridedMpi(MPI_Datatype type) : type_{type} {}

  [[nodiscard]] Request send(int to, int tag, std::span<const std::byte> data) const {
    Request request = MPI_REQUEST_NULL;
    MPI_Isend(data.data(), data.empty() ? 0 : 1, type_, to, tag, MPI_COMM_WORLD, &request);
    return request;
  }
  [[nodiscard]] Request receive(int from, int tag, std::span<std::byte> buffer) const {
    Request request = MPI_REQUEST_NULL;
    MPI_Irecv(buffer.data(), buffer.empty() ? 0 : 1, type_, from, tag, MPI_COMM_WORLD, &request);
    return request;
  }
  void blocking_send(int to, int tag, std::span<const std::byte> data) const {
    Request request = send(to, tag, data);
    wait(request);
  }
  void blocking_receive(int from, int tag, std::span<std::byte> buffer) const {
    Request request = receive(from, tag, buffer);
    wait(request);
  }

 private:
  MPI_Datatype type_;
};

/// plait with every second block of a buffer.
class StridedPlait : public bench::Plait {
 public:
  using Plait::Plait;

  [[nodiscard]] Request send(int to, int tag, std::span<const std::byte> data) const {
    return messages().send(address(to, tag), layout(data));
  }
  [[nodiscard]] Request receive(int from, int tag, std::span<std::byte> buffer) const {
    return messages().receive(address(from, tag), layout(buffer));
  }
  void blocking_send(int to, int tag, std::span<const std::byte> data) const { send(to, tag, data).wait(); }
  void blocking_receive(int from, int tag, std::span<std::byte> buffer) const { receive(from, tag, buffer).wait(); }

 private:
  template <class Byte>
  static plait::comm::Layout layout(std::span<Byte> buffer) {
    constexpr std::size_t stride = 2 * strided_block_bytes;
    return plait::comm::Layout::strided(buffer.data(), strided_block_bytes, stride, buffer.size() / stride);
  }
};

/// What an overlapped transfer has cost beyond the longer of transfer and computation, in the shorter of them: 0 is
/// perfect, 1 is one after the other. Cut at 2, as MadMPI does.
double overhead_ratio(double seconds, double transfer, double computing) {
  return std::min(2.0, (seconds - std::max(transfer, computing)) / std::min(transfer, computing));
}

/// The exchanges of one side; all times are seconds, right on rank 0.
template <class Side>
class Exchange {
 public:
  Exchange(Side& side, int rank, std::span<std::byte> buffer)
      : side_{side}, rank_{rank}, peer_{1 - rank}, buffer_{buffer} {}

  /// One way, from `count` round trips.
  double one_way(std::span<std::byte> data, int count) {
    MPI_Barrier(MPI_COMM_WORLD);
    const bench::Stopwatch watch;
    for (int i = 0; i < count; ++i) {
      if (rank_ == 0) {
        side_.blocking_send(peer_, data_tag, data);
        side_.blocking_receive(peer_, data_tag, data);
      } else {
        side_.blocking_receive(peer_, data_tag, data);
        side_.blocking_send(peer_, data_tag, data);
      }
    }
    return watch.seconds() / (2 * count);
  }

  /// With its acknowledgement.
  double sender_computes(std::uint64_t steps) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_ != 0) {
      side_.blocking_receive(peer_, data_tag, buffer_);
      side_.blocking_send(peer_, control_tag, {});
      return 0;
    }
    const bench::Stopwatch watch;
    send_and_compute(steps);
    side_.blocking_receive(peer_, control_tag, {});
    return watch.seconds();
  }

  /// With the message that asks for it.
  double receiver_computes(std::uint64_t steps) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_ != 0) {
      side_.blocking_receive(peer_, control_tag, {});
      side_.blocking_send(peer_, data_tag, buffer_);
      return 0;
    }
    const bench::Stopwatch watch;
    side_.blocking_send(peer_, control_tag, {});
    receive_and_compute(steps);
    return watch.seconds();
  }

  double both_compute(std::uint64_t steps) {
    MPI_Barrier(MPI_COMM_WORLD);
    const bench::Stopwatch watch;
    if (rank_ == 0) {
      send_and_compute(steps);
      receive_and_compute(steps);
    } else {
      receive_and_compute(steps);
      send_and_compute(steps);
    }
    return watch.seconds() / 2;
  }

 private:
  static constexpr int data_tag = 1;
  static constexpr int control_tag = 2;

  void send_and_compute(std::uint64_t steps) {
    auto request = side_.send(peer_, data_tag, buffer_);
    bench::compute(steps);
    side_.wait(request);
  }
  void receive_and_compute(std::uint64_t steps) {
    auto request = side_.receive(peer_, data_tag, buffer_);
    bench::compute(steps);
    side_.wait(request);
  }

  Side& side_;
  int rank_;
  int peer_;
  std::span<std::byte> buffer_;
};

/// What one way of making progress has measured, in seconds.
struct Samples {
  std::vector<double> empty_one_way;
  std::vector<double> one_way;
  std::map<std::pair<std::string, double>, std::vector<double>> overlapped;  ///< By who computes, and how long.
};

/// Everything about messages of one size.
class Measurement {
 public:
  Measurement(bench::Report& report, int rank, Size size)
      : report_{report}, rank_{rank}, size_{std::move(size)}, buffer_(size_.extent(), std::byte{1}) {
    bench::RawMpi raw;
    const double one_way = Exchange{raw, rank_, std::span{buffer_}.first(size_.bytes)}.one_way(buffer_, 2);
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
      if (size_.form == Form::strided) {
        measure_strided();
      } else {
        measure_contiguous();
      }
    }
    add_rows();
  }

 private:
  void measure_contiguous() {
    bench::RawMpi raw;
    sample(raw, "raw MPI");
    {
      bench::Polled<bench::RawMpi> polled{raw};
      sample(polled, "raw MPI and a polling thread");
    }
    measure_plait<bench::Plait>();
  }

  void measure_strided() {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_vector(static_cast<int>(size_.bytes / strided_block_bytes),
                    strided_block_bytes,
                    2 * strided_block_bytes,
                    MPI_BYTE,
                    &type);
    MPI_Type_commit(&type);
    {
      StridedMpi raw{type};
      sample(raw, "raw MPI");
      bench::Polled<StridedMpi> polled{raw};
      sample(polled, "raw MPI and a polling thread");
    }
    MPI_Type_free(&type);
    measure_plait<StridedPlait>();
  }

  [[nodiscard]] bool is_late() const {
    return bench::of_rank_0(bench::RawMpi{}, static_cast<int>(watch_.seconds() > size_.seconds_max)) != 0;
  }

  template <class Side>
  void measure_plait() {
    for (const bench::Progression& progression : bench::progressions()) {
      const auto runtime = driver_.start(progression.options);
      Side side{*runtime};
      sample(side, "plait " + driver_.name + " " + progression.name);
      if (!size_.has_all_progressions || is_late()) {
        return;
      }
    }
  }

  template <class Side>
  void sample(Side& side, const std::string& name) {
    Samples& samples = samples_[name];
    Exchange exchange{side, rank_, std::span{buffer_}};
    exchange.one_way({}, 5);  // connects and warms up
    samples.empty_one_way.push_back(exchange.one_way({}, 20));
    samples.one_way.push_back(exchange.one_way(buffer_, 1));
    for (const auto& [part, steps] : steps_) {
      samples.overlapped[{"sender", part}].push_back(exchange.sender_computes(steps));
      samples.overlapped[{"receiver", part}].push_back(exchange.receiver_computes(steps));
      samples.overlapped[{"both", part}].push_back(exchange.both_compute(steps));
    }
  }

  [[nodiscard]] std::vector<double> overhead_ratios(const Samples& samples,
                                                    const std::pair<std::string, double>& where) const {
    std::vector<double> ratios;
    for (const double seconds : net_seconds(samples, where)) {
      ratios.push_back(overhead_ratio(seconds, transfer_of(samples), computing_alone(where)));
    }
    return ratios;
  }

  /// max(0, 100 - 100 * (overall - computing) / transfer)
  [[nodiscard]] std::vector<double> osu_percentages(const Samples& samples,
                                                    const std::pair<std::string, double>& where) const {
    std::vector<double> percentages;
    for (const double seconds : net_seconds(samples, where)) {
      percentages.push_back(std::max(0.0, 100 - 100 * (seconds - computing_alone(where)) / transfer_of(samples)));
    }
    return percentages;
  }

  // The overlapped times are held against the fastest transfer and the fastest computation: what another program took
  // from the machine then counts against the overlap, never for it.
  [[nodiscard]] static double transfer_of(const Samples& samples) { return bench::quantile(samples.one_way, 0); }
  [[nodiscard]] double computing_alone(const std::pair<std::string, double>& where) const {
    return static_cast<double>(steps_.at(where.second)) / static_cast<double>(steps_of_a_second_);
  }

  /// Without the empty message that belongs to the procedure.
  [[nodiscard]] static std::vector<double> net_seconds(const Samples& samples,
                                                       const std::pair<std::string, double>& where) {
    std::vector<double> all = samples.overlapped.at(where);
    if (where.first != "both") {
      const double empty = bench::median(samples.empty_one_way);
      for (double& seconds : all) {
        seconds = std::max(0.0, seconds - empty);
      }
    }
    return all;
  }

  void add_rows() {
    const Samples& raw = samples_.at("raw MPI");
    const double raw_one_way = bench::median(raw.one_way);
    for (const auto& [name, samples] : samples_) {
      if (name == "raw MPI") {
        continue;
      }
      std::vector<double> milliseconds = samples.one_way;
      std::ranges::for_each(milliseconds, [](double& value) { value *= 1e3; });
      std::map<std::string, std::string> params{{"bytes", std::to_string(size_.bytes)},
                                                {"by", name},
                                                {"data", size_.form == Form::strided ? "strided" : "whole"}};
      report_.add({"one way", params, milliseconds, "ms", "raw MPI", raw_one_way * 1e3});
      for (const auto& [where, seconds] : samples.overlapped) {
        params["computing"] = where.first;
        params["compute/transfer"] = fmt::format("{}", where.second);
        report_.add({"overhead ratio",
                     params,
                     overhead_ratios(samples, where),
                     "",
                     "raw MPI",
                     bench::median(overhead_ratios(raw, where))});
        report_.add({"OSU overlap",
                     params,
                     osu_percentages(samples, where),
                     "%",
                     "raw MPI",
                     bench::median(osu_percentages(raw, where))});
      }
    }
  }

  bench::Report& report_;
  int rank_;
  Size size_;
  plait::Bytes buffer_;
  bench::Stopwatch watch_;
  std::uint64_t steps_of_a_second_ = bench::computation_of(1);  ///< The most that was measured.
  bench::Driver driver_ = bench::default_driver();
  std::map<double, std::uint64_t> steps_;  ///< Of the computation, by its length in transfers.
  std::map<std::string, Samples> samples_;
};

std::vector<Size> sizes(bool is_full) {
  constexpr std::size_t kibi = 1024;
  constexpr std::size_t mebi = kibi * kibi;
  if (is_full) {
    const std::vector<double> parts{0.5, 1, 2};
    return {{64 * kibi, parts, 31, 20},
            {256 * kibi, parts, 31, 20},
            {mebi, parts, 21, 20},
            {4 * mebi, parts, 11, 90, Form::contiguous, true},
            {16 * mebi, parts, 7, 120},
            {64 * mebi, {1}, 5, 120},
            {mebi, {1}, 11, 20, Form::strided},
            {4 * mebi, parts, 11, 60, Form::strided}};
  }
  return {{64 * kibi, {1}, 15, 2},
          {mebi, {1}, 9, 5},
          {4 * mebi, {0.5, 1, 2}, 5, 14, Form::contiguous, true},
          {16 * mebi, {1}, 3, 8},
          {4 * mebi, {1}, 5, 4, Form::strided}};
}

/// The same on a modelled link, beside a rank that never polls while it computes.
void add_model(bench::Report& report) {
  constexpr std::size_t mebi = std::size_t{1} << 20U;
  bench::ModelledPair never{plait::nanoseconds::zero()};
  for (const auto look_every : {std::chrono::microseconds{100}, std::chrono::microseconds{1000}}) {
    bench::ModelledPair often{look_every};
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
                     {"look_every_us", std::to_string(look_every.count())}},
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
      {.ranks = {2}, .network = bench::Network::lab},
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
