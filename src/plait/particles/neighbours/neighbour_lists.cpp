// SPDX-License-Identifier: Apache-2.0
// Lists are found by a short-range kernel, block by block, and then joined in the order of particles.
#include "plait/particles/neighbours/neighbour_lists.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/particles/neighbours/short_range_sums.hpp"

namespace plait::particles {
namespace {

using task::Task;
using task::TaskContext;

using Radius = decltype(NeighbourOptions::radius);

/// Blocks have positions relative to their centre in single precision, with an error of this times their sum.
constexpr double block_rounding = 4 * static_cast<double>(std::numeric_limits<float>::epsilon());

/// A bound in single precision, with a margin for the extents of cells.
float reach_of(double radius) {
  constexpr double margin = 1 + 1e-6;
  return std::nextafter(static_cast<float>(radius * margin), std::numeric_limits<float>::infinity());
}

bool is_radius(double radius) {
  return radius >= 0 && std::isfinite(radius);
}

/// The lists of the targets of one block.
struct ListsOfBlock {
  std::vector<Particles::Index> places;   ///< Of targets.
  std::vector<std::size_t> ends;          ///< By target, in `indices`.
  std::vector<Particles::Index> indices;  ///< With the mark of ghosts.
};

class FoundLists final : public NeighbourLists {
 public:
  FoundLists(Particles& store, NeighbourOptions options, const Tree* tree)
      : store_{store},
        options_{std::move(options)},
        reach_{store.add_field<float>(fmt::format("reach of neighbours {}", store.field_count()))} {
    if (const double* const all = std::get_if<double>(&options_.radius); all != nullptr && !is_radius(*all)) {
      throw Error{ErrorCode::bad_argument,
                  fmt::format("the radius of neighbours is {}: give a finite distance that is not negative", *all)};
    }
    ShortRangeOptions search{.search = options_.search,
                             .reach = reach_,
                             .travels = options_.travels,
                             .target_kinds = options_.targets.bits(),
                             .source_kinds = options_.sources.bits()};
    search.travels.emplace_back(Particles::id);
    std::visit(
        [&search]<class Given>(const Given& given) {
          if constexpr (!std::is_same_v<Given, double>) {
            search.travels.emplace_back(given);
          }
        },
        options_.radius);
    sums_ = make_short_range_sums({std::move(search), {}, [this](const Block& block) { find(block); }}, tree);
  }

  std::vector<Task> add_building_tasks(const StepFrame& frame, Task after) override {
    space_ = &frame.space;
    return sums_->add_building_tasks(frame, after);
  }
  std::vector<Task> add_refreshing_tasks(const StepFrame& frame, Task after) override {
    return sums_->add_refreshing_tasks(frame, after);
  }
  std::vector<Task> add_summing_tasks(const StepFrame& frame, Task after, Task end) override {
    const task::TaskKind kind = frame.graph.kind("join neighbour lists");
    Task join = frame.graph.task("join neighbour lists", [this, kind](TaskContext& context) {
      count();
      for (std::size_t first = 0; first < found_.size(); first += blocks_a_task) {
        context.spawn({.kind = kind, .body = [this, first](TaskContext&) { join_from(first); }, .object = first});
      }
    });
    Task clear = frame.graph.task("clear neighbour lists", [this] { found_.clear(); });
    std::vector<Task> tasks = sums_->add_summing_tasks(frame, clear, join);
    clear.after(after);
    end.after(join);
    tasks.insert(tasks.end(), {clear, join});
    return tasks;
  }

  /// Runs before the search.
  void clear_results(Particles& store, std::size_t first, std::size_t last) override {
    const std::span<float> reach = store[reach_];
    for (std::size_t i = first; i < last; ++i) {
      const double radius = radius_of(store, i);
      if (!is_radius(radius)) {
        throw Error{ErrorCode::bad_argument,
                    fmt::format("particle {} has a radius of neighbours of {}: it must be finite and not negative",
                                store.ids()[i],
                                radius)};
      }
      reach[i] = reach_of(radius);
    }
  }
  void take_times(StepTimes& times) override { sums_->take_times(times); }
  [[nodiscard]] const Tree* tree() const noexcept override { return sums_->tree(); }

  [[nodiscard]] std::span<const std::size_t> offsets() const noexcept override { return offsets_; }
  [[nodiscard]] std::span<const Index> indices() const noexcept override { return indices_; }
  [[nodiscard]] const Particles& imported() const noexcept override { return sums_->ghosts(); }

 private:
  static constexpr std::size_t blocks_a_task = 64;

  [[nodiscard]] const Particles& store() const noexcept override { return store_; }

