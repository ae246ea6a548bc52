// SPDX-License-Identifier: Apache-2.0
#include "plait/fft/plan.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plait/base/error.hpp"
#include "plait/base/topology.hpp"
#include "plait/fft/choose.hpp"
#include "plait/fft/detail/agreement.hpp"
#include "plait/fft/detail/plan_state.hpp"

namespace plait::fft {

namespace {

using detail::Geometry;
using detail::PlanState;
using detail::Wish;

/// The least size of a piece, so that the overhead of a message is small.
constexpr Index piece_bytes_min = 64 * 1024;
constexpr std::uint32_t pieces_max = 8;

Wish wish_of(const task::Scheduler& scheduler,
             const std::array<Index, 3>& lengths,
             const PlanOptions& options,
             Rank self) {
  Wish wish{.lengths = lengths,
            .row = options.grid.row,
            .column = options.grid.column,
            .pieces = options.pieces,
            .kind = options.kind,
            .effort = options.effort,
            .workers = scheduler.worker_count()};
  std::ranges::copy_n(options.variant.begin(),
                      static_cast<std::ptrdiff_t>(std::min(options.variant.size(), wish.variant.size())),
                      wish.variant.begin());
  if (self.value() < options.nodes.size()) {
    wish.names_node = 1;
    wish.node = options.nodes[self.value()];
  } else {
    wish.node = std::hash<std::string>{}(host_name());
  }
  return wish;
}

/// Several pieces for each worker, while messages remain long.
std::uint32_t choose_pieces(const Geometry& geometry, std::uint32_t workers) {
  const Index planes = part_of(geometry.lengths[0], geometry.grid.column, geometry.grid.column - 1).count();
  const Index part = planes * geometry.lengths[1] * geometry.spectral_length * 16 / geometry.grid.row;
  const Index block = part / std::max(geometry.grid.row, geometry.grid.column);
  const Index by_size = std::clamp<Index>(block / piece_bytes_min, 1, pieces_max);
  return static_cast<std::uint32_t>(
      std::clamp<Index>(std::max<Index>(by_size, 2 * Index{workers}), 1, std::max<Index>(planes, 1)));
}

/// Bytes that this rank sends in a forward transform to the ranks of its row and column for which `counts(rank)`.
template <class Counts>
std::uint64_t bytes_to_others(const PlanState& state, Counts counts) {
  const auto& geometry = state.geometry;
  std::uint64_t bytes = 0;
  const BlockBytes row = geometry.row_bytes();
  for (std::uint32_t member = 0; member < row.to.size(); ++member) {
    bytes += counts(state.row_rank(member)) ? row.to[member] : 0;
  }
  const BlockBytes column = geometry.column_bytes();
  for (std::uint32_t member = 0; member < column.to.size(); ++member) {
    bytes += counts(state.column_rank(member)) ? column.to[member] : 0;
  }
  return bytes;
}

void make_lines(PlanState& state, Effort effort) {
  const Geometry& geometry = state.geometry;
  const auto& lengths = geometry.lengths;
  const Index columns = geometry.columns().count();
  const bool has_planes = geometry.planes().count() > 0;
  const Index rows = geometry.rows().count();
  const Index sequences = geometry.column_plane_after();
  state.rows = {lengths[2], has_planes ? rows : 0, geometry.kind, effort};
  for (const Direction direction : {Direction::forward, Direction::backward}) {
    detail::Lines& lines = state.lines[static_cast<std::size_t>(direction)];
    lines.along_axis_1 = {{lengths[1], has_planes ? columns : 0, columns}, direction, effort};
    lines.in_array = {{lengths[0], sequences, sequences}, direction, effort};
    lines.in_strip = {{lengths[0], sequences, detail::strip_width(lengths[0])}, direction, effort};
  }
  const Index plane =
      std::max({rows * geometry.spectral_length, lengths[1] * columns, lengths[0] * detail::strip_width(lengths[0])});
  for (std::uint32_t worker = 0; worker < state.scheduler.worker_count(); ++worker) {
    state.scratch.push_back({detail::Memory{plane}, detail::Memory{rows * lengths[2]}});
  }
}

}  // namespace

Plan::Plan(comm::Endpoint& endpoint,
           task::Scheduler& scheduler,
           std::array<Index, 3> lengths,
           const PlanOptions& options)
    : state_{std::make_shared<PlanState>(endpoint, scheduler)} {
  PlanState& state = *state_;
  const std::vector<Wish> wishes = detail::agree(state.everyone, wish_of(scheduler, lengths, options, endpoint.self()));
  detail::throw_if_no_array(lengths);
  const std::vector<Variant> all = all_variants(options);
  std::uint32_t pieces = options.pieces;
  if (options.variant == "automatic") {
    const Choice choice = choose(endpoint, scheduler, lengths, options);
    state.variant = find_variant(all, choice.variant);
    pieces = choice.pieces;
    state.measured = choice.describe();
  } else {
    state.variant = find_variant(all, options.variant);
  }
  state.nodes = detail::nodes_of(wishes);
  const TransformGrid grid = detail::choose_grid(lengths, options.kind, options.grid, state.nodes);
  state.geometry = Geometry{lengths, options.kind, grid, endpoint.self()};
  state.physical = state.geometry.physical();
  state.spectral = state.geometry.spectral();
  const auto most_workers = std::ranges::max_element(wishes, {}, &Wish::workers)->workers;
  state.pieces = pieces != 0 ? pieces : choose_pieces(state.geometry, most_workers);
  const comm::GroupGrid groups{.rows = grid.column, .columns = grid.row};
  state.groups = {comm::row_group(endpoint, groups), comm::column_group(endpoint, groups)};
  make_lines(state, options.effort);
}

const ArrayLayout& Plan::physical() const noexcept {
  return state_->physical;
}

const ArrayLayout& Plan::spectral() const noexcept {
  return state_->spectral;
}

TransformGrid Plan::grid() const noexcept {
  return state_->geometry.grid;
}

Index Plan::point_count() const noexcept {
  const auto& lengths = state_->geometry.lengths;
  return lengths[0] * lengths[1] * lengths[2];
}

Kind Plan::kind() const noexcept {
  return state_->geometry.kind;
}

const std::string& Plan::variant() const noexcept {
  return state_->variant.name;
}

std::uint32_t Plan::pieces() const noexcept {
  return state_->pieces;
}

std::size_t Plan::execution_bytes() const noexcept {
  return detail::buffer_bytes(state_->geometry, state_->runs_as_tasks());
}

std::uint64_t Plan::bytes_sent() const noexcept {
  return bytes_to_others(*state_, [](Rank) { return true; });
}

std::uint64_t Plan::bytes_leaving_node() const noexcept {
  const std::uint32_t here = state_->nodes[state_->endpoint.self().value()];
  return bytes_to_others(*state_, [&](Rank rank) { return state_->nodes[rank.value()] != here; });
}

std::string Plan::describe() const {
  const auto& geometry = state_->geometry;
  const std::uint32_t node_count = *std::ranges::max_element(state_->nodes) + 1;
  const auto row_nodes = [&] {
    for (std::uint32_t member = 1; member < geometry.grid.row; ++member) {
      if (state_->nodes[state_->row_rank(member).value()] != state_->nodes[state_->row_rank(0).value()]) {
        return "on several nodes";
      }
    }
    return "on one node";
  };
  return fmt::format(
             "{} array of {} points on {} x {} ranks of {} node{}, this rank's row {}\n"
             "exchanged by {} ({}), {} piece{} a block\n"
             "a transform: {} bytes sent by this rank, {} of them leave the node; {} bytes of buffers\n",
             geometry.kind == Kind::real ? "real" : "complex",
             fmt::join(geometry.lengths, " x "),
             geometry.grid.row,
             geometry.grid.column,
             node_count,
             node_count == 1 ? "" : "s",
             row_nodes(),
             state_->variant.name,
             state_->variant.summary,
             state_->pieces,
             state_->pieces == 1 ? "" : "s",
             bytes_sent(),
             bytes_leaving_node(),
             execution_bytes()) +
         (state_->measured.empty() ? "" : "chosen by measurement, several forward and backward:\n" + state_->measured);
}

std::size_t Plan::bytes_needed(const std::array<Index, 3>& lengths,
                               const PlanOptions& options,
                               std::uint32_t ranks,
                               Rank rank) {
  detail::throw_if_no_array(lengths);
  const bool as_tasks = options.variant == "automatic" || !find_variant(all_variants(options), options.variant).make;
  std::vector<std::uint32_t> nodes = options.nodes;
  nodes.resize(ranks, nodes.empty() ? 0 : nodes.back());
  const Geometry geometry{lengths, options.kind, detail::choose_grid(lengths, options.kind, options.grid, nodes), rank};
  return detail::buffer_bytes(geometry, as_tasks);
}

}  // namespace plait::fft
