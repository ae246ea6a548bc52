// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/grid.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "plait/replay/detail/description.hpp"
#include "plait/replay/detail/places.hpp"
#include "plait/replay/detail/rank_block.hpp"
#include "plait/replay/fold.hpp"

namespace plait::replay {
namespace {

constexpr std::size_t dimensions_max = 3;
/// Of the messages that must be between neighbours, and of the neighbours that must exchange some.
constexpr double least_fit = 0.75;
/// Bytes that differ by less are equal.
constexpr double alike = 0.1;
/// From so many ranks on, an exchange of all with all is no halo unless its sizes differ.
constexpr std::uint32_t complete_from = 4;

/// More tags than that, each used once, number the messages.
constexpr std::size_t new_tags_max = 8;

using RankPair = std::pair<std::uint32_t, std::uint32_t>;

struct Traffic {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t> by_tag;  ///< Bytes, by communicator and tag.
};

/// The communication matrix, without messages of a rank to itself.
using Matrix = std::map<RankPair, Traffic>;

Matrix matrix_of(const Schedule& schedule) {
  Matrix matrix;
  detail::for_each_operation(schedule, [&](const detail::Place& place, const Operation& operation) {
    if (operation.action == Action::send && operation.peer != place.rank) {
      Traffic& traffic = matrix[{place.rank, operation.peer}];
      ++traffic.messages;
      traffic.bytes += operation.bytes;
      traffic.by_tag[{operation.communicator, operation.tag}] += operation.bytes;
    }
  });
  return matrix;
}

/// The members of the communicators that are neither one rank nor all, and have collectives.
std::vector<std::vector<std::uint32_t>> parts_of(const Schedule& schedule) {
  std::set<std::uint32_t> used;
  detail::for_each_operation(schedule, [&](const detail::Place& /*place*/, const Operation& operation) {
    if (operation.action == Action::collective) {
      used.insert(operation.communicator);
    }
  });
  std::vector<std::vector<std::uint32_t>> parts;
  for (const std::uint32_t communicator : used) {
    std::vector<std::uint32_t> members = detail::members_of(schedule, communicator);
    if (members.size() > 1 && members.size() < schedule.ranks.size()) {
      parts.push_back(std::move(members));
    }
  }
  return parts;
}

bool are_alike(std::uint64_t least, std::uint64_t most) {
  return static_cast<double>(most - least) <= alike * static_cast<double>(most);
}

/// Whether all ranks exchange about as many bytes with all others.
bool is_complete(const Matrix& matrix, std::uint32_t ranks) {
  if (ranks < complete_from || matrix.size() != std::size_t{ranks} * (ranks - 1)) {
    return false;
  }
  const auto [least, most] =
      std::ranges::minmax_element(matrix, {}, [](const Matrix::value_type& entry) { return entry.second.bytes; });
  return are_alike(least->second.bytes, most->second.bytes);
}

/// All ways to write `ranks` as a product of one to three factors above 1; 1 is one factor of 1.
std::vector<std::vector<std::uint32_t>> factors_of(std::uint32_t ranks) {
  std::vector<std::vector<std::uint32_t>> found{{ranks}};
  for (std::size_t first = 0; first < found.size(); ++first) {
    const std::vector<std::uint32_t> known = found[first];
    const std::uint32_t last = known.back();
    for (std::uint32_t factor = 2; known.size() < dimensions_max && factor <= last / 2; ++factor) {
      if (last % factor == 0) {
        found.push_back(known);
        found.back().back() = factor;
        found.back().push_back(last / factor);
      }
    }
  }
  return found;
}

/// Whether the pair's two ranks differ in one coordinate only, by a step; if so, in which.
std::optional<std::size_t> side_of(const RankGrid& grid, const RankPair& pair) {
  const auto from = grid.place_of(pair.first);
  const auto to = grid.place_of(pair.second);
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const int step = step_between(grid.dimensions[i], from[i], to[i]);
    if (step == 0) {
      continue;
    }
    if (found || std::abs(step) > 1) {
      return std::nullopt;
    }
    found = i;
  }
  return found;
}

bool are_neighbours(const RankGrid& grid, const RankPair& pair) {
  const auto from = grid.place_of(pair.first);
  const auto to = grid.place_of(pair.second);
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (std::abs(step_between(grid.dimensions[i], from[i], to[i])) > 1) {
      return false;
    }
  }
  return true;
}

