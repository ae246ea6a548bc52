// SPDX-License-Identifier: Apache-2.0
#include "plait/python/particles_neighbours.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <numeric>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/comm/collectives/all_gather.hpp"
#include "plait/data/collections/engine/all_ranks.hpp"
#include "plait/particles/steps/system.hpp"
#include "plait/python/particles_input.hpp"

namespace plait::python {

using particles::Block;
using particles::BlockParticles;
using particles::Field;
using particles::Particles;
using particles::Space;
using particles::Vector;

namespace {

/// Blocks have positions relative to their centre in single precision, with an error of this times their sum.
constexpr double rounding = 4 * static_cast<double>(std::numeric_limits<float>::epsilon());
/// Numbers below it are exact in single precision.
constexpr std::uint64_t float_max = std::uint64_t{1} << 24U;

Vector rounded(const Vector& p) {
  return {static_cast<double>(static_cast<float>(p.x)),
          static_cast<double>(static_cast<float>(p.y)),
          static_cast<double>(static_cast<float>(p.z))};
}

/// The points of all ranks in the search, with what kernels need to know of sources.
class Search {
 public:
  Search(Runtime& runtime, const Space& space, std::span<const double> positions, std::span<const double> radii)
      : space_{space} {
    add_particles(store_, positions, runtime.self());
    for (std::size_t i = 0; i < radii.size(); ++i) {
      Vector& place = store_.positions()[i];
      place = space.wrap(place);
      const auto reach = static_cast<float>(radii[i]);
      store_[radius_][i] = radii[i];
      store_[reach_][i] =
          std::nextafter(reach * (1 + std::numeric_limits<float>::epsilon()), std::numeric_limits<float>::infinity());
      // A position in two parts of single precision, as blocks have them.
      store_[high_][i] = rounded(place);
      store_[low_][i] = place - store_[high_][i];
    }
  }

  /// Numbers the points of this rank from `first`.
  void number(std::uint64_t first) {
    for (std::size_t i = 0; i < store_.size(); ++i) {
      const std::uint64_t index = first + i;
      store_[index_high_][i] = static_cast<float>(index / float_max);
      store_[index_low_][i] = static_cast<float>(index % float_max);
    }
  }

  void run(Runtime& runtime) {
    particles::System system{runtime.messages(), runtime.scheduler(), store_, {.space = space_}};
    system.add_short_range({.reach = reach_,
                            .targets = {radius_, high_, low_, index_high_, index_low_},
                            .sources = {high_, low_, index_high_, index_low_}},
                           {found_},
                           [this](const Block& block) { find(block); });
    system.update();
    prepare();  // a rank without points has no block
  }

  [[nodiscard]] const Particles& store() const noexcept { return store_; }
  /// Those of the point at this place of the store.
  [[nodiscard]] const std::vector<std::int64_t>& of(std::size_t place) const { return lists_[place]; }

 private:
  /// Points stay where they are from the first kernel on.
  void prepare() {
    std::call_once(prepared_, [this] { lists_.resize(store_.size()); });
  }

  static Vector exact(const BlockParticles& points, Field<Vector> high, Field<Vector> low, std::size_t i) {
    const particles::BlockVectors a = points[high];
    const particles::BlockVectors b = points[low];
    return {static_cast<double>(a.x[i]) + static_cast<double>(b.x[i]),
            static_cast<double>(a.y[i]) + static_cast<double>(b.y[i]),
            static_cast<double>(a.z[i]) + static_cast<double>(b.z[i])};
  }
  [[nodiscard]] std::int64_t index(const BlockParticles& points, std::size_t i) const {
    return static_cast<std::int64_t>(points[index_high_][i]) * static_cast<std::int64_t>(float_max) +
           static_cast<std::int64_t>(points[index_low_][i]);
  }

  void find(const Block& block) {
    prepare();
    const BlockParticles& to = block.targets;
    const BlockParticles& from = block.sources;
    for (std::size_t i = 0; i < to.size(); ++i) {
      const std::size_t place = to.places()[i];
      const double radius = store_[radius_][place];
      const std::int64_t self = index(to, i);
      std::vector<std::int64_t>& list = lists_[place];
      for (std::size_t j = 0; j < from.size(); ++j) {
        if (is_within(block, {i, j}, radius)) {
          const std::int64_t other = index(from, j);
          if (other != self) {
            list.push_back(other);
          }
        }
      }
    }
  }

