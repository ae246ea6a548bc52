// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/domains/decompose.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/comm/collectives/reduce.hpp"
#include "plait/particles/domains/detail/cut_search.hpp"
#include "plait/particles/store/checks.hpp"

namespace plait::particles {
namespace {

using comm::AsyncOperation;
using comm::Endpoint;
using comm::Group;
using comm::Request;
using detail::CutSearch;

constexpr Tag samples_tag{0};

/// A pseudo-random number in [0, 1) for `k`: a scrambled multiple of the golden ratio.
double fraction(std::uint32_t k) {
  std::uint64_t z = (k + 1) * std::uint64_t{0x9e3779b97f4a7c15};
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  return static_cast<double>(z >> 11) * 0x1p-53;
}

/// The ranks that differ from this one along the axes of `free` only.
std::vector<Rank> members(const DomainGrid& grid, Rank self, std::array<bool, 3> free) {
  const std::array<std::uint32_t, 3> own = grid.parts_of(self);
  std::vector<Rank> ranks;
  for (std::uint32_t rank = 0; rank < grid.ranks(); ++rank) {
    const std::array<std::uint32_t, 3> parts = grid.parts_of(Rank{rank});
    const auto fits = [&](std::size_t axis) { return free[axis] || parts[axis] == own[axis]; };
    if (fits(0) && fits(1) && fits(2)) {
      ranks.emplace_back(rank);
    }
  }
  return ranks;
}

/// Whether a later axis has cuts, for which samples must be on the ranks of their part along `axis`.
bool is_cut_after(const DomainGrid& grid, std::size_t axis) {
  const std::array<std::uint32_t, 3> counts = grid.counts();
  return std::any_of(counts.begin() + static_cast<std::ptrdiff_t>(axis) + 1, counts.end(), [](std::uint32_t parts) {
    return parts > 1;
  });
}

}  // namespace

std::vector<Sample> choose_samples(const Particles& particles, const Space& space, std::uint32_t count) {
  const std::span<const float> costs = particles[Particles::cost];
  double total = 0;
  std::size_t measured = 0;
  for (const float cost : costs) {
    total += cost;
    measured += cost > 0 ? 1 : 0;
  }
  const double otherwise = measured > 0 ? total / static_cast<double>(measured) : 1;
  total += otherwise * static_cast<double>(costs.size() - measured);
  std::vector<Sample> samples;
  // One sample at a random place in each share: evenly spaced samples would resonate with regular arrangements.
  const double share = total / count;
  std::uint32_t k = 0;
  double next = share * fraction(k);
  double sum = 0;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    sum += costs[i] > 0 ? costs[i] : otherwise;
    double weight = 0;
    while (k < count && sum >= next) {
      weight += share;
      ++k;
      next = share * (k + fraction(k));
    }
    if (weight > 0) {
      const Vector& position = particles.positions()[i];
      check_position(position, particles.ids()[i]);
      samples.push_back({space.place(space.wrap(position)), weight});
    }
  }
  return samples;
}

Decomposition::Decomposition(Endpoint& messages,
                             const Space& space,
                             const DomainGrid& grid,
                             const DecompositionOptions& options)
    : endpoint_{messages}, space_{space}, grid_{grid}, options_{options} {
  space.check();
  if (grid.ranks() != messages.rank_count()) {
    throw Error{
        ErrorCode::bad_argument,
        fmt::format(
            "a grid of {} x {} x {} domains does not fit {} ranks", grid.x, grid.y, grid.z, messages.rank_count())};
  }
  if (options.samples == 0 || !(options.share_of_old >= 0 && options.share_of_old < 1) || !(options.tolerance > 0)) {
    throw Error{ErrorCode::bad_argument,
                "invalid options of a decomposition: use samples > 0, 0 <= share_of_old < 1, and tolerance > 0"};
  }
  const auto group = [this](std::array<bool, 3> free) {
    return Group{endpoint_, members(grid_, endpoint_.self(), free)};
  };
  sharing_ = {group({true, true, true}), group({false, true, true}), group({false, false, true})};
  rows_ = {group({true, false, false}), group({false, true, false})};
}

void Decomposition::choose(const Particles& particles) {
  samples_ = choose_samples(particles, space_, options_.samples);
  survey_ = {};
  for (const float cost : particles[Particles::cost]) {
    survey_.measured_cost += cost;
    survey_.measured_count += cost > 0 ? 1 : 0;
  }
  for (const Sample& sample : samples_) {
    survey_.box.include(sample.place);
  }
}

Request Decomposition::cut(Domain& domain) {
  expect(domain.grid() == grid_ && domain.self() == endpoint_.self(), "the domain is this rank's, of the same grid");
  ++counts_.decompositions;
  return run(domain);
}

