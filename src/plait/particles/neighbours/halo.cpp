// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/neighbours/halo.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/comm/collectives/all_gather.hpp"
#include "plait/comm/collectives/group.hpp"

namespace plait::particles {
namespace {

constexpr Tag cells_tag{0};
constexpr Tag particles_tag{1};

/// A cell in a message. After all cells follow the leaf counts of their groups, then the particle counts of leaves.
struct CellNote {
  Extent extent;
  std::uint32_t number = 0;
  std::uint32_t group_count = 0;
  std::uint32_t leaf_count = 0;
  std::uint32_t unused = 0;
};
static_assert(std::is_trivially_copyable_v<CellNote>, "travels in messages");

/// The messages between this rank and another one.
struct Talk {
  Rank rank;
  std::vector<std::uint32_t> offered;  ///< Own cells that may be near.
  Bytes notes_out;
  Bytes notes_in;
  Bytes particles_out;
  Bytes particles_in;
  std::vector<CellNote> notes;        ///< Received,
  std::vector<std::uint16_t> groups;  ///< with the leaf count of each group
  std::vector<std::uint16_t> leaves;  ///< and the particle count of each leaf.
};

template <class T>
void append(Bytes& buffer, std::span<const T> values) {
  const auto bytes = std::as_bytes(values);
  buffer.insert(buffer.end(), bytes.begin(), bytes.end());
}

/// Removes values from the front of a message. Throws: `Error` if it is too short.
template <class T>
std::vector<T> take(std::span<const std::byte>& from, std::size_t count, Rank source) {
  if (count > from.size() / sizeof(T)) {
    throw Error{ErrorCode::network, fmt::format("rank {} sent a truncated list of cells", source.value()), source};
  }
  std::vector<T> values(count);
  if (count > 0) {
    std::memcpy(values.data(), from.data(), count * sizeof(T));
  }
  from = from.subspan(count * sizeof(T));
  return values;
}

std::vector<Talk> find_talks(const comm::Group& all_ranks, const CellTable& table, const Nearness& near) {
  Extent mine;
  for (std::uint32_t cell = 0; cell < table.own_count(); ++cell) {
    mine.box.include(table[cell].box);
    mine.reach = std::max(mine.reach, table[cell].reach);
    mine.count += table[cell].count;
  }
  std::vector<Extent> all(all_ranks.size());
  comm::all_gather(all_ranks, std::as_bytes(std::span{&mine, 1}), std::as_writable_bytes(std::span{all})).wait();
  std::vector<Talk> talks;
  for (std::uint32_t rank = 0; rank < all.size(); ++rank) {
    if (rank == all_ranks.self() || all[rank].count == 0 || mine.count == 0 ||
        !are_near(mine, all[rank], table.images(), near.growth, near.skin)) {
      continue;
    }
    Talk& talk = talks.emplace_back();
    talk.rank = Rank{rank};
    for (std::uint32_t cell = 0; cell < table.own_count(); ++cell) {
      if (are_near(table[cell], all[rank], table.images(), near.growth, near.skin)) {
        talk.offered.push_back(cell);
      }
    }
  }
  return talks;
}

void write_notes(const CellTable& table, Talk& talk) {
  std::vector<CellNote> notes;
  std::vector<std::uint16_t> leaf_counts;
  std::vector<std::uint16_t> particle_counts;
  for (const std::uint32_t number : talk.offered) {
    const Cell& cell = table[number];
    const std::size_t leaves_before = particle_counts.size();
    for (const CellGroup& group : table.groups_of(cell)) {
      leaf_counts.push_back(static_cast<std::uint16_t>(group.leaf_count));
      for (const Leaf& leaf : table.leaves_of(group)) {
        particle_counts.push_back(static_cast<std::uint16_t>(leaf.count));
      }
    }
    notes.push_back(
        {cell, number, cell.group_count, static_cast<std::uint32_t>(particle_counts.size() - leaves_before)});
  }
  const auto count = static_cast<std::uint64_t>(notes.size());
  append(talk.notes_out, std::span{&count, 1});
  append<CellNote>(talk.notes_out, notes);
  append<std::uint16_t>(talk.notes_out, leaf_counts);
  append<std::uint16_t>(talk.notes_out, particle_counts);
}

void read_notes(Talk& talk) {
  std::span<const std::byte> left{talk.notes_in};
  const std::uint64_t count = take<std::uint64_t>(left, 1, talk.rank).front();
  talk.notes = take<CellNote>(left, count, talk.rank);
  std::size_t groups = 0;
  std::size_t leaves = 0;
  for (const CellNote& note : talk.notes) {
    groups += note.group_count;
    leaves += note.leaf_count;
  }
  talk.groups = take<std::uint16_t>(left, groups, talk.rank);
  talk.leaves = take<std::uint16_t>(left, leaves, talk.rank);
}

void send_and_receive(
    const comm::Group& all_ranks, std::span<Talk> talks, Tag tag, Bytes Talk::* out, Bytes Talk::* in) {
  std::vector<comm::Request> requests;
  for (Talk& talk : talks) {
    const comm::Address other{talk.rank, tag, all_ranks.comm()};
    requests.push_back(all_ranks.endpoint().receive(other, talk.*in));
    requests.push_back(all_ranks.endpoint().send(other, talk.*out));
  }
  for (comm::Request& request : requests) {
    request.wait();
  }
}

/// Chooses the cells of each rank that are near to a cell of the other; both ranks compute the same. Appends the sizes
/// of ghosts to `ghosts`.
HaloPeer choose(const CellTable& table, Talk& talk, const Nearness& near, CellSizes& ghosts) {
  HaloPeer peer;
  peer.rank = talk.rank;
  std::vector<bool> is_theirs(talk.notes.size());
  for (const std::uint32_t cell : talk.offered) {
    bool is_mine = false;
    for (std::size_t i = 0; i < talk.notes.size(); ++i) {
      if (are_near(table[cell], talk.notes[i].extent, table.images(), near.growth, near.skin)) {
        is_mine = true;
        is_theirs[i] = true;
      }
    }
    if (is_mine) {
      peer.mine.push_back(cell);
    }
  }
  auto group = talk.groups.begin();
  auto leaf = talk.leaves.begin();
  for (std::size_t i = 0; i < talk.notes.size(); ++i) {
    const CellNote& note = talk.notes[i];
    const auto next_group = group + note.group_count;
    const auto next_leaf = leaf + note.leaf_count;
    if (is_theirs[i]) {
      peer.their_numbers.push_back(note.number);
      ghosts.cells.push_back(static_cast<std::uint16_t>(note.group_count));
      ghosts.groups.insert(ghosts.groups.end(), group, next_group);
      ghosts.leaves.insert(ghosts.leaves.end(), leaf, next_leaf);
    }
    group = next_group;
    leaf = next_leaf;
  }
  return peer;
}

}  // namespace

Halo make_halo(comm::Endpoint& endpoint, CellTable& table, const Nearness& near, const HaloFields& fields) {
  const comm::Group all_ranks{endpoint};
  constexpr double margin = 1 + 1e-6;  // as the extents of ranks and of cells round differently
  std::vector<Talk> talks = find_talks(all_ranks, table, {near.growth * margin, near.skin * margin});
  for (Talk& talk : talks) {
    write_notes(table, talk);
  }
  send_and_receive(all_ranks, talks, cells_tag, &Talk::notes_out, &Talk::notes_in);
  Halo halo;
  CellSizes ghosts;
  std::uint32_t next_ghost = table.own_count();
  for (Talk& talk : talks) {
    read_notes(talk);
    HaloPeer& peer = halo.peers.emplace_back(choose(table, talk, near, ghosts));
    for (std::size_t i = 0; i < peer.their_numbers.size(); ++i) {
      peer.theirs.push_back(next_ghost++);
    }
    for (const std::uint32_t cell : peer.mine) {
      table.own().pack(fields.travel, table[cell].first, table[cell].count, talk.particles_out);
    }
  }
  table.ghosts().clear();
  table.ghosts().add(std::accumulate(ghosts.leaves.begin(), ghosts.leaves.end(), std::size_t{0}));
  table.add_ghosts(ghosts);
  send_and_receive(all_ranks, talks, particles_tag, &Talk::particles_out, &Talk::particles_in);
  std::size_t row = 0;
  for (const AnyField& field : fields.travel) {
    row += field.bytes;
  }
  for (std::size_t i = 0; i < talks.size(); ++i) {
    std::span<const std::byte> left{talks[i].particles_in};
    for (const std::uint32_t ghost : halo.peers[i].theirs) {
      const std::size_t bytes = std::min(left.size(), row * table[ghost].count);
      table.ghosts().unpack(fields.travel, table[ghost].first, table[ghost].count, left.first(bytes));
      table.refresh(ghost, fields.reach, fields.reach_factor);
      left = left.subspan(bytes);
    }
  }
  std::erase_if(halo.peers, [](const HaloPeer& peer) { return peer.mine.empty() && peer.theirs.empty(); });
  table.find_neighbours(near.growth, near.skin);
  return halo;
}

}  // namespace plait::particles
