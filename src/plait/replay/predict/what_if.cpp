// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/predict/what_if.hpp"

#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "plait/replay/change.hpp"
#include "plait/replay/detail/description.hpp"
#include "plait/replay/fold.hpp"

namespace plait::replay {
namespace {

void scale_latency(Platform& platform, double factor) {
  platform.between_hosts.latency_ns *= factor;
  platform.within_host.latency_ns *= factor;
  platform.topology.link_latency_ns *= factor;
  platform.topology.global_latency_ns *= factor;
}

void scale_bandwidth(Platform& platform, double factor) {
  for (LinkCosts* const costs : {&platform.between_hosts, &platform.within_host}) {
    costs->gap_per_byte_ns /= factor;
    for (MovingTime& time : costs->moving) {
      time.time_ns /= factor;
    }
  }
  platform.topology.link_bytes_per_s *= factor;
  platform.topology.global_bytes_per_s *= factor;
}

void scale_overhead(LinkCosts& costs, double factor) {
  costs.send_overhead_ns *= factor;
  costs.receive_overhead_ns *= factor;
  costs.post_overhead_ns *= factor;
  costs.overhead_per_byte_ns *= factor;
}

}  // namespace

std::string WhatIf::name() const {
  switch (kind) {
    case Kind::latency:
      return fmt::format("latency x{:g}", value);
    case Kind::bandwidth:
      return fmt::format("bandwidth x{:g}", value);
    case Kind::overhead:
      return fmt::format("overhead x{:g}", value);
    case Kind::eager:
      return fmt::format("eager up to {:.0f} bytes", value);
    case Kind::progress:
      return progress == ProgressModel::ideal   ? "ideal progress"
             : progress == ProgressModel::calls ? "progress in calls only"
                                                : fmt::format("background progress every {:g} us", value / 1000);
    case Kind::aggregate:
      return "messages packed by peer";
    case Kind::compute:
      return value == 0 ? "no computing" : fmt::format("computing x{:g}", value);
    case Kind::cores:
      return fmt::format("{:.0f} cores a host", value);
    case Kind::tile:
      return fmt::format("{:.0f} times the ranks", value);
    case Kind::placement:
      return fmt::format("{:.0f} ranks a host", value);
  }
  return "";
}

Result<Scenario> with(const Scenario& scenario, const WhatIf& what_if) {
  Scenario changed = scenario;
  switch (what_if.kind) {
    case WhatIf::Kind::latency:
      scale_latency(changed.platform, what_if.value);
      break;
    case WhatIf::Kind::bandwidth:
      scale_bandwidth(changed.platform, what_if.value);
      break;
    case WhatIf::Kind::overhead:
      scale_overhead(changed.platform.between_hosts, what_if.value);
      scale_overhead(changed.platform.within_host, what_if.value);
      break;
    case WhatIf::Kind::eager:
      changed.platform.between_hosts.eager_bytes_max = static_cast<std::uint64_t>(what_if.value);
      changed.platform.within_host.eager_bytes_max = static_cast<std::uint64_t>(what_if.value);
      break;
    case WhatIf::Kind::progress:
      changed.platform.progress = what_if.progress;
      changed.platform.progress_every_ns = what_if.value;
      break;
    case WhatIf::Kind::aggregate:
      changed.schedule = std::make_shared<const Schedule>(aggregated(*changed.schedule));
      break;
    case WhatIf::Kind::compute:
      changed.options.compute_factor *= what_if.value;
      break;
    case WhatIf::Kind::cores:
      changed.options.compute_factor *= changed.platform.cores_per_host / what_if.value;
      changed.platform.cores_per_host = static_cast<std::uint32_t>(what_if.value);
      break;
    case WhatIf::Kind::tile: {
      Result<Schedule> tiled = tile(*changed.schedule, static_cast<std::uint32_t>(what_if.value));
      if (!tiled) {
        return tiled.error();
      }
      changed.schedule = std::make_shared<const Schedule>(std::move(tiled).value());
      break;
    }
    case WhatIf::Kind::placement:
      changed.platform.ranks_per_host = static_cast<std::uint32_t>(what_if.value);
      break;
  }
  return changed;
}

Result<Scenario> with(const Scenario& scenario, const std::vector<WhatIf>& what_ifs) {
  Scenario changed = scenario;
  for (const WhatIf& what_if : what_ifs) {
    Result<Scenario> next = with(changed, what_if);
    if (!next) {
      return next;
    }
    changed = std::move(next).value();
  }
  return changed;
}

Result<double> parse_factor(const std::string& text) {
  std::string_view digits{text};
  digits.remove_prefix(text.starts_with('x') ? 1 : 0);
  const bool is_percent = digits.ends_with('%');
  digits.remove_suffix(is_percent ? 1 : 0);
  const std::optional<double> value = detail::parse_number(digits);
  if (!value || *value <= 0) {
    return Error{ErrorCode::bad_argument, fmt::format("\"{}\" is no factor: write x0.5 or 50%", text)};
  }
  return is_percent ? *value / 100 : *value;
}

Result<std::uint64_t> parse_bytes(const std::string& text) {
  if (const std::optional<std::uint64_t> bytes = detail::parse_bytes(text)) {
    return *bytes;
  }
  return Error{ErrorCode::bad_argument, fmt::format("\"{}\" is no size: write 4096, 64KiB or 1MB", text)};
}

Result<WhatIf> parse_progress(const std::string& text) {
  WhatIf what_if{.kind = WhatIf::Kind::progress, .value = 0};
  if (text == "ideal") {
    return what_if;
  }
  if (text == "calls") {
    what_if.progress = ProgressModel::calls;
    return what_if;
  }
  constexpr std::string_view begin = "background:";
  if (text.starts_with(begin)) {
    what_if.progress = ProgressModel::background;
    const std::string_view every = std::string_view{text}.substr(begin.size());
    const std::optional<nanoseconds> time = detail::parse_time(every);
    what_if.value = time ? static_cast<double>(time->count()) : detail::parse_number(every).value_or(0);
    if (what_if.value > 0) {
      return what_if;
    }
  }
  return Error{ErrorCode::bad_argument,
               fmt::format("\"{}\" is no way to make progress: write ideal, calls or background:10us", text)};
}

std::vector<WhatIf> usual_what_ifs(const Platform& platform) {
  std::vector<WhatIf> what_ifs{{.kind = WhatIf::Kind::latency, .value = 0.5},
                               {.kind = WhatIf::Kind::bandwidth, .value = 2},
                               {.kind = WhatIf::Kind::overhead, .value = 0.5},
                               {.kind = WhatIf::Kind::aggregate},
                               {.kind = WhatIf::Kind::compute, .value = 0.5}};
  if (platform.progress != ProgressModel::ideal) {
    what_ifs.push_back({.kind = WhatIf::Kind::progress, .value = 0, .progress = ProgressModel::ideal});
  }
  constexpr double large = 1 << 20;
  if (static_cast<double>(platform.between_hosts.eager_bytes_max) < large) {
    what_ifs.push_back({.kind = WhatIf::Kind::eager, .value = large});
  }
  return what_ifs;
}

}  // namespace plait::replay
