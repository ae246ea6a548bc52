// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/predict/predict_tasks.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "plait/replay/predict/detail/task_engine.hpp"

namespace plait::replay {
namespace {

/// Messages of one kind: within hosts, or between hosts.
struct MeasuredMessages {
  struct OfSize {
    std::vector<double> took_ns;
    double bytes = 0;
  };
  std::map<int, OfSize> eager;  ///< By the number of bits of the size.
  std::map<int, OfSize> rendezvous;
  std::uint64_t eager_bytes_max = 0;

  void add(const RunMessage& message) {
    OfSize& of_size = (message.is_eager ? eager : rendezvous)[static_cast<int>(std::bit_width(message.bytes))];
    of_size.took_ns.push_back(static_cast<double>(message.took.count()));
    of_size.bytes += static_cast<double>(message.bytes);
    if (message.is_eager) {
      eager_bytes_max = std::max(eager_bytes_max, message.bytes);
    }
  }
};

/// Of messages that little was in the way of.
double low_quantile(std::vector<double>& values) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 10);
  std::ranges::nth_element(values, at);
  return *at;
}

/// Rendezvous messages at the best rate of any of their sizes. What smaller ones took beyond that is the time until
/// busy ranks noticed a request, which the model adds itself.
void leave_out_noticing(LinkCosts& costs) {
  const auto rate = [](const ByteTime& time) { return time.time_ns / static_cast<double>(time.bytes); };
  const auto first = std::ranges::upper_bound(costs.moving, costs.eager_bytes_max, {}, &ByteTime::bytes);
  const auto fastest = std::ranges::min_element(first, costs.moving.end(), {}, rate);
  if (fastest != costs.moving.end()) {
    const double best = rate(*fastest);
    std::for_each(first, costs.moving.end(), [best](ByteTime& time) {
      time.time_ns = std::min(time.time_ns, best * static_cast<double>(time.bytes));
    });
  }
}

/// Lines through the measured times: the latency is that of the fastest size, the rest takes the interface.
LinkCosts costs_of(MeasuredMessages& messages) {
  struct Point {
    std::uint64_t bytes = 0;
    double time_ns = 0;
    double latencies = 1;  ///< Of a rendezvous two: the clear to send goes back before.
  };
  std::vector<Point> points;
  LinkCosts costs;
  costs.eager_bytes_max =
      messages.eager.empty() && messages.rendezvous.empty() ? ~std::uint64_t{0} : messages.eager_bytes_max;
  const auto add = [&](std::map<int, MeasuredMessages::OfSize>& sizes, double latencies) {
    for (auto& [bits, of_size] : sizes) {
      const double mean = of_size.bytes / static_cast<double>(of_size.took_ns.size());
      points.push_back({static_cast<std::uint64_t>(std::max(2.0, mean)), low_quantile(of_size.took_ns), latencies});
      const double latency = points.back().time_ns / latencies;
      costs.latency_ns = costs.latency_ns == 0 ? latency : std::min(costs.latency_ns, latency);
    }
  };
  add(messages.eager, 1);
  add(messages.rendezvous, 2);
  std::ranges::sort(points, {}, &Point::bytes);
  // A larger message is never faster: what made smaller ones slower was not their size.
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = points.size(); i-- > 0;) {
    least = std::min(least, std::max(0.0, points[i].time_ns - points[i].latencies * costs.latency_ns));
    points[i].time_ns = least;
  }
  for (const Point& point : points) {
    if (costs.moving.empty() || point.bytes > costs.moving.back().bytes) {
      costs.moving.push_back({point.bytes, point.time_ns});
    }
  }
  leave_out_noticing(costs);
  if (!costs.moving.empty()) {
    costs.gap_per_byte_ns = costs.moving.back().time_ns / static_cast<double>(costs.moving.back().bytes);
  }
  return costs;
}

/// Messages over a link whose costs no message of the run has shown.
void name_unknown_links(const TaskRun& run, const Platform& platform, TaskPrediction& prediction) {
  const auto is_unknown = [](const LinkCosts& costs) {
    return costs.latency_ns == 0 && costs.gap_per_byte_ns == 0 && costs.moving.empty();
  };
  std::uint64_t within = 0;
  std::uint64_t between = 0;
  for (const RunMessage& message : run.messages) {
    const auto on = [&](std::uint32_t node) {
      return std::uint64_t{run.nodes[node].rank} * prediction.ranks / run.ranks;
    };
    const std::uint64_t from = on(message.send);
    const std::uint64_t to = on(message.receive);
    if (from != to) {
      ++(from / platform.ranks_per_host == to / platform.ranks_per_host ? within : between);
    }
  }
  const auto add = [&](std::uint64_t count, const LinkCosts& costs, const char* where) {
    if (count > 0 && is_unknown(costs)) {
      prediction.notices.push_back(fmt::format(
          "no message of the run went {}, so {} messages take no time there; give a --platform", where, count));
    }
  };
  add(within, platform.within_host, "within a host");
  add(between, platform.between_hosts, "between hosts");
}

}  // namespace

double TaskPrediction::use() const noexcept {
  const nanoseconds sum = std::accumulate(busy.begin(), busy.end(), nanoseconds{});
  const double whole = static_cast<double>(total.count()) * ranks * workers;
  return whole > 0 ? static_cast<double>(sum.count()) / whole : 0;
}

Result<TaskPrediction> predict_tasks(const TaskRun& run, const Platform& platform, const TaskOptions& options) {
  const std::uint32_t ranks = options.ranks > 0 ? options.ranks : run.ranks;
  if (ranks > run.ranks) {
    return Error{ErrorCode::bad_argument,
                 fmt::format("the run has {} ranks: its tasks cannot be divided among {}, as no trace has the messages "
                             "that this would need; give fewer, or record a run with more",
                             run.ranks,
                             ranks)};
  }
  Result<std::uint32_t> hosts = hosts_of(platform, ranks);
  if (!hosts) {
    return hosts.error();
  }
  try {
    TaskPrediction prediction = predicting::TaskEngine{run, platform, options, ranks, hosts.value()}.predict();
    name_unknown_links(run, platform, prediction);
    return prediction;
  } catch (const Error& error) {
    return error;
  }
}

Platform platform_of(const TaskRun& run) {
  Platform platform;
  platform.name = "the network as recorded";
  platform.progress = ProgressModel::calls;
  MeasuredMessages within;
  MeasuredMessages between;
  const auto host_of = [&](std::uint32_t rank) { return rank < run.hosts.size() ? run.hosts[rank] : std::string{}; };
  for (const RunMessage& message : run.messages) {
    const std::uint32_t from = run.nodes[message.send].rank;
    const std::uint32_t to = run.nodes[message.receive].rank;
    if (from != to && message.took > nanoseconds{}) {
      (host_of(from) == host_of(to) ? within : between).add(message);
    }
  }
  std::uint32_t together = 1;
  while (together < run.ranks && host_of(together) == host_of(0)) {
    ++together;
  }
  platform.ranks_per_host = together;
  platform.within_host = costs_of(within);
  platform.between_hosts = costs_of(between);
  if (run.stolen.ns_per_byte > 0) {
    constexpr std::uint64_t bytes_end = std::uint64_t{1} << 50U;
    const std::vector<ByteTime> stolen{{1, run.stolen.ns_per_byte},
                                       {bytes_end, run.stolen.ns_per_byte * static_cast<double>(bytes_end)}};
    for (LinkCosts* const costs : {&platform.within_host, &platform.between_hosts}) {
      costs->processor.stolen_sending = costs->processor.stolen_receiving = stolen;
    }
  }
  return platform;
}

}  // namespace plait::replay
