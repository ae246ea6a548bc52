// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/groups/friends_of_friends.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/comm/collectives/reduce.hpp"
#include "plait/particles/groups/detail/components.hpp"
#include "plait/particles/groups/detail/moment_sums.hpp"
#include "plait/particles/groups/detail/rows_for_ranks.hpp"
#include "plait/particles/neighbours/neighbour_lists.hpp"
#include "plait/particles/steps/system.hpp"

namespace plait::particles {

namespace {

using detail::Components;
using detail::exchange_rows;
using detail::MomentSums;
using detail::SumsByLabel;
using Index = Particles::Index;

template <class T>
using ByRank = std::vector<std::vector<T>>;

/// A copy of what groups need, whose particles may go to other ranks.
struct Copies {
  Particles store;
  Field<double> mass = store.add_field<double>("mass");
  Field<Vector> velocity = store.add_field<Vector>("velocity");
  Field<std::uint32_t> origin = store.add_field<std::uint32_t>("rank of the original");
  Field<std::uint32_t> place = store.add_field<std::uint32_t>("place of the original");
  Field<std::uint32_t> owner = store.add_field<std::uint32_t>("rank of the copy");

  Copies(const Particles& particles, const FriendsOptions& options, std::uint32_t self) {
    for (std::size_t i = 0; i < particles.size(); ++i) {
      if (options.kinds.has(particles[Particles::kind][i])) {
        const std::size_t at = store.add(1);
        store.positions()[at] = particles.positions()[i];
        store.ids()[at] = particles.ids()[i];
        store[mass][at] = particles[options.mass][i];
        store[velocity][at] = options.velocity ? particles[*options.velocity][i] : Vector{};
        store[origin][at] = self;
        store[place][at] = static_cast<std::uint32_t>(i);
      }
    }
  }
};

/// Gives all particles of a group one label on all ranks: the smallest id.
class Labelling {
 public:
  Labelling(const comm::Group& group, const Copies& copies, const NeighbourLists& friends)
      : group_{group}, components_{{copies.store.ids().begin(), copies.store.ids().end()}}, border_(group.size()) {
    const std::size_t own = copies.store.size();
    for (std::size_t i = 0; i < own; ++i) {
      for (const Index friend_place : friends.neighbours(i)) {
        if (friend_place < own) {
          components_.join(static_cast<std::uint32_t>(i), friend_place);
        } else {
          const std::uint64_t id = friends.value(Particles::id, friend_place);
          border_[friends.value(copies.owner, friend_place)].push_back({id, static_cast<std::uint32_t>(i)});
          border_places_[copies.store.ids()[i]] = static_cast<std::uint32_t>(i);
        }
      }
    }
  }

  /// Until no label changes on any rank.
  void agree() {
    for (std::uint8_t has_changed = 1; has_changed != 0;) {
      ByRank<Label> to(border_.size());
      for (std::size_t rank = 0; rank < border_.size(); ++rank) {
        for (Edge& edge : border_[rank]) {
          if (const std::uint64_t label = components_.label(edge.place); label != edge.sent) {
            to[rank].push_back({edge.id, label});
            edge.sent = label;
          }
        }
      }
      has_changed = 0;
      for (const std::vector<Label>& labels : exchange_rows(group_, to)) {
        for (const Label& label : labels) {
          // An edge that rounding gives to one rank only joins here.
          const auto place = border_places_.find(label.id);
          if (place != border_places_.end() && components_.lower(place->second, label.label)) {
            has_changed = 1;
          }
        }
      }
      comm::all_reduce(group_, std::span{&has_changed, 1}, comm::Maximum{}).wait();
    }
  }

  [[nodiscard]] std::uint64_t label(std::size_t place) { return components_.label(static_cast<std::uint32_t>(place)); }

 private:
  /// To a particle of another rank.
  struct Edge {
    std::uint64_t id;  ///< Of that particle.
    std::uint32_t place;
    std::uint64_t sent = FriendGroups::none;
  };
  struct Label {
    std::uint64_t id;
    std::uint64_t label;
  };

