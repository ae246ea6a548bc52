// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/predict/what_if.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "plait/replay/change.hpp"
#include "plait/replay/detail/description.hpp"
#include "plait/replay/enlarge.hpp"
#include "plait/replay/fold.hpp"

namespace plait::replay {
namespace {

/// What a kind of change is called, with its value, and what it does.
struct Change {
  const char* name;
  void (*apply)(Scenario& scenario, const WhatIf& what_if);
};

/// Applies `change` to the costs between hosts and to those within a host.
template <class Apply>
void for_all_costs(Platform& platform, const Apply& change) {
  change(platform.between_hosts);
  change(platform.within_host);
}

void scale(std::vector<ByteTime>& curve, double factor) {
  std::ranges::for_each(curve, [factor](ByteTime& time) { time.time_ns *= factor; });
}

/// The grid of the ranks, found once.
const RankGrid& grid_of(Scenario& scenario) {
  if (!scenario.grid) {
    scenario.grid = find_grid(*scenario.schedule, scenario.grid_choice).value();
  }
  return *scenario.grid;
}

void grow(Scenario& scenario, const Growth& growth) {
  const RankGrid& grid = grid_of(scenario);
  Growth by = growth;
  by.dimension = scenario.dimension;
  scenario.schedule = std::make_shared<const Schedule>(enlarge(*scenario.schedule, grid, by).value());
  scenario.grid = enlarged(grid, by.replicas);
}

/// Joins copies of the ranks at their edges. An exchange that fits no grid is copied without: its copies do not meet.
void tile_ranks(Scenario& scenario, const WhatIf& by) {
  const auto copies = static_cast<std::uint32_t>(by.value);
  if (!scenario.grid && scenario.grid_choice.sizes.empty()) {
    if (auto found = find_grid(*scenario.schedule, scenario.grid_choice); !found) {
      Schedule apart = tile(*scenario.schedule, copies).value();
      apart.notices.emplace_back(found.error().what());
      scenario.schedule = std::make_shared<const Schedule>(std::move(apart));
      return;
    }
  }
  const RankGrid& grid = grid_of(scenario);
  grow(scenario, {.replicas = by.copies.empty() ? copies_along(grid, copies).value() : by.copies});
}

void change_ranks(Scenario& scenario, const WhatIf& by) {
  const auto before = static_cast<std::uint32_t>(scenario.schedule->ranks.size());
  const auto ranks = static_cast<std::uint32_t>(by.value);
  if (before == 0 || ranks % before != 0) {
    throw Error{
        ErrorCode::bad_argument,
        fmt::format("--ranks {}: the exchange of {} ranks can be cut finer only, to a multiple of {}; for fewer, "
                    "record fewer",
                    ranks,
                    before,
                    before)};
  }
  const double finer = by.value / before;
  grow(scenario, {.replicas = copies_along(grid_of(scenario), ranks / before).value(), .volume = 1 / finer});
}

/// By `WhatIf::Kind`.
const std::array<Change, 12> changes{{
    {"latency x{:g}",
     [](Scenario& scenario, const WhatIf& by) {
       for_all_costs(scenario.platform, [&](LinkCosts& costs) { costs.latency_ns *= by.value; });
       scenario.platform.topology.link_latency_ns *= by.value;
       scenario.platform.topology.global_latency_ns *= by.value;
     }},
    {"bandwidth x{:g}",
     [](Scenario& scenario, const WhatIf& by) {
       for_all_costs(scenario.platform, [&](LinkCosts& costs) {
         costs.gap_per_byte_ns /= by.value;
         scale(costs.moving, 1 / by.value);
         scale(costs.occupying, 1 / by.value);
         scale(costs.leaving, 1 / by.value);
       });
       scenario.platform.topology.link_bytes_per_s *= by.value;
       scenario.platform.topology.global_bytes_per_s *= by.value;
     }},
    {"overhead x{:g}",
     [](Scenario& scenario, const WhatIf& by) {
       for_all_costs(scenario.platform, [&](LinkCosts& costs) {
         costs.send_overhead_ns *= by.value;
         costs.receive_overhead_ns *= by.value;
         costs.post_overhead_ns *= by.value;
         costs.overhead_per_byte_ns *= by.value;
         for (std::vector<ByteTime>* const curve : {&costs.processor.sending,
                                                    &costs.processor.receiving,
                                                    &costs.processor.stolen_sending,
                                                    &costs.processor.stolen_receiving}) {
           scale(*curve, by.value);
         }
       });
     }},
    {"eager up to {:.0f} bytes",
     [](Scenario& scenario, const WhatIf& by) {
       for_all_costs(scenario.platform,
                     [&](LinkCosts& costs) { costs.eager_bytes_max = static_cast<std::uint64_t>(by.value); });
     }},
    {"progress",
     [](Scenario& scenario, const WhatIf& by) {
       scenario.platform.progress = by.progress;
       scenario.platform.progress_every_ns = by.value;
     }},
    {"messages packed by peer",
     [](Scenario& scenario, const WhatIf& /*by*/) {
       scenario.schedule = std::make_shared<const Schedule>(aggregated(*scenario.schedule));
     }},
    {"computing x{:g}", [](Scenario& scenario, const WhatIf& by) { scenario.options.compute_factor *= by.value; }},
    {"{:.0f} cores a host",
     [](Scenario& scenario, const WhatIf& by) {
       if (scenario.platform.core_slice_ns == 0) {  // else the ranks of a host share its cores
         scenario.options.compute_factor *= scenario.platform.cores_per_host / by.value;
       }
       scenario.platform.cores_per_host = static_cast<std::uint32_t>(by.value);
     }},
    {"{:.0f} times the ranks", tile_ranks},
    {"cut finer, for {:.0f} ranks", change_ranks},
    {"a problem x{:g}", [](Scenario& scenario, const WhatIf& by) { grow(scenario, {.volume = by.value}); }},
    {"{:.0f} ranks a host",
     [](Scenario& scenario, const WhatIf& by) {
       scenario.platform.ranks_per_host = static_cast<std::uint32_t>(by.value);
     }},
}};

}  // namespace

std::string WhatIf::name() const {
  if (kind == Kind::progress) {
    return progress == ProgressModel::ideal   ? "ideal progress"
           : progress == ProgressModel::calls ? "progress in calls only"
                                              : fmt::format("background progress every {:g} us", value / 1000);
  }
  return fmt::format(fmt::runtime(changes.at(static_cast<std::size_t>(kind)).name), value);
}

Result<Scenario> with(Scenario scenario, const std::vector<WhatIf>& what_ifs) {
  try {
    for (const WhatIf& what_if : what_ifs) {
      changes.at(static_cast<std::size_t>(what_if.kind)).apply(scenario, what_if);
    }
    return scenario;
  } catch (const Error& error) {
    return error;
  }
}

Result<double> parse_factor(const std::string& text) {
  std::string_view digits{text};
  digits.remove_prefix(text.starts_with('x') ? 1 : 0);
  const bool is_percent = digits.ends_with('%');
  digits.remove_suffix(is_percent ? 1 : 0);
  const std::optional<double> value = detail::parse_number(digits);
  if (!value || *value <= 0) {
    return Error{ErrorCode::bad_argument, fmt::format("\"{}\" is not a factor: write x0.5 or 50%", text)};
  }
  return is_percent ? *value / 100 : *value;
}

Result<std::uint64_t> parse_bytes(const std::string& text) {
  if (const std::optional<std::uint64_t> bytes = detail::parse_bytes(text)) {
    return *bytes;
  }
  return Error{ErrorCode::bad_argument, fmt::format("\"{}\" is not a size: write 4096, 64KiB or 1MB", text)};
}

Result<WhatIf> parse_tile(const std::string& text) {
  auto copies = parse_grid(text);
  if (!copies || copies.value().sizes.empty() || copies.value().is_periodic) {
    return Error{ErrorCode::bad_argument, fmt::format("\"{}\" is not a number of copies: write 8, or 4x2", text)};
  }
  WhatIf what_if{.kind = WhatIf::Kind::tile, .value = 1};
  for (const std::uint32_t size : copies.value().sizes) {
    what_if.value *= size;
  }
  if (copies.value().sizes.size() > 1) {
    what_if.copies = copies.value().sizes;
  }
  return what_if;
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
               fmt::format("\"{}\" is not a progress model: write ideal, calls or background:10us", text)};
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
