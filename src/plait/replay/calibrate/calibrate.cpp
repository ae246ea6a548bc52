// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/calibrate/calibrate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

namespace plait::replay::calibrating {
namespace {

constexpr std::array patiences_ns{1e6, 1e7, 5e7};  ///< After which a send that has not ended waits for its receive.

constexpr double settling_ns = 60'000;  ///< Until a signal's acknowledgement has been handled.

/// Longer than what a message of this time needs.
double long_enough(double one_way_ns) {
  return 1.5 * one_way_ns + 50'000;
}

/// Not below 0, which a disturbance can be by noise; 0 on the rank that has no values.
double median_or_zero(const std::vector<double>& values) {
  return values.empty() ? 0 : std::max(0.0, median(values));
}

/// Of the values of `Measurer::while_computing`, in their order.
constexpr std::array<bool, 6> is_of_sender{true, true, false, true, false, false};

/// All measurements of one size in one round, each a function on both ranks.
class Measurer {
 public:
  Measurer(const Pair& pair, std::uint64_t bytes, double share_ns)
      : pair_{pair}, buffers_{bytes}, bytes_{bytes}, share_ns_{share_ns} {}

  /// Half a round trip. `is_written`: the sender writes its buffer before, which is not counted.
  double one_way(bool is_written) {
    const int count = repetitions();
    pair_.meet();
    double writing = 0;
    const double begin = now_ns();
    for (int i = 0; i < count; ++i) {
      if (!pair_.is_first()) {
        receive();
      }
      if (is_written) {
        writing += write();
      }
      send();
      if (pair_.is_first()) {
        receive();
      }
    }
    const double both = now_ns() - begin - writing - pair_.of_second(writing);
    return pair_.of_first(both) / count / 2;
  }

  /// Of a message while both ranks compute: what the calls take, and what the core loses to the network.
  struct WhileComputing {
    double sending = 0;           ///< Of the call that begins to send.
    double stolen_at_sender = 0;  ///< What computing takes longer.
    double stolen_at_receiver = 0;
    double finishing_at_sender = 0;  ///< In the wait after the computing.
    double receiving = 0;            ///< Likewise, of the receiver.
    double posting = 0;              ///< Of the call that begins to receive.
  };
  WhileComputing while_computing() {
    std::array<std::vector<double>, 6> values;
    for (int i = 0; i < few(); ++i) {
      pair_.meet();
      pair_.is_first() ? send_and_compute(values) : receive_and_compute(values);
    }
    std::array<double, 6> middle{};
    for (std::size_t i = 0; i < middle.size(); ++i) {
      middle[i] = median_or_zero(values[i]);
    }
    for (std::size_t i = 0; i < middle.size(); ++i) {
      middle[i] = is_of_sender[i] ? pair_.of_first(middle[i]) : pair_.of_second(middle[i]);
    }
    return {middle[0], middle[1], middle[2], middle[3], middle[4], middle[5]};
  }

  /// Of a blocking send whose receiver waits for it.
  struct Blocking {
    double sending = 0;       ///< Until the send has ended.
    double stolen_after = 0;  ///< What computing takes longer that begins then.
  };
  Blocking blocking() {
    std::vector<double> sending;
    std::vector<double> stolen;
    for (int i = 0; i < few(); ++i) {
      pair_.meet();
      if (!pair_.is_first()) {
        MPI_Request request = pair_.receive(buffers_.in);
        pair_.signal();
        Pair::wait(request);
        continue;
      }
      pair_.await_signal();
      pair_.computation().run(2 * settling_ns);  // the receiver waits by now
      const double begin = now_ns();
      send();
      sending.push_back(now_ns() - begin);
      stolen.push_back(disturbance(long_enough(one_way_ns_)));
    }
    return {pair_.of_first(median_or_zero(sending)), pair_.of_first(median_or_zero(stolen))};
  }

  /// Of a receive whose message came before it.
  double receiving_unexpected() {
    std::vector<double> values;
    for (int i = 0; i < few(); ++i) {
      pair_.meet();
      if (pair_.is_first()) {
        send();
        continue;
      }
      int has_come = 0;
      while (has_come == 0) {
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, pair_.ranks(), &has_come, MPI_STATUS_IGNORE);
      }
      pair_.computation().run(long_enough(one_way_ns_));
      const double begin = now_ns();
      receive();
      values.push_back(now_ns() - begin);
    }
    return pair_.of_second(median_or_zero(values));
  }