  struct Pair {
    std::size_t target;
    std::size_t source;
  };
  /// By single precision where that decides, else by the positions.
  [[nodiscard]] bool is_within(const Block& block, const Pair& pair, double radius) const {
    const BlockParticles& to = block.targets;
    const BlockParticles& from = block.sources;
    const Vector a{to.x()[pair.target], to.y()[pair.target], to.z()[pair.target]};
    const Vector b{from.x()[pair.source], from.y()[pair.source], from.z()[pair.source]};
    const Vector d = a - b;
    const double square = dot(d, d);
    const double error =
        rounding * (std::abs(a.x) + std::abs(a.y) + std::abs(a.z) + std::abs(b.x) + std::abs(b.y) + std::abs(b.z));
    const double low = std::max(0.0, radius - error);
    const double high = radius + error;
    if (square > high * high) {
      return false;
    }
    if (square < low * low) {
      return true;
    }
    const Vector e = space_.nearest(exact(to, high_, low_, pair.target) - exact(from, high_, low_, pair.source));
    return dot(e, e) <= radius * radius;
  }

  const Space& space_;
  Particles store_;
  Field<double> radius_ = store_.add_field<double>("radius");
  Field<float> reach_ = store_.add_field<float>("reach");
  Field<Vector> high_ = store_.add_field<Vector>("high");
  Field<Vector> low_ = store_.add_field<Vector>("low");
  Field<float> index_high_ = store_.add_field<float>("index_high");
  Field<float> index_low_ = store_.add_field<float>("index_low");
  Field<std::uint8_t> found_ = store_.add_field<std::uint8_t>("found");
  std::once_flag prepared_;
  std::vector<std::vector<std::int64_t>> lists_;  ///< By place in the store.
};

void append(Bytes& message, std::span<const std::int64_t> numbers) {
  const auto bytes = std::as_bytes(numbers);
  message.insert(message.end(), bytes.begin(), bytes.end());
}

/// Sends each list to where its point came from: the point's place there, the length, the list.
std::vector<Bytes> send_back(const comm::Group& group, const Search& search) {
  std::vector<Bytes> back(group.size());
  for (std::size_t i = 0; i < search.store().size(); ++i) {
    const InputPlace origin = InputPlace::of(search.store().ids()[i]);
    const std::vector<std::int64_t>& list = search.of(i);
    append(back[origin.rank], std::array{std::int64_t{origin.place}, static_cast<std::int64_t>(list.size())});
    append(back[origin.rank], list);
  }
  return data::detail::exchange_any(group, back);
}

std::span<const std::int64_t> numbers_in(const Bytes& message) {
  return {reinterpret_cast<const std::int64_t*>(message.data()), message.size() / sizeof(std::int64_t)};
}

/// Calls `use(place, list)` for each list in `messages`.
template <class Use>
void for_each_list(const std::vector<Bytes>& messages, const Use& use) {
  for (const Bytes& message : messages) {
    std::span<const std::int64_t> rest = numbers_in(message);
    while (!rest.empty()) {
      const auto length = static_cast<std::size_t>(rest[1]);
      use(static_cast<std::size_t>(rest[0]), rest.subspan(2, length));
      rest = rest.subspan(2 + length);
    }
  }
}

void check(std::span<const double> radii, const Space& space, Rank self) {
  space.check();
  const Vector period = space.period();
  for (std::size_t i = 0; i < radii.size(); ++i) {
    const bool fits = std::ranges::all_of(std::array{period.x, period.y, period.z},
                                          [&](double length) { return length == 0 || radii[i] < length / 2; });
    if (!(radii[i] >= 0) || !std::isfinite(radii[i]) || !fits) {
      throw Error{
          ErrorCode::bad_argument,
          fmt::format("radius[{}] on rank {} is {}: it must be finite, not negative, and less than half of each "
                      "periodic edge of the box",
                      i,
                      self.value(),
                      radii[i])};
    }
  }
}

}  // namespace

NeighbourLists find_neighbours(Runtime& runtime,
                               const comm::Group& group,
                               std::span<const double> positions,
                               std::span<const double> radii,
                               const Space& space) {
  check(radii, space, runtime.self());
  std::vector<std::uint64_t> counts(group.size());
  const std::uint64_t mine = radii.size();
  comm::all_gather(group, std::span{&mine, 1}, std::span{counts}).wait();
  Search search{runtime, space, positions, radii};
  search.number(
      std::accumulate(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(group.self()), std::uint64_t{0}));
  search.run(runtime);

  const std::vector<Bytes> lists = send_back(group, search);
  NeighbourLists found{std::vector<std::int64_t>(radii.size() + 1), {}};
  for_each_list(
      lists, [&](std::size_t place, auto list) { found.offsets[place + 1] = static_cast<std::int64_t>(list.size()); });
  std::partial_sum(found.offsets.begin(), found.offsets.end(), found.offsets.begin());
  found.indices.resize(static_cast<std::size_t>(found.offsets.back()));
  for_each_list(lists, [&](std::size_t place, auto list) {
    const auto first = found.indices.begin() + found.offsets[place];
    std::ranges::copy(list, first);
    std::sort(first, first + static_cast<std::ptrdiff_t>(list.size()));
  });
  return found;
}

}  // namespace plait::python
