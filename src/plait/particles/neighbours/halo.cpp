// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/neighbours/halo.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/particles/domains/summary_exchange.hpp"

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

/// The rows of an exchange of extents.
class Extents final : public SummaryRules {
 public:
  Extents(const CellTable& table, const Nearness& near) : images_{table.images()}, near_{near} {}

  [[nodiscard]] std::size_t row_bytes() const noexcept override { return sizeof(Extent); }
  void join(SummaryRow parts, std::span<std::byte> block) const override {
    Extent whole;
    for (std::size_t i = 0; i < parts.size() / sizeof whole; ++i) {
      const Extent part = extent(parts, i);
      whole.box.include(part.box);
      whole.reach = std::max(whole.reach, part.reach);
      whole.count = std::max(whole.count, part.count);  // above 0 if one is
    }
    std::memcpy(block.data(), &whole, sizeof whole);
  }
  void find_near(SummaryRow one, SummaryRow others, std::span<std::uint8_t> are_near) const override {
    for (std::size_t i = 0; i < are_near.size(); ++i) {
      are_near[i] = is_near(extent(one), extent(others, i)) ? 1 : 0;
    }
  }
  [[nodiscard]] bool suffices(SummaryRow sender, SummaryRow receiver) const override {
    return !is_near(extent(sender), extent(receiver));
  }

  [[nodiscard]] static Extent extent(SummaryRow rows, std::size_t i = 0) {
    Extent extent;
    std::memcpy(&extent, rows.data() + i * sizeof extent, sizeof extent);
    return extent;
  }

 private:
  [[nodiscard]] bool is_near(const Extent& a, const Extent& b) const {
    return a.count > 0 && b.count > 0 && are_near(a, b, images_, near_.growth, near_.skin);
  }

  const Lattice& images_;
  Nearness near_;
};
static_assert(sizeof(Extent) % 8 == 0, "the size of a row");

Extent extent_of(const CellTable& table) {
  Extent extent;
  for (std::uint32_t cell = 0; cell < table.own_count(); ++cell) {
    extent.box.include(table[cell].box);
    extent.reach = std::max(extent.reach, table[cell].reach);
    extent.count += table[cell].count;
  }
  return extent;
}

std::vector<Talk> find_talks(SummaryExchange& exchange, const CellTable& table, const Nearness& near) {
  const Extent mine = extent_of(table);
  const Extents rules{table, near};
  exchange.exchange(std::as_bytes(std::span{&mine, 1}), rules, SummaryExchange::Choice::made).wait();
  std::vector<Talk> talks;
  for (std::size_t i = 0; i < exchange.near_ranks().size(); ++i) {
    const Extent theirs = Extents::extent(exchange.near_row(i));
    Talk& talk = talks.emplace_back();
    talk.rank = exchange.near_ranks()[i];
    for (std::uint32_t cell = 0; cell < table.own_count(); ++cell) {
      if (are_near(table[cell], theirs, table.images(), near.growth, near.skin)) {
        talk.offered.push_back(cell);
      }
    }
  }
  std::ranges::sort(talks, {}, [](const Talk& talk) { return talk.rank.value(); });
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

struct TalkBuffers {
  Bytes Talk::* out;
  Bytes Talk::* in;
};

void send_and_receive(
    comm::Endpoint& endpoint, comm::CommId comm, std::span<Talk> talks, Tag tag, const TalkBuffers& buffers) {
  std::vector<comm::Request> requests;
  for (Talk& talk : talks) {
    const comm::Address other{talk.rank, tag, comm};
    requests.push_back(endpoint.receive(other, talk.*buffers.in));
    requests.push_back(endpoint.send(other, talk.*buffers.out));
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

Halo make_halo(comm::Endpoint& endpoint,
               CellTable& table,
               const Nearness& near,
               const HaloFields& fields,
               const std::optional<DomainGrid>& grid) {
  const comm::ClaimedComms comms{endpoint.claim_comms(1)};
  SummaryExchange exchange{endpoint, comms[0], grid ? *grid : cubic_grid(endpoint.rank_count()), {.keeps_far = false}};
  constexpr double margin = 1 + 1e-6;  // as the extents of ranks and of cells round differently
  std::vector<Talk> talks = find_talks(exchange, table, {near.growth * margin, near.skin * margin});
  for (Talk& talk : talks) {
    write_notes(table, talk);
  }
  send_and_receive(endpoint, comms[0], talks, cells_tag, {&Talk::notes_out, &Talk::notes_in});
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
  send_and_receive(endpoint, comms[0], talks, particles_tag, {&Talk::particles_out, &Talk::particles_in});
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