  /// What one more message costs when several are outstanding.
  double one_more(bool both_ways) {
    const bool is_long = static_cast<double>(bytes_) > 100'000;
    const int fewer = is_long ? 2 : 16;
    const int more = is_long ? 6 : 64;
    const double first = burst(fewer, both_ways);
    return pair_.of_first(std::max(0.0, (burst(more, both_ways) - first) / (more - fewer)));
  }

  /// About what `one_way` returns: how many repetitions are enough.
  void learn(double one_way_ns) { one_way_ns_ = one_way_ns; }

  /// Measures how much slower this core computes at present, without messages. Collective.
  void learn_speed() {
    constexpr double time_ns = 500'000;
    std::vector<double> slower;
    for (int i = 0; i < 5; ++i) {
      pair_.meet();
      pair_.computation().run(settling_ns);
      slower.push_back(pair_.computation().disturbance(time_ns) / time_ns);
    }
    slower_ = median(std::move(slower));
  }

 private:
  [[nodiscard]] int repetitions() const {
    return one_way_ns_ > 0 ? static_cast<int>(std::clamp(share_ns_ / one_way_ns_, 3.0, 400.0)) : 3;
  }
  /// Of measurements that stop both ranks each time.
  [[nodiscard]] int few() const { return std::clamp(repetitions() / 4, 3, 50); }
  /// How much longer a computation takes than without messages.
  [[nodiscard]] double disturbance(double time_ns) const {
    return pair_.computation().disturbance(time_ns) - slower_ * time_ns;
  }
  void send() {
    MPI_Request request = pair_.send(buffers_.out);
    Pair::wait(request);
  }
  void receive() {
    MPI_Request request = pair_.receive(buffers_.in);
    Pair::wait(request);
  }
  double write() {
    const double begin = now_ns();
    std::ranges::fill(buffers_.out, static_cast<std::byte>(++written_));
    return now_ns() - begin;
  }

  void send_and_compute(std::array<std::vector<double>, 6>& values) {
    pair_.await_signal();
    pair_.computation().run(2 * settling_ns);  // the receiver computes by now
    const double begin = now_ns();
    MPI_Request request = pair_.send(buffers_.out);
    values[0].push_back(now_ns() - begin);
    values[1].push_back(disturbance(long_enough(one_way_ns_)));
    const double end = now_ns();
    Pair::wait(request);
    values[3].push_back(now_ns() - end);
  }
  void receive_and_compute(std::array<std::vector<double>, 6>& values) {
    const double begin = now_ns();
    MPI_Request request = pair_.receive(buffers_.in);
    values[5].push_back(now_ns() - begin);
    pair_.signal();
    pair_.computation().run(settling_ns);
    values[2].push_back(disturbance(long_enough(one_way_ns_) + 2 * settling_ns));
    const double end = now_ns();
    Pair::wait(request);
    values[4].push_back(now_ns() - end);
  }

  double burst(int count, bool both_ways) {
    std::vector<double> values;
    const int turns = std::clamp(repetitions() / count, 2, 20);
    for (int turn = 0; turn < turns; ++turn) {
      std::vector<MPI_Request> requests;
      pair_.meet();
      const bool receives = both_ways || !pair_.is_first();
      const bool sends = both_ways || pair_.is_first();
      for (int i = 0; receives && i < count; ++i) {
        requests.push_back(pair_.receive(buffers_.in));
      }
      pair_.meet();
      const double begin = now_ns();
      for (int i = 0; sends && i < count; ++i) {
        requests.push_back(pair_.send(buffers_.out));
      }
      Pair::wait(requests);
      pair_.meet();
      values.push_back(now_ns() - begin);
    }
    return median(std::move(values));
  }

