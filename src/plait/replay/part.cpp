// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/part.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <type_traits>

#include "plait/replay/detail/collective_places.hpp"

namespace plait::replay {
namespace {

/// What member `giver` gives to member `taker`, of an all-to-all.
std::uint64_t given_to(const Lane& lane, const Operation& operation, std::size_t taker, std::size_t size) {
  return operation.count == size ? lane.shares[operation.first + taker] : operation.bytes / size;
}

bool is_even(const std::vector<std::uint64_t>& shares) {
  return std::ranges::adjacent_find(shares, std::ranges::not_equal_to{}) == shares.end();
}

/// One collective as all members call it.
class Together {
 public:
  Together(const Schedule& schedule, std::span<const detail::CollectivePlace> members)
      : schedule_{schedule}, members_{members} {}

  [[nodiscard]] CollectiveShares shares_of(std::size_t member) const {
    CollectiveShares shares;
    const std::size_t size = members_.size();
    for (std::size_t other = 0; other < size; ++other) {
      shares.given.push_back(given(member, other));
      shares.got.push_back(given(other, member));
    }
    return shares;
  }

  /// Whether all members wait for it, and for nothing else, as soon as they have called it on their only lane.
  [[nodiscard]] bool is_waited_by_all() const {
    return std::ranges::all_of(members_, [&](const detail::CollectivePlace& member) {
      const std::vector<Lane>& lanes = schedule_.ranks[member.rank].lanes;
      return lanes.size() == 1 && detail::is_waited_for_at_once(lanes.front(), member.operation) &&
             lanes.front().operations[member.operation + 1].count == 1;
    });
  }

  [[nodiscard]] bool has_shares() const {
    switch (operation(0).collective) {
      case Collective::all_to_all:
        return !all_even([](const Together& all, std::size_t i, std::size_t j) { return all.given(i, j); });
      case Collective::gather:
      case Collective::all_gather:
        return !all_even([](const Together& all, std::size_t i, std::size_t) { return all.operation(i).bytes; });
      case Collective::scatter:
      case Collective::reduce_scatter:
        return !all_even([](const Together& all, std::size_t, std::size_t j) { return all.operation(j).bytes_got; });
      default:
        return false;
    }
  }

 private:
  [[nodiscard]] const Lane& lane(std::size_t member) const {
    return schedule_.ranks[members_[member].rank].lanes[members_[member].lane];
  }
  [[nodiscard]] const Operation& operation(std::size_t member) const {
    return lane(member).operations[members_[member].operation];
  }
  [[nodiscard]] std::uint64_t given(std::size_t giver, std::size_t taker) const {
    switch (operation(giver).collective) {
      case Collective::all_to_all:
        return given_to(lane(giver), operation(giver), taker, members_.size());
      case Collective::gather:
      case Collective::all_gather:
        return operation(giver).bytes;
      default:
        return operation(taker).bytes_got;
    }
  }
  template <class Bytes>
  [[nodiscard]] bool all_even(Bytes bytes) const {
    std::vector<std::uint64_t> all;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      for (std::size_t j = 0; j < members_.size(); ++j) {
        all.push_back(bytes(*this, i, j));
      }
    }
    return is_even(all);
  }