  [[nodiscard]] double radius_of(const Particles& store, std::size_t place) const {
    return std::visit(
        [&]<class Given>(const Given& given) {
          if constexpr (std::is_same_v<Given, double>) {
            return given;
          } else {
            return static_cast<double>(store[given][place]);
          }
        },
        options_.radius);
  }

  /// The squared distance within which a source is a neighbour.
  [[nodiscard]] double limit2(const Block& block, std::size_t i, std::size_t j) const {
    double limit = options_.search == Search::scatter ? 0 : radius_of(*block.own, block.targets.places()[i]);
    if (options_.search != Search::gather) {
      const Index place = block.sources.places()[j];
      const bool is_ghost = (place & BlockParticles::ghost) != 0;
      limit = std::max(limit, radius_of(is_ghost ? *block.ghosts : *block.own, place & ~BlockParticles::ghost));
    }
    return limit * limit;
  }

  /// Any worker calls it, with other targets.
  void find(const Block& block) {
    const BlockParticles& to = block.targets;
    const BlockParticles& from = block.sources;
    ListsOfBlock lists;
    lists.places.assign(to.places().begin(), to.places().end());
    for (std::size_t i = 0; i < to.size(); ++i) {
      const std::size_t first = lists.indices.size();
      const Index self = to.places()[i];
      for (std::size_t j = 0; j < from.size(); ++j) {
        if (from.places()[j] != self && is_within(block, i, j)) {
          lists.indices.push_back(from.places()[j]);
        }
      }
      // Own places are before those with the mark of ghosts. Several images of a source may be near.
      const auto begin = lists.indices.begin() + static_cast<std::ptrdiff_t>(first);
      std::sort(begin, lists.indices.end());
      lists.indices.erase(std::unique(begin, lists.indices.end()), lists.indices.end());
      lists.ends.push_back(lists.indices.size());
    }
    const std::lock_guard lock{mutex_};
    found_.push_back(std::move(lists));
  }

  /// By single precision where that decides, else by the positions.
  [[nodiscard]] bool is_within(const Block& block, std::size_t i, std::size_t j) const {
    const BlockParticles& to = block.targets;
    const BlockParticles& from = block.sources;
    const Vector a{to.x()[i], to.y()[i], to.z()[i]};
    const Vector b{from.x()[j], from.y()[j], from.z()[j]};
    const double error = block_rounding * (std::abs(a.x) + std::abs(a.y) + std::abs(a.z) + std::abs(b.x) +
                                           std::abs(b.y) + std::abs(b.z));
    const double limit = limit2(block, i, j);
    const double distance = length(a - b) - error;
    if (distance > 0 && distance * distance > limit) {
      return false;
    }
    const Vector exact = space_->nearest(block.own->positions()[to.places()[i]] - block.source(Particles::position, j));
    return dot(exact, exact) <= limit;
  }

  void count() {
    offsets_.assign(store_.size() + 1, 0);
    for (const ListsOfBlock& lists : found_) {
      std::size_t begin = 0;
      for (std::size_t i = 0; i < lists.places.size(); ++i) {
        offsets_[lists.places[i] + 1] = lists.ends[i] - begin;
        begin = lists.ends[i];
      }
    }
    std::partial_sum(offsets_.begin(), offsets_.end(), offsets_.begin());
    indices_.resize(offsets_.back());
  }

  void join_from(std::size_t first) {
    const auto own = static_cast<Index>(store_.size());
    for (const ListsOfBlock& lists : std::span{found_}.subspan(first, std::min(blocks_a_task, found_.size() - first))) {
      std::size_t begin = 0;
      for (std::size_t i = 0; i < lists.places.size(); ++i) {
        std::transform(lists.indices.begin() + static_cast<std::ptrdiff_t>(begin),
                       lists.indices.begin() + static_cast<std::ptrdiff_t>(lists.ends[i]),
                       indices_.begin() + static_cast<std::ptrdiff_t>(offsets_[lists.places[i]]),
                       [own](Index place) {
                         return (place & BlockParticles::ghost) == 0 ? place : own + (place & ~BlockParticles::ghost);
                       });
        begin = lists.ends[i];
      }
    }
  }

  Particles& store_;
  const NeighbourOptions options_;
  const Field<float> reach_;
  std::unique_ptr<ShortRange> sums_;
  const Space* space_ = nullptr;
  std::mutex mutex_;  ///< Of `found_` during the search.
  std::vector<ListsOfBlock> found_;
  std::vector<std::size_t> offsets_;
  std::vector<Index> indices_;
};

}  // namespace

std::unique_ptr<NeighbourLists> make_neighbour_lists(Particles& store, NeighbourOptions options, const Tree* tree) {
  return std::make_unique<FoundLists>(store, std::move(options), tree);
}

}  // namespace plait::particles