/// How many pairs of a grid differ by one step in one coordinate.
std::size_t side_count(const RankGrid& grid) {
  std::size_t count = 0;
  for (const RankGrid::Dimension& dimension : grid.dimensions) {
    const std::uint32_t steps = dimension.is_periodic && dimension.size > 2 ? dimension.size : dimension.size - 1;
    count += std::size_t{steps} * (grid.rank_count() / dimension.size);
  }
  return count;
}

/// How well a grid explains an exchange, each from 0 to 1.
struct Fit {
  double messages = 1;  ///< Part of them that are between neighbours.
  double sides = 1;     ///< Part of the sides of all ranks that have messages.
  double parts = 1;     ///< Part of the communicators that are lines or planes.

  [[nodiscard]] double product() const noexcept { return messages * sides * parts; }
};

Fit fit_of(const RankGrid& grid, const Matrix& matrix, const std::vector<std::vector<std::uint32_t>>& parts) {
  std::uint64_t all = 0;
  std::uint64_t near = 0;
  std::set<RankPair> sides;  // in one or both directions
  for (const auto& [pair, traffic] : matrix) {
    all += traffic.messages;
    near += are_neighbours(grid, pair) ? traffic.messages : 0;
    if (side_of(grid, pair)) {
      sides.insert(std::minmax(pair.first, pair.second));
    }
  }
  const auto part = [](auto some, auto whole) {
    return whole == 0 ? 1.0 : static_cast<double>(some) / static_cast<double>(whole);
  };
  const auto blocks =
      std::ranges::count_if(parts, [&](const auto& part_) { return detail::block_of(grid, part_).has_value(); });
  return {part(near, all),
          matrix.empty() ? 1.0 : part(sides.size(), side_count(grid)),
          part(static_cast<std::size_t>(blocks), parts.size())};
}

/// Whether the messages of each pair that differs in this coordinate come in two equal halves.
bool has_two_sides(const RankGrid& grid, std::size_t dimension, const Matrix& matrix) {
  bool has_any = false;
  for (const auto& [pair, traffic] : matrix) {
    if (side_of(grid, pair) != dimension) {
      continue;
    }
    has_any = true;
    std::uint64_t halves[2] = {0, 0};
    std::size_t number = 0;
    for (const auto& [tag, bytes] : traffic.by_tag) {
      halves[number++ % 2] += bytes;
    }
    const bool is_new_each_time = number > new_tags_max && number == traffic.messages;
    if (number % 2 != 0 || is_new_each_time ||
        !are_alike(std::min(halves[0], halves[1]), std::max(halves[0], halves[1]))) {
      return false;
    }
  }
  return has_any;
}

/// The grid of these sizes that fits best: each dimension periodic or not.
std::pair<RankGrid, Fit> best_of_sizes(const std::vector<std::uint32_t>& sizes,
                                       const GridChoice& choice,
                                       const Matrix& matrix,
                                       const std::vector<std::vector<std::uint32_t>>& parts) {
  std::optional<std::pair<RankGrid, Fit>> best;
  for (std::uint32_t periodic = 0; periodic < 1U << sizes.size(); ++periodic) {
    RankGrid grid;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const bool is_periodic = choice.is_periodic.value_or((periodic >> i & 1U) != 0 || matrix.empty());
      grid.dimensions.push_back({.size = sizes[i], .is_periodic = is_periodic});
    }
    const Fit fit = fit_of(grid, matrix, parts);
    if (!best || fit.product() > best->second.product()) {
      best = {grid, fit};
    }
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    RankGrid::Dimension& dimension = best->first.dimensions[i];
    if (dimension.size == 2 && choice.is_periodic.value_or(true) && !matrix.empty()) {
      dimension.alternates = has_two_sides(best->first, i, matrix);
      dimension.is_periodic = choice.is_periodic.value_or(dimension.alternates);
    }
  }
  return *best;
}

}  // namespace

int step_between(const RankGrid::Dimension& dimension, std::uint32_t from, std::uint32_t to) noexcept {
  const int step = static_cast<int>(to) - static_cast<int>(from);
  const int size = static_cast<int>(dimension.size);
  if (!dimension.is_periodic || std::abs(step) * 2 <= size) {
    return step;
  }
  return step > 0 ? step - size : step + size;
}

