// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/domains/detail/cut_search.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "plait/base/error.hpp"

namespace plait::particles::detail {
namespace {

constexpr int first_edges_a_part = 16;
constexpr int edges_a_cut = 16;
/// Each round makes a bracket 16 times narrower: 16 suffice for all bits of a number. Two or three are typical.
constexpr std::uint32_t rounds_max = 16;

}  // namespace

CutSearch::CutSearch(const Options& options, std::vector<Weighed> mine)
    : tolerance_{options.tolerance}, mine_{std::move(mine)} {
  expect(options.parts > 0 && options.low <= options.high, "a search has at least one part and low <= high");
  std::ranges::sort(mine_, {}, &Weighed::place);
  for (Weighed& value : mine_) {
    mine_total_ += std::exchange(value.weight, mine_total_);
  }
  for (std::uint32_t cut = 0; cut + 1 < options.parts; ++cut) {
    const double share = (cut + 1.0) / options.parts;
    // The upper bound is above all values.
    const double beyond = std::nextafter(options.high, std::numeric_limits<double>::infinity());
    brackets_.push_back({share, options.low, beyond, 0, 1});
  }
  if (brackets_.empty()) {
    is_done_ = true;
    return;
  }
  const Bracket& whole = brackets_.front();
  const double part = (whole.high - whole.low) / static_cast<double>(brackets_.size() + 1);
  const auto count = first_edges_a_part * static_cast<int>(brackets_.size() + 1);
  for (int i = 1; i < count; ++i) {
    add_edge(whole, whole.low + (whole.high - whole.low) * i / count);
  }
  for (const double cut : options.old) {
    for (const double distance : {0.0, 1.0 / 512, -1.0 / 512, 1.0 / 64, -1.0 / 64}) {
      add_edge(whole, cut + distance * part);
    }
  }
  order_edges();
}

double CutSearch::Bracket::estimate() const {
  const double inside = below_high - below_low;
  const double share = inside > 0 ? std::clamp((goal - below_low) / inside, 0.0, 1.0) : 0.5;
  return low + share * (high - low);
}

void CutSearch::add_edge(const Bracket& bracket, double edge) {
  if (edge > bracket.low && edge < bracket.high) {
    edges_.push_back(edge);
  }
}

void CutSearch::order_edges() {
  std::ranges::sort(edges_);
  edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
}

void CutSearch::choose_edges() {
  edges_.clear();
  const double part = total_ / static_cast<double>(brackets_.size() + 1);
  for (const Bracket& bracket : brackets_) {
    const double width = bracket.high - bracket.low;
    const double width_min =
        4 * std::numeric_limits<double>::epsilon() * std::max(std::abs(bracket.low), std::abs(bracket.high));
    if (bracket.below_high - bracket.below_low <= tolerance_ * part || width <= width_min) {
      continue;
    }
    for (int i = 1; i < edges_a_cut; ++i) {
      add_edge(bracket, bracket.low + width * i / edges_a_cut);
    }
    for (const double distance : {-1.0 / 256, 0.0, 1.0 / 256}) {
      add_edge(bracket, bracket.estimate() + distance * width);
    }
  }
  order_edges();
}

std::vector<double> CutSearch::weigh() const {
  std::vector<double> sums;
  sums.reserve(edges_.size() + 1);
  auto next = mine_.begin();
  for (const double edge : edges_) {
    next =
        std::lower_bound(next, mine_.end(), edge, [](const Weighed& value, double end) { return value.place < end; });
    sums.push_back(next != mine_.end() ? next->weight : mine_total_);
  }
  sums.push_back(mine_total_);
  return sums;
}

void CutSearch::narrow(std::span<const double> sums) {
  expect(sums.size() == edges_.size() + 1, "a sum for each edge, and the total");
  if (rounds_++ == 0) {
    total_ = sums.back();
    for (Bracket& bracket : brackets_) {
      bracket.goal *= total_;
      bracket.below_high = total_;
    }
  }
  const std::span<const double> below = sums.first(edges_.size());
  for (Bracket& bracket : brackets_) {
    // The first edge with at least the goal below it, and the previous one.
    const auto at = std::ranges::lower_bound(below, bracket.goal);
    const auto edge = edges_.begin() + (at - below.begin());
    if (at != below.end() && *edge < bracket.high) {
      bracket.high = *edge;
      bracket.below_high = *at;
    }
    if (at != below.begin() && *std::prev(edge) > bracket.low) {
      bracket.low = *std::prev(edge);
      bracket.below_low = *std::prev(at);
    }
  }
  choose_edges();
  is_done_ = is_empty() || edges_.empty() || rounds_ == rounds_max;
}

std::vector<double> CutSearch::cuts() const {
  std::vector<double> cuts;
  for (const Bracket& bracket : brackets_) {
    const double last = cuts.empty() ? bracket.low : cuts.back();
    cuts.push_back(std::max(last, bracket.estimate()));
  }
  return cuts;
}

}  // namespace plait::particles::detail