template <class T>
Request Decomposition::add_up(std::size_t axis, std::span<T> numbers) {
  ++counts_.reductions;
  counts_.bytes += numbers.size_bytes();
  return comm::all_reduce(*sharing_[axis], numbers, comm::Sum{});
}

/// Stores the new boundaries along `axis` in `cuts`.
AsyncOperation Decomposition::find_cuts(std::size_t axis, std::vector<double>& cuts) {
  const double low = survey_.box.low[axis];
  const double high = survey_.box.high[axis];
  const std::uint32_t parts = grid_.counts()[axis];
  std::vector<detail::Weighed> values;
  values.reserve(samples_.size());
  for (const Sample& sample : samples_) {
    values.push_back({sample.place[axis], sample.weight});
  }
  CutSearch search{{.parts = parts, .low = low, .high = high, .tolerance = options_.tolerance, .old = old_},
                   std::move(values)};
  while (!search.is_done()) {
    std::vector<double> sums = search.weigh();
    Request added = add_up(axis, std::span<double>{sums});
    co_await added;
    search.narrow(sums);
  }
  // Without samples: the old boundaries, or even parts.
  const double share_of_old = search.is_empty() ? 1 : options_.share_of_old;
  if (!search.is_empty()) {
    cuts = search.cuts();
  } else {
    for (std::uint32_t cut = 0; cut + 1 < parts; ++cut) {
      cuts.push_back(low + (high - low) * (cut + 1.0) / parts);
    }
  }
  for (std::size_t i = 0; i < cuts.size() && i < old_.size(); ++i) {
    if (std::isfinite(old_[i])) {
      cuts[i] = share_of_old * old_[i] + (1 - share_of_old) * cuts[i];
    }
  }
}

/// Moves samples along `axis` to the rank of their part.
AsyncOperation Decomposition::travel(std::size_t axis, const std::vector<double>& cuts) {
  const Group& row = *rows_[axis];
  std::vector<std::vector<Sample>> leaving(row.size());
  for (const Sample& sample : samples_) {
    const auto part = std::ranges::upper_bound(cuts, sample.place[axis]) - cuts.begin();
    leaving[static_cast<std::size_t>(part)].push_back(sample);
  }
  std::vector<Bytes> arriving(row.size());
  std::vector<Request> requests;
  for (std::size_t member = 0; member < row.size(); ++member) {
    if (member != row.self()) {
      const std::span<const std::byte> data = std::as_bytes(std::span<const Sample>{leaving[member]});
      requests.push_back(endpoint_.receive({row.rank(member), samples_tag, row.comm()}, arriving[member]));
      requests.push_back(endpoint_.send({row.rank(member), samples_tag, row.comm()}, data));
      ++counts_.messages;
      counts_.bytes += data.size();
    }
  }
  for (Request& request : requests) {
    co_await request;
  }
  // In the order of ranks: the result is reproducible.
  samples_.clear();
  for (std::size_t member = 0; member < row.size(); ++member) {
    if (member == row.self()) {
      samples_.insert(samples_.end(), leaving[member].begin(), leaving[member].end());
      continue;
    }
    const Bytes& bytes = arriving[member];
    if (bytes.size() % sizeof(Sample) != 0) {
      throw Error{ErrorCode::network,
                  fmt::format("received {} bytes, which are not a whole number of samples", bytes.size()),
                  row.rank(member)};
    }
    const std::size_t first = samples_.size();
    samples_.resize(first + bytes.size() / sizeof(Sample));
    if (!bytes.empty()) {
      std::memcpy(samples_.data() + first, bytes.data(), bytes.size());
    }
  }
}

AsyncOperation Decomposition::run(Domain& domain) {
  const double own_measured = survey_.measured_count;
  Request surveyed = add_up(0, std::span{&survey_, 1});
  co_await surveyed;
  if (survey_.box.is_empty()) {
    co_return;
  }
  if (own_measured == 0 && survey_.measured_count > 0) {  // samples of weight 1 beside measured ones
    for (Sample& sample : samples_) {
      sample.weight *= survey_.measured_cost / survey_.measured_count;
    }
  }
  std::array<std::vector<double>, 3> cuts;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (grid_.counts()[axis] == 1) {
      continue;
    }
    old_ = domain.is_cut() ? domain.cuts(axis) : std::span<const double>{};
    Request found = find_cuts(axis, cuts[axis]);
    co_await found;
    if (is_cut_after(grid_, axis)) {
      Request arrived = travel(axis, cuts[axis]);
      co_await arrived;
    }
  }
  domain.set_cuts(std::move(cuts));
}

}  // namespace plait::particles