std::uint32_t RankGrid::rank_count() const noexcept {
  std::uint32_t count = dimensions.empty() ? 0 : 1;
  for (const Dimension& dimension : dimensions) {
    count *= dimension.size;
  }
  return count;
}

std::vector<std::uint32_t> RankGrid::place_of(std::uint32_t rank) const {
  std::vector<std::uint32_t> place;
  for (const Dimension& dimension : dimensions) {
    place.push_back(rank % dimension.size);
    rank /= dimension.size;
  }
  return place;
}

std::uint32_t RankGrid::cut_dimensions() const noexcept {
  return static_cast<std::uint32_t>(
      std::ranges::count_if(dimensions, [](const Dimension& dimension) { return dimension.size > 1; }));
}

std::string RankGrid::text() const {
  if (is_all_to_all()) {
    return "all-to-all";
  }
  std::string sizes;
  std::size_t periodic = 0;
  for (const Dimension& dimension : dimensions) {
    sizes += fmt::format("{}{}", sizes.empty() ? "" : "x", dimension.size);
    periodic += dimension.is_periodic ? 1 : 0;
  }
  return fmt::format("{} grid of {} ranks",
                     periodic == 0                   ? "an open"
                     : periodic == dimensions.size() ? "a periodic"
                                                     : "a partly periodic",
                     sizes);
}

Result<GridChoice> parse_grid(std::string_view text) {
  GridChoice choice;
  const auto colon = text.find(':');
  std::string_view sizes = text.substr(0, colon);
  const std::string_view ends = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  const bool has_ends = ends == "periodic" || ends == "open";
  if (has_ends) {
    choice.is_periodic = ends == "periodic";
  }
  choice.is_all_to_all = text == "all";
  bool is_valid = colon == std::string_view::npos || has_ends;
  while (is_valid && !choice.is_all_to_all) {
    const auto next = sizes.find('x');
    const auto size = detail::parse_count(sizes.substr(0, next), copied_ranks_max);
    is_valid = size && *size > 0 && choice.sizes.size() < dimensions_max;
    choice.sizes.push_back(static_cast<std::uint32_t>(size.value_or(0)));
    if (next == std::string_view::npos) {
      break;
    }
    sizes.remove_prefix(next + 1);
  }
  if (!is_valid) {
    return Error{ErrorCode::bad_argument,
                 fmt::format("\"{}\" is not a grid of ranks: write 4x2, 4x2:periodic, 4x2:open or all", text)};
  }
  return choice;
}

Result<RankGrid> find_grid(const Schedule& schedule, const GridChoice& choice) {
  const auto ranks = static_cast<std::uint32_t>(schedule.ranks.size());
  const Matrix matrix = matrix_of(schedule);
  if (choice.is_all_to_all || (choice.sizes.empty() && is_complete(matrix, ranks))) {
    return RankGrid{};
  }
  std::uint64_t product = choice.sizes.empty() ? ranks : 1;
  std::ranges::for_each(choice.sizes, [&](std::uint32_t size) { product *= size; });
  if (product != ranks || ranks == 0) {
    return Error{
        ErrorCode::bad_argument,
        fmt::format(
            "a grid of {} points does not fit {} ranks; give sizes whose product is {}", product, ranks, ranks)};
  }
  const auto parts = parts_of(schedule);
  const auto candidates =
      choice.sizes.empty() ? factors_of(ranks) : std::vector<std::vector<std::uint32_t>>{choice.sizes};
  std::optional<std::pair<RankGrid, Fit>> best;
  for (const std::vector<std::uint32_t>& sizes : candidates) {
    auto [grid, fit] = best_of_sizes(sizes, choice, matrix, parts);
    if (!best || fit.product() > best->second.product()) {
      best = {std::move(grid), fit};
    }
  }
  const Fit& fit = best->second;
  if (choice.sizes.empty() && (fit.messages < least_fit || fit.sides < least_fit)) {
    return Error{
        ErrorCode::bad_input,
        fmt::format("the messages of {} ranks fit no grid: in the best one, {:.0f} % of them are between "
                    "neighbours, and {:.0f} % of the neighbours exchange any; give --grid, such as {}x1 or all",
                    ranks,
                    100 * fit.messages,
                    100 * fit.sides,
                    ranks)};
  }
  return best->first;
}

}  // namespace plait::replay