  const Pair& pair_;
  Buffers buffers_;
  std::uint64_t bytes_;
  double share_ns_;
  double one_way_ns_ = 0;
  double slower_ = 0;  ///< Of this core: added part of a computation's time.
  unsigned written_ = 0;
};

/// Whether a send of so many bytes ends although it has no receive. The other rank makes progress meanwhile, as it
/// waits for the sender's signal: some libraries free the sender's buffer only then.
bool ends_without_receive(const Pair& pair, std::uint64_t bytes, double patience_ns) {
  Buffers buffers{bytes};
  pair.meet();
  int is_done = 0;
  if (pair.is_first()) {
    MPI_Request request = pair.send(buffers.out);
    const double end = now_ns() + patience_ns;
    do {
      MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
    } while (is_done == 0 && now_ns() < end);
    pair.signal();
    if (is_done == 0) {
      Pair::wait(request);
    }
  } else {
    pair.await_signal();
    MPI_Request request = pair.receive(buffers.in);
    Pair::wait(request);
  }
  return pair.of_first(is_done) != 0;
}

/// More than one attempt, as the other rank may not have had its core.
bool is_eager(const Pair& pair, std::uint64_t bytes) {
  return std::ranges::any_of(patiences_ns,
                             [&](double patience) { return ends_without_receive(pair, bytes, patience); });
}

/// By halving, to the byte.
std::uint64_t longest_eager(const Pair& pair, std::uint64_t longest) {
  std::uint64_t good = 0;
  std::uint64_t bad = longest + 1;
  if (is_eager(pair, longest)) {
    return longest;
  }
  while (bad - good > 1) {
    const std::uint64_t middle = good + (bad - good) / 2;
    (is_eager(pair, middle) ? good : bad) = middle;
  }
  return good;
}

/// Collects values by name and size, in the order of the first round.
class Table {
 public:
  void add(const std::string& what, std::uint64_t bytes, double time_ns) {
    const auto [place, is_new] = places_.try_emplace({what, bytes}, series_.size());
    if (is_new) {
      series_.push_back({.what = what, .bytes = bytes, .times_ns = {}});
    }
    series_[place->second].times_ns.push_back(time_ns);
  }
  [[nodiscard]] std::vector<Series> take() { return std::move(series_); }

 private:
  std::vector<Series> series_;
  std::map<std::pair<std::string, std::uint64_t>, std::size_t> places_;
};

void measure(Measurer& measurer, std::uint64_t bytes, Table& table) {
  table.add("one way", bytes, measurer.one_way(false));
  table.add("one way, written before", bytes, measurer.one_way(true));
  const Measurer::WhileComputing computing = measurer.while_computing();
  table.add("sending", bytes, computing.sending);
  table.add("posting", bytes, computing.posting);
  table.add("receiving", bytes, computing.receiving);
  table.add("receiving, unexpected", bytes, measurer.receiving_unexpected());
  table.add("finishing", bytes, computing.finishing_at_sender);
  table.add("stolen, sender", bytes, computing.stolen_at_sender);
  table.add("stolen, receiver", bytes, computing.stolen_at_receiver);
  const Measurer::Blocking blocking = measurer.blocking();
  table.add("sending, blocking", bytes, blocking.sending);
  table.add("stolen, after sending", bytes, blocking.stolen_after);
  table.add("one more", bytes, measurer.one_more(false));
  table.add("one more, both ways", bytes, measurer.one_more(true));
}

}  // namespace

Calibration calibrate(const Pair& pair,
                      const CalibrationOptions& options,
                      const std::function<void(std::uint32_t)>& at_round) {
  Table table;
  std::vector<double> estimates;
  for (const std::uint64_t bytes : options.sizes) {  // connects, and fills caches of registered memory
    estimates.push_back(Measurer{pair, bytes, 0}.one_way(false));
  }
  const std::uint64_t eager = longest_eager(pair, options.sizes.back());
  for (std::uint32_t round = 0; round < options.rounds; ++round) {
    at_round(round);
    for (std::size_t i = 0; i < options.sizes.size(); ++i) {
      Measurer measurer{pair, options.sizes[i], options.share_ns};
      measurer.learn(estimates[i]);
      measurer.learn_speed();
      measure(measurer, options.sizes[i], table);
    }
  }
  return {.eager_bytes_max = eager, .series = pair.is_first() ? table.take() : std::vector<Series>{}};
}

}  // namespace plait::replay::calibrating
