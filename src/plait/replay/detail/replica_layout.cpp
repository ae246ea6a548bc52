// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/detail/replica_layout.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

namespace plait::replay::detail {
namespace {

std::uint32_t rank_at(const RankGrid& grid, std::span<const std::uint32_t> place) {
  std::uint32_t rank = 0;
  for (std::size_t i = place.size(); i-- > 0;) {
    rank = rank * grid.dimensions[i].size + place[i];
  }
  return rank;
}

}  // namespace

ReplicaLayout::ReplicaLayout(const RankGrid& grid, std::vector<std::uint32_t> replicas, std::uint32_t recorded)
    : grid_{grid}, larger_{grid}, replicas_{std::move(replicas)}, recorded_{recorded} {
  rank_count_ = std::accumulate(replicas_.begin(), replicas_.end(), recorded, std::multiplies<>{});
  for (std::size_t i = 0; i < grid_.dimensions.size(); ++i) {
    const RankGrid::Dimension& dimension = grid_.dimensions[i];
    larger_.dimensions[i].size *= replicas_[i];
    has_whole_copies_ = has_whole_copies_ && (replicas_[i] == 1 || dimension.is_periodic || dimension.size <= 2);
  }
  models_.reserve(rank_count_);
  for (std::uint32_t rank = 0; rank < rank_count_; ++rank) {
    std::vector<std::uint32_t> place = larger_.place_of(rank);
    for (std::size_t i = 0; i < place.size(); ++i) {
      place[i] = model_coordinate(i, place[i]);
    }
    models_.push_back(grid_.is_all_to_all() ? rank % recorded_ : rank_at(grid_, place));
  }
}

std::uint32_t ReplicaLayout::model_coordinate(std::size_t dimension, std::uint32_t at) const {
  const auto& [size, is_periodic, alternates] = grid_.dimensions[dimension];
  const std::uint32_t local = at % size;
  const bool is_end = at == 0 || at + 1 == larger_.dimensions[dimension].size;
  if (is_periodic || size <= 2 || is_end) {
    return local;
  }
  return std::clamp(local, 1U, size - 2);
}

std::uint32_t ReplicaLayout::copy_of(std::uint32_t rank) const {
  if (grid_.is_all_to_all()) {
    return rank / recorded_;
  }
  const std::vector<std::uint32_t> place = larger_.place_of(rank);
  std::uint32_t copy = 0;
  for (std::size_t i = place.size(); i-- > 0;) {
    copy = copy * replicas_[i] + place[i] / grid_.dimensions[i].size;
  }
  return copy;
}

std::uint32_t ReplicaLayout::rank_in_copy(std::uint32_t copy, std::uint32_t recorded) const {
  if (grid_.is_all_to_all()) {
    return copy * recorded_ + recorded;
  }
  std::vector<std::uint32_t> place = grid_.place_of(recorded);
  for (std::size_t i = 0; i < place.size(); ++i) {
    place[i] += copy % replicas_[i] * grid_.dimensions[i].size;
    copy /= replicas_[i];
  }
  return rank_at(larger_, place);
}

/// The steps in one dimension that a recorded one stands for. Takes a bit of `side` if the dimension alternates.
std::vector<int> ReplicaLayout::ways_of(std::size_t dimension, int step, std::uint32_t& side) const {
  const RankGrid::Dimension& recorded = grid_.dimensions[dimension];
  if (recorded.size != 2 || step == 0 || replicas_[dimension] == 1) {
    return {step};
  }
  if (!recorded.alternates) {
    return {1, -1};
  }
  const int way = side % 2 == 1 ? 1 : -1;
  side /= 2;
  return {way};
}

std::vector<StepCode> ReplicaLayout::steps_of(std::uint32_t from, std::uint32_t to, std::uint32_t side) {
  if (grid_.is_all_to_all()) {
    const auto by = static_cast<int>((to + recorded_ - from) % recorded_);
    return {code_of({{by}, true, false})};
  }
  const std::vector<std::uint32_t> start = grid_.place_of(from);
  const std::vector<std::uint32_t> end = grid_.place_of(to);
  std::vector<int> recorded(start.size());
  std::vector<std::vector<int>> found{{}};
  bool is_near = from != to;
  bool stays = false;
  for (std::size_t i = 0; i < start.size(); ++i) {
    const int shortest = step_between(grid_.dimensions[i], start[i], end[i]);
    recorded[i] = static_cast<int>(end[i]) - static_cast<int>(start[i]);
    is_near = is_near && std::abs(shortest) <= 1;
    stays = stays || (replicas_[i] > 1 && std::abs(shortest) > 1);
    std::vector<std::vector<int>> longer;
    for (const int way : ways_of(i, replicas_[i] > 1 ? shortest : recorded[i], side)) {
      for (const std::vector<int>& known : found) {
        longer.push_back(known);
        longer.back().push_back(way);
      }
    }
    found = std::move(longer);
  }
  if (stays) {
    return {code_of({recorded, is_near, true})};
  }
  std::vector<StepCode> codes;
  for (std::vector<int>& by : found) {
    codes.push_back(code_of({std::move(by), is_near, false}));
  }
  return codes;
}

StepCode ReplicaLayout::code_of(Step step) {
  const auto [known, is_new] = codes_.try_emplace(step, static_cast<StepCode>(steps_.size()));
  if (is_new) {
    steps_.push_back(std::move(step));
  }
  return known->second;
}

/// Where a step leads, forwards or backwards; nothing beyond the ends, or out of a copy that it stays in.
std::optional<std::uint32_t> ReplicaLayout::moved(const Step& step, std::uint32_t rank, int direction) const {
  std::vector<std::uint32_t> place = larger_.place_of(rank);
  for (std::size_t i = 0; i < place.size(); ++i) {
    const auto size = static_cast<int>(larger_.dimensions[i].size);
    int at = static_cast<int>(place[i]) + direction * step.by[i];
    const bool wraps = replicas_[i] > 1 && grid_.dimensions[i].is_periodic && !step.stays;
    at = wraps ? (at + size) % size : at;
    if (at < 0 || at >= size) {
      return std::nullopt;
    }
    place[i] = static_cast<std::uint32_t>(at);
  }
  const std::uint32_t found = rank_at(larger_, place);
  if (step.stays) {
    const std::uint32_t copy = copy_of(rank);
    for (const std::uint32_t end : {rank, found}) {
      if (copy_of(end) != copy || rank_in_copy(copy, models_[end]) != end) {
        return std::nullopt;
      }
    }
  }
  return found;
}

std::vector<std::uint32_t> ReplicaLayout::all_moved(StepCode step, std::uint32_t rank, int direction) const {
  std::vector<std::uint32_t> found;
  if (!grid_.is_all_to_all()) {
    if (const auto end = moved(steps_[step], rank, direction)) {
      found.push_back(*end);
    }
    return found;
  }
  const auto by = static_cast<std::uint32_t>(steps_[step].by[0]);
  if (by == 0) {
    return {rank};
  }
  const std::uint32_t shift = direction > 0 ? by : recorded_ - by;
  for (std::uint32_t other = (rank + shift) % recorded_; other < rank_count_; other += recorded_) {
    found.push_back(other);
  }
  if (by == 1) {  // stands for the messages between ranks of the same model, which the record has none of
    for (std::uint32_t other = rank % recorded_; other < rank_count_; other += recorded_) {
      if (other != rank) {
        found.push_back(other);
      }
    }
  }
  return found;
}

std::vector<std::uint32_t> ReplicaLayout::ends_of(StepCode step, std::uint32_t rank) const {
  return all_moved(step, rank, 1);
}

std::vector<std::uint32_t> ReplicaLayout::starts_of(StepCode step, std::uint32_t rank) const {
  return all_moved(step, rank, -1);
}

std::vector<std::uint32_t> ReplicaLayout::block_around(const RankBlock& block, std::uint32_t rank) const {
  const std::vector<std::uint32_t> fixed = larger_.place_of(rank);
  std::vector<std::uint32_t> found;
  std::vector<std::uint32_t> place = fixed;
  for (std::size_t i = 0; i < place.size(); ++i) {
    place[i] = block.is_whole[i] ? 0 : fixed[i];
  }
  while (true) {
    found.push_back(rank_at(larger_, place));
    std::size_t i = 0;
    for (; i < place.size(); ++i) {
      if (!block.is_whole[i]) {
        continue;
      }
      if (++place[i] < larger_.dimensions[i].size) {
        break;
      }
      place[i] = 0;
    }
    if (i == place.size()) {
      return found;
    }
  }
}

}  // namespace plait::replay::detail
