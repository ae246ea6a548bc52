// SPDX-License-Identifier: Apache-2.0
#include "dns/program/problems.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dns/initial_field.hpp"
#include "dns/output/field_reader.hpp"
#include "support/agree.hpp"

namespace dns {
namespace {

using plait::Error;
using plait::ErrorCode;
using plait::fft::Execution;
using plait::fft::Plan;

/// Throws on all ranks if any has a value that is not finite.
void throw_if_not_numbers(plait::Runtime& runtime, const std::string& name, const NotNumbers& mine) {
  NotNumbers all;
  std::size_t rank = 0;
  std::size_t first_rank = 0;
  for (const NotNumbers& one : plait::all_gather_values(runtime.messages(), mine)) {
    if (one.count > 0 && all.count == 0) {
      all.first = one.first;
      first_rank = rank;
    }
    all.count += one.count;
    ++rank;
  }
  if (all.count > 0) {
    throw app::AgreedError{
        Error{ErrorCode::bad_input,
              fmt::format("{} is not a finite number at {} point{}, as at x, y, z number {} (on rank "
                          "{}): correct the file",
                          name,
                          all.count,
                          all.count == 1 ? "" : "s",
                          fmt::join(all.first, ", "),
                          first_rank)}};
  }
}

struct PlacedMode {
  std::array<Index, 3> place{};
  Complex value;
};

/// The index, on an axis of `to` points, of the wave number at index `place` of `from` points; nothing if it has none.
std::optional<Index> move_place(Index place, Index from, Index to) {
  const Index k = wave_number(place, from);
  const Index least = std::min(from, to);
  if (2 * k >= least || 2 * k <= -least) {
    return std::nullopt;
  }
  return k < 0 ? k + to : k;
}

/// Sends `to[i]` to each rank i; returns what this rank receives.
std::vector<PlacedMode> send_to_owners(plait::comm::Endpoint& endpoint,
                                       const std::vector<std::vector<PlacedMode>>& to) {
  const plait::Group all{endpoint};
  std::vector<std::size_t> sent;
  std::vector<std::size_t> received(to.size());
  plait::comm::BlocksToSend blocks;
  for (const std::vector<PlacedMode>& modes : to) {
    sent.push_back(modes.size());
    blocks.push_back(std::as_bytes(std::span{modes}));
  }
  plait::all_to_all(all, std::span<const std::size_t>{sent}, std::span{received}).wait();
  std::vector<PlacedMode> modes(std::accumulate(received.begin(), received.end(), std::size_t{0}));
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span{modes});
  plait::all_to_all(all, std::move(blocks), plait::blocks_of(bytes, received, sizeof(PlacedMode))).wait();
  return modes;
}

/// Interpolates the modes of one array between plans of different numbers of points: copies wave numbers that both
/// have, except those at half the points of either; others are zero. Collective. Cost: 24 bytes per mode in memory, and
/// one exchange with all ranks.
void resample(
    plait::comm::Endpoint& endpoint, const Plan& from_plan, const Array& from, const Plan& to_plan, Array& to) {
  const LineOwners owners{to_plan.spectral().lengths, to_plan.grid()};
  std::vector<std::vector<PlacedMode>> out(endpoint.rank_count());
  const Layout& layout = from_plan.spectral();
  const std::array<Index, 3> n_from{layout.lengths[0], layout.lengths[1], from_plan.physical().lengths[2]};
  const std::array<Index, 3> n_to{
      to_plan.spectral().lengths[0], to_plan.spectral().lengths[1], to_plan.physical().lengths[2]};
  for (Index i0 = layout.box.low[0]; i0 < layout.box.high[0]; ++i0) {
    for (Index i1 = layout.box.low[1]; i1 < layout.box.high[1]; ++i1) {
      for (Index i2 = layout.box.low[2]; i2 < layout.box.high[2]; ++i2) {
        const auto x = move_place(i0, n_from[0], n_to[0]);
        const auto y = move_place(i1, n_from[1], n_to[1]);
        const auto z = move_place(i2, n_from[2], n_to[2]);
        if (x && y && z) {
          const std::uint32_t owner = owners.of(static_cast<std::size_t>(*y), static_cast<std::size_t>(*z));
          out[owner].push_back({{*x, *y, *z}, from[static_cast<std::size_t>(layout.offset(i0, i1, i2))]});
        }
      }
    }
  }
  std::ranges::fill(to, Complex{});
  for (const PlacedMode& mode : send_to_owners(endpoint, out)) {
    to[static_cast<std::size_t>(to_plan.spectral().offset(mode.place[0], mode.place[1], mode.place[2]))] = mode.value;
  }
}

/// How fields of a file are read.
struct FieldPlan {
  plait::Runtime& runtime;
  const FieldReader& reader;
  const Plan& of_file;
  const Plan& of_run;
};

void read_modes(const FieldPlan& plan, const std::string& name, Array& to) {
  std::vector<double> points(static_cast<std::size_t>(plan.of_file.physical().size()));
  NotNumbers bad;
  app::agree(plan.runtime, [&] { bad = plan.reader.read(name, plan.of_file.physical(), points); });
  throw_if_not_numbers(plan.runtime, name, bad);
  const double scale = 1 / static_cast<double>(plan.of_file.point_count());
  if (&plan.of_file == &plan.of_run) {
    Execution{plan.of_file, points, to, scale}.run();
    return;
  }
  Array modes(static_cast<std::size_t>(plan.of_file.spectral().size()));
  Execution{plan.of_file, points, modes, scale}.run();
  resample(plan.runtime.messages(), plan.of_file, modes, plan.of_run, to);
}

void begin_file(plait::Runtime& runtime, const RunSettings& settings, Solver& solver) {
  std::optional<FieldReader> reader;
  app::agree(runtime, [&] { reader.emplace(settings.field); });
  const FieldFacts& facts = reader->facts();
  const bool is_first = runtime.self() == plait::Rank{0};
  std::optional<Plan> other;
  const Layout& points = solver.plan().physical();
  if (facts.lengths != points.lengths) {
    plait::fft::PlanOptions options = settings.plan_options();
    options.grid = solver.plan().grid();
    options.variant = "PLT";
    options.effort = plait::fft::Effort::estimate;
    other.emplace(runtime.messages(), runtime.scheduler(), facts.lengths, options);
  }
  const FieldPlan plan{runtime, *reader, other ? *other : solver.plan(), solver.plan()};
  Fields& fields = solver.fields();
  for (std::size_t axis = 0; axis < 3; ++axis) {
    read_modes(plan, fmt::format("velocity/{}", "xyz"[axis]), fields.u[axis]);
  }
  std::vector<std::string> absent;
  for (std::size_t i = 0; i < fields.scalars.size(); ++i) {
    const std::string& name = solver.physics().scalars[i].name;
    if (std::find(facts.scalars.begin(), facts.scalars.end(), name) != facts.scalars.end()) {
      read_modes(plan, "scalars/" + name, fields.scalars[i]);
    } else {
      absent.push_back(name);
    }
  }
  const double taken = solver.project();
  if (!is_first) {
    return;
  }
  fmt::print("begins with {}: {} points, {} precision{}\n",
             settings.field,
             fmt::join(facts.lengths, " x "),
             facts.precision == Precision::single ? "single" : "double",
             facts.has_axes ? "" : "; no attribute `axes`, so taken as z, y, x with x fastest");
  if (!absent.empty()) {
    fmt::print("not in the file, and so zero: {}\n", fmt::join(absent, ", "));
  }
  if (taken > 1e-9) {
    fmt::print("{:.2g} of its energy was divergent, or at wave numbers that are not kept, and is left out\n", taken);
  }
}

constexpr std::array<ProblemKind, 5> kinds{{
    {"taylor-green",
     "(sin x cos y cos z, -cos x sin y cos z, 0): vortices that break up",
     [](plait::Runtime&, const RunSettings&, Solver& solver) {
       set_taylor_green(solver.plan().spectral(), solver.fields());
     }},
    {"taylor-green-2d",
     "(sin x cos y, -cos x sin y, 0): decays as exp(-2 nu t)",
     [](plait::Runtime&, const RunSettings&, Solver& solver) {
       set_taylor_green_2d(solver.plan().spectral(), solver.fields());
     }},
    {"abc",
     "Arnold, Beltrami and Childress: decays as exp(-nu t)",
     [](plait::Runtime&, const RunSettings&, Solver& solver) { set_abc(solver.plan().spectral(), solver.fields()); }},
    {"isotropic",
     "random phases, a spectrum with a peak (--energy, --peak, --seed)",
     [](plait::Runtime& runtime, const RunSettings& settings, Solver& solver) {
       const auto spectrum = peaked_spectrum(settings.energy, settings.peak);
       set_random(runtime, solver.plan().spectral(), solver.fields(), spectrum, settings.seed);
     }},
    {"file", "a velocity from an HDF5 file (--field)", begin_file},
}};

}  // namespace

std::span<const ProblemKind> problem_kinds() noexcept {
  return kinds;
}

std::array<Index, 3> choose_points(const RunSettings& settings) {
  std::array<Index, 3> asked{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    asked[axis] = settings.points.empty() ? 64 : settings.points[settings.points.size() == 3 ? axis : 0];
  }
  if (settings.problem != "file") {
    return asked;
  }
  const FieldReader reader{settings.field};
  const std::array<Index, 3>& found = reader.facts().lengths;
  if (settings.points.empty()) {
    return found;
  }
  if (found != asked && !settings.resamples) {
    throw Error{ErrorCode::bad_input,
                fmt::format("{} has {} points, this run {}: leave out --points to run with those of the file, or give "
                            "--resample to interpolate between waves",
                            settings.field,
                            fmt::join(found, " x "),
                            fmt::join(asked, " x "))};
  }
  return asked;
}

}  // namespace dns
