// SPDX-License-Identifier: Apache-2.0
#include "plait/task/boundary_bins.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/comm/collectives/reduce.hpp"

namespace plait::task {

namespace {

constexpr Tag bins_tag{0};

}  // namespace

BoundaryBins::BoundaryBins(comm::Endpoint& endpoint, std::vector<Boundary> boundaries)
    : endpoint_{endpoint}, all_{endpoint}, boundaries_{std::move(boundaries)} {
  for (const Boundary& boundary : boundaries_) {
    if (!boundary.rank || boundary.rank.value() >= endpoint.rank_count() || boundary.rank == endpoint.self()) {
      throw Error{ErrorCode::bad_argument,
                  fmt::format("rank {} has a boundary to rank {}: name another rank of this run of {}",
                              endpoint.self().value(),
                              static_cast<std::int32_t>(boundary.rank.value()),
                              endpoint.rank_count())};
    }
  }
}

std::vector<TimeBins::Object> BoundaryBins::settle(TimeBins& bins, const TimeBins::Neighbours& neighbours, Ticks now) {
  (void)exchange(bins, now, true);
  std::vector<TimeBins::Object> changed = bins.active(now);
  std::vector<TimeBins::Object> shortened;
  std::array<std::uint32_t, 1> any_changed{};
  do {
    const std::vector<TimeBins::Object> limited = bins.limit(changed, neighbours, now);
    changed = exchange(bins, now, false);
    shortened.insert(shortened.end(), limited.begin(), limited.end());
    shortened.insert(shortened.end(), changed.begin(), changed.end());
    any_changed[0] = changed.empty() ? 0U : 1U;
    comm::all_reduce(all_, std::span{any_changed}, comm::Maximum{}).wait();
  } while (any_changed[0] != 0);
  std::ranges::sort(shortened);
  shortened.erase(std::ranges::unique(shortened).begin(), shortened.end());
  return shortened;
}

/// Sends the bins of own objects, and takes those of copies; returns which copies were shortened.
std::vector<TimeBins::Object> BoundaryBins::exchange(TimeBins& bins, Ticks now, bool begins) {
  std::vector<Bytes> outgoing(boundaries_.size());
  std::vector<Bytes> incoming(boundaries_.size());
  std::vector<comm::Request> requests;
  for (std::size_t index = 0; index < boundaries_.size(); ++index) {
    const comm::Address other{boundaries_[index].rank, bins_tag, all_.comm()};
    for (const TimeBins::Object object : boundaries_[index].mine) {
      outgoing[index].push_back(std::byte{bins.bin_of(object).value()});
    }
    requests.push_back(endpoint_.receive(other, incoming[index]));
    requests.push_back(endpoint_.send(other, outgoing[index]));
  }
  for (comm::Request& request : requests) {
    request.wait();
  }
  std::vector<TimeBins::Object> changed;
  for (std::size_t index = 0; index < boundaries_.size(); ++index) {
    const Boundary& boundary = boundaries_[index];
    if (incoming[index].size() != boundary.theirs.size()) {
      throw Error{
          ErrorCode::bad_argument,
          fmt::format("rank {} has {} copies of objects of rank {}, which has {}: build both sides of a boundary "
                      "from the same data",
                      endpoint_.self().value(),
                      boundary.theirs.size(),
                      boundary.rank.value(),
                      incoming[index].size()),
          boundary.rank};
    }
    for (std::size_t place = 0; place < incoming[index].size(); ++place) {
      const TimeBins::Object copy = boundary.theirs[place];
      const TimeBin theirs{std::to_integer<std::uint8_t>(incoming[index][place])};
      const bool is_new_step = begins && is_active(bins.bin_of(copy), now);
      if (is_new_step) {
        bins.start(copy, theirs, now);
      } else if (bins.shorten(copy, theirs, now)) {
        changed.push_back(copy);
      }
    }
  }
  return changed;
}

Ticks BoundaryBins::next_time(const TimeBins& bins, Ticks now) {
  std::array<Ticks, 1> next{bins.next_time(now)};
  comm::all_reduce(all_, std::span{next}, comm::Minimum{}).wait();
  return next[0];
}

}  // namespace plait::task