  const comm::Group& group_;
  Components components_;
  ByRank<Edge> border_;
  std::unordered_map<std::uint64_t, std::uint32_t> border_places_;
};

void check(const FriendsOptions& options) {
  const Vector edges = options.space.root.high - options.space.root.low;
  const auto fits = [&](int axis, double edge) {
    return !options.space.periodic[axis] || options.linking_length <= edge / 2;
  };
  if (!(options.linking_length > 0) || !std::isfinite(options.linking_length) || !fits(0, edges.x) ||
      !fits(1, edges.y) || !fits(2, edges.z)) {
    throw Error{
        ErrorCode::bad_argument,
        fmt::format("friends of friends with a linking length of {}: it must be positive, and at most half of a "
                    "periodic space",
                    options.linking_length)};
  }
}

/// Sums groups on their collectors, and finds the particles of those that are large enough.
class Collection {
 public:
  Collection(const comm::Group& group, const Copies& copies, const FriendsOptions& options)
      : group_{group}, copies_{copies}, options_{options} {}

  FriendGroups collect(Labelling& labels, std::size_t originals) {
    SumsByLabel sums;
    for (std::size_t i = 0; i < copies_.store.size(); ++i) {
      const std::uint64_t label = labels.label(i);
      sums[label].add(
          options_.space,
          detail::sums_of(
              label, copies_.store[copies_.mass][i], copies_.store.positions()[i], copies_.store[copies_.velocity][i]));
    }
    const ByRank<MomentSums> to = detail::rows_for_collectors(sums, group_.size());
    const ByRank<MomentSums> from = exchange_rows(group_, to);
    const SumsByLabel whole = detail::collected(from, options_.space);
    FriendGroups result;
    result.groups = detail::moments_of(whole, options_.space, options_.members_min);
    const ByRank<std::uint8_t> are_large = exchange_rows(group_, which_are_large(from, whole));
    for (std::size_t rank = 0; rank < to.size(); ++rank) {
      for (std::size_t i = 0; i < to[rank].size(); ++i) {
        if (are_large[rank][i] == 0) {
          sums.erase(to[rank][i].id);
        }
      }
    }
    send_back(labels, sums, originals, result);
    return result;
  }

 private:
  /// For each row whether its group is large enough.
  [[nodiscard]] ByRank<std::uint8_t> which_are_large(const ByRank<MomentSums>& rows, const SumsByLabel& whole) const {
    ByRank<std::uint8_t> are_large(rows.size());
    for (std::size_t rank = 0; rank < rows.size(); ++rank) {
      for (const MomentSums& row : rows[rank]) {
        are_large[rank].push_back(whole.at(row.id).members >= options_.members_min ? 1 : 0);
      }
    }
    return are_large;
  }

  /// Labels of copies go to the ranks and places of their originals.
  void send_back(Labelling& labels, const SumsByLabel& large, std::size_t originals, FriendGroups& result) const {
    struct Labelled {
      std::uint64_t label;
      std::uint32_t place;
    };
    ByRank<Labelled> to(group_.size());
    for (std::size_t i = 0; i < copies_.store.size(); ++i) {
      if (large.contains(labels.label(i))) {
        to[copies_.store[copies_.origin][i]].push_back({labels.label(i), copies_.store[copies_.place][i]});
      }
    }
    result.of_particle.assign(originals, FriendGroups::none);
    for (const std::vector<Labelled>& rows : exchange_rows(group_, to)) {
      for (const Labelled& row : rows) {
        result.of_particle[row.place] = row.label;
      }
    }
  }

  const comm::Group& group_;
  const Copies& copies_;
  const FriendsOptions& options_;
};

}  // namespace

FriendGroups friends_of_friends(comm::Endpoint& messages,
                                task::Scheduler& scheduler,
                                const Particles& particles,
                                const FriendsOptions& options) {
  check(options);
  const comm::Group group{messages};
  Copies copies{particles, options, messages.self().value()};
  System system{messages, scheduler, copies.store, {.space = options.space}};
  const NeighbourLists& friends =
      system.add_neighbour_lists({.radius = options.linking_length, .travels = {copies.owner}});
  system.distribute();
  std::ranges::fill(copies.store[copies.owner], messages.self().value());
  system.update();
  Labelling labels{group, copies, friends};
  labels.agree();
  return Collection{group, copies, options}.collect(labels, particles.size());
}

}  // namespace plait::particles