  const Schedule& schedule_;
  std::span<const detail::CollectivePlace> members_;
};

/// What only all members together tell.
void note_collectives(const Schedule& schedule, std::vector<Part>& parts) {
  for (const auto& [communicator, members] : detail::collectives_of(schedule)) {
    const std::size_t count = members.empty() ? 0 : members.front().size();
    for (std::size_t k = 0; k < count; ++k) {
      std::vector<detail::CollectivePlace> places;
      for (const auto& list : members) {
        places.push_back(list.at(k));
      }
      const Together together{schedule, places};
      const bool is_waited_by_all = together.is_waited_by_all();
      const bool has_shares = together.has_shares();
      for (std::size_t member = 0; member < places.size(); ++member) {
        const Part::Where where{places[member].lane, places[member].operation};
        Part& part = parts[places[member].rank];
        if (is_waited_by_all) {
          part.waited_by_all.insert(where);
        }
        if (has_shares) {
          part.shares[where] = together.shares_of(member);
        }
      }
    }
  }
}

class Writer {
 public:
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void put(const T& value) {
    const auto bytes = std::as_bytes(std::span{&value, 1});
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  template <class T>
  void put(const std::vector<T>& values) {
    put(std::uint64_t{values.size()});
    const auto bytes = std::as_bytes(std::span{values});
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  [[nodiscard]] Bytes take() { return std::move(bytes_); }

 private:
  Bytes bytes_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_{bytes} {}

  template <class T>
    requires std::is_trivially_copyable_v<T>
  void get(T& value) {
    std::memcpy(static_cast<void*>(&value), take(sizeof(T)).data(), sizeof(T));
  }
  template <class T>
  void get(std::vector<T>& values) {
    std::uint64_t count = 0;
    get(count);
    if (count > bytes_.size() / sizeof(T)) {
      fail();
    }
    values.resize(count);
    if (count > 0) {
      std::memcpy(static_cast<void*>(values.data()), take(count * sizeof(T)).data(), count * sizeof(T));
    }
  }
  [[nodiscard]] std::uint64_t count() {
    std::uint64_t value = 0;
    get(value);
    return value;
  }

 private:
  [[noreturn]] static void fail() {
    throw Error{ErrorCode::bad_input,
                "a rank's part of a schedule ends early: do all ranks run the same plait-replay?"};
  }
  std::span<const std::byte> take(std::size_t count) {
    if (count > bytes_.size()) {
      fail();
    }
    const auto taken = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return taken;
  }

  std::span<const std::byte> bytes_;
};

}  // namespace

std::vector<Part> divide(const Schedule& schedule) {
  std::vector<Part> parts(schedule.ranks.size());
  nanoseconds quiet_max{};
  std::uint64_t tag_max = 0;
  for (std::uint32_t rank = 0; rank < parts.size(); ++rank) {
    parts[rank].self = Rank{rank};
    parts[rank].rank_count = static_cast<std::uint32_t>(parts.size());
    parts[rank].schedule = schedule.ranks[rank];
    parts[rank].length = schedule.length;
    for (Lane& lane : parts[rank].schedule.lanes) {
      lane.shares.clear();
      nanoseconds before{};
      for (const Operation& operation : lane.operations) {
        quiet_max = std::max({quiet_max, operation.took, operation.at - before});
        before = operation.at;
        const bool is_message = operation.action == Action::send || operation.action == Action::receive;
        tag_max = is_message ? std::max(tag_max, operation.tag) : tag_max;
      }
    }
  }
  for (const auto& [communicator, members] : schedule.communicators) {
    for (const std::uint32_t member : members) {
      if (member < parts.size()) {
        parts[member].communicators[communicator] = members;
      }
    }
  }
  note_collectives(schedule, parts);
  for (Part& part : parts) {
    part.quiet_max = quiet_max;
    part.tag_max = tag_max;
  }
  return parts;
}

Bytes pack(const Part& part) {
  Writer writer;
  writer.put(part.self);
  writer.put(part.rank_count);
  writer.put(part.length);
  writer.put(part.quiet_max);
  writer.put(part.tag_max);
  writer.put(std::uint64_t{part.schedule.lanes.size()});
  for (const Lane& lane : part.schedule.lanes) {
    writer.put(std::vector<char>{lane.name.begin(), lane.name.end()});
    writer.put(lane.operations);
    writer.put(lane.waited);
  }
  writer.put(std::uint64_t{part.communicators.size()});
  for (const auto& [communicator, members] : part.communicators) {
    writer.put(communicator);
    writer.put(members);
  }
  writer.put(std::uint64_t{part.shares.size()});
  for (const auto& [where, shares] : part.shares) {
    writer.put(where.first);
    writer.put(where.second);
    writer.put(shares.given);
    writer.put(shares.got);
  }
  writer.put(std::uint64_t{part.waited_by_all.size()});
  for (const auto& [lane, operation] : part.waited_by_all) {
    writer.put(lane);
    writer.put(operation);
  }
  return writer.take();
}

Part unpack(std::span<const std::byte> bytes) {
  Reader reader{bytes};
  Part part;
  reader.get(part.self);
  reader.get(part.rank_count);
  reader.get(part.length);
  reader.get(part.quiet_max);
  reader.get(part.tag_max);
  for (std::uint64_t lanes = reader.count(); lanes > 0; --lanes) {
    Lane& lane = part.schedule.lanes.emplace_back();
    std::vector<char> name;
    reader.get(name);
    lane.name.assign(name.begin(), name.end());
    reader.get(lane.operations);
    reader.get(lane.waited);
  }
  for (std::uint64_t communicators = reader.count(); communicators > 0; --communicators) {
    std::uint32_t communicator = 0;
    reader.get(communicator);
    reader.get(part.communicators[communicator]);
  }
  for (std::uint64_t shares = reader.count(); shares > 0; --shares) {
    Part::Where where;
    reader.get(where.first);
    reader.get(where.second);
    CollectiveShares& these = part.shares[where];
    reader.get(these.given);
    reader.get(these.got);
  }
  for (std::uint64_t waited = reader.count(); waited > 0; --waited) {
    Part::Where where;
    reader.get(where.first);
    reader.get(where.second);
    part.waited_by_all.insert(where);
  }
  return part;
}

}  // namespace plait::replay
