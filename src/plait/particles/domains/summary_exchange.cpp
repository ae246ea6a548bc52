// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/domains/summary_exchange.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/comm/collectives/all_gather.hpp"

namespace plait::particles {
namespace {

using comm::AsyncOperation;
using comm::Request;

// Kinds of messages.
constexpr std::uint32_t to_parent = 0;
constexpr std::uint32_t between_blocks = 1;
constexpr std::uint32_t to_child = 2;
constexpr std::uint32_t kinds = 3;

/// The header of a view in a message; the numbers of near blocks follow, then the rows.
struct ViewHeader {
  std::uint32_t near_count = 0;
  std::uint32_t row_count = 0;
};

std::size_t rows_begin(const ViewHeader& header) {
  return sizeof header + (std::size_t{header.near_count} + 1) / 2 * 2 * sizeof(std::uint32_t);
}

void throw_unless_equal(std::size_t bytes, std::size_t expected, Rank from) {
  if (bytes != expected) {
    throw Error{
        ErrorCode::network,
        fmt::format("rank {} sent summaries of {} bytes, and {} are expected: do all ranks run the same program?",
                    from.value(),
                    bytes,
                    expected),
        from};
  }
}

}  // namespace

SummaryExchange::SummaryExchange(comm::Endpoint& messages,
                                 comm::CommId comm,
                                 const DomainGrid& grid,
                                 const Options& options)
    : endpoint_{messages}, comm_{comm}, options_{options}, blocks_{grid, options.top_blocks_max} {
  expect(grid.ranks() == messages.rank_count(), "the grid has a domain for each rank");
  for (std::size_t level = 0; level <= blocks_.top(); ++level) {
    const std::uint32_t block = blocks_.block_of(level, messages.self());
    if (blocks_.leader(level, block) == messages.self()) {
      Seat& seat = seats_.emplace_back();
      seat.level = level;
      seat.block = block;
    }
  }
  if (seats_.back().level == blocks_.top()) {
    std::vector<Rank> leaders;
    for (std::uint32_t block = 0; block < blocks_.count(blocks_.top()); ++block) {
      leaders.push_back(blocks_.leader(blocks_.top(), block));
    }
    top_.emplace(messages, std::move(leaders), comm);
  }
}

Request SummaryExchange::exchange(SummaryRow mine, const SummaryRules& rules, Choice choice) {
  ++counts_.exchanges;
  row_bytes_ = rules.row_bytes();
  expect(mine.size() == row_bytes_ && row_bytes_ % 8 == 0, "a row has the size that the rules state");
  seats_.front().row.assign(mine.begin(), mine.end());
  return run(rules, choice);
}

SummaryExchange::Seat* SummaryExchange::seat_of(std::size_t level, std::uint32_t block) {
  const auto seat = std::ranges::find(seats_, level, &Seat::level);
  return seat != seats_.end() && seat->block == block ? &*seat : nullptr;
}

comm::Address SummaryExchange::address(Rank rank, std::uint32_t kind, std::size_t level) const {
  return {rank, Tag{first_tag + static_cast<std::uint32_t>(level) * kinds + kind}, comm_};
}

void SummaryExchange::send(const comm::Address& to, std::span<const std::byte> data) {
  sends_.push_back(endpoint_.send(to, data));
  ++counts_.messages;
  counts_.bytes += data.size();
}

AsyncOperation SummaryExchange::run(const SummaryRules& rules, Choice choice) {
  for (Seat& seat : seats_) {
    if (seat.level > 0) {
      Request collected = collect(seat, rules);
      co_await collected;
    }
    if (seat.level < blocks_.top()) {
      const std::uint32_t parent = blocks_.parent(seat.level, seat.block);
      if (seat_of(seat.level + 1, parent) == nullptr) {
        send(address(blocks_.leader(seat.level + 1, parent), to_parent, seat.level), seat.row);
      }
    }
  }
  for (auto seat = seats_.rbegin(); seat != seats_.rend(); ++seat) {
    Request viewed = seat->level == blocks_.top() ? gather_top(*seat, rules, choice) : take_view(*seat);
    co_await viewed;
    if (seat->level > 0) {
      Request exchanged = exchange_children(*seat);
      co_await exchanged;
      if (choice == Choice::made) {
        select_for_children(*seat, rules);
      }
      send_to_children(*seat);
    }
  }
  for (Request& sent : sends_) {
    co_await sent;
  }
  sends_.clear();
  const Seat& own = seats_.front();
  near_ranks_.clear();
  for (const std::uint32_t rank : own.view.near) {
    near_ranks_.emplace_back(rank);
  }
  far_count_ = own.view.rows.size() / row_bytes_ - near_ranks_.size();
}

/// Receives the rows of the children, and joins them.
AsyncOperation SummaryExchange::collect(Seat& seat, const SummaryRules& rules) {
  const std::vector<std::uint32_t> children = blocks_.children(seat.level, seat.block);
  seat.children.resize(children.size() * row_bytes_);
  std::vector<std::pair<Rank, Request>> receives;
  for (std::size_t i = 0; i < children.size(); ++i) {
    const std::span<std::byte> to = std::span{seat.children}.subspan(i * row_bytes_, row_bytes_);
    if (const Seat* const own = seat_of(seat.level - 1, children[i])) {
      std::ranges::copy(own->row, to.begin());
      continue;
    }
    const Rank leader = blocks_.leader(seat.level - 1, children[i]);
    receives.emplace_back(leader, endpoint_.receive(address(leader, to_parent, seat.level - 1), to));
  }
  for (auto& [from, request] : receives) {
    const comm::Status status = co_await request;
    throw_unless_equal(status.bytes, row_bytes_, from);
  }
  seat.row.resize(row_bytes_);
  rules.join(seat.children, seat.row);
}

/// Gathers the rows of all blocks of the last level, and finds the near ones.
AsyncOperation SummaryExchange::gather_top(Seat& seat, const SummaryRules& rules, Choice choice) {
  const std::uint32_t count = blocks_.count(seat.level);
  seat.pool.resize(count * row_bytes_);
  Request gathered = comm::all_gather(*top_, SummaryRow{seat.row}, std::span{seat.pool});
  co_await gathered;
  if (choice == Choice::made) {
    select_top(seat, rules);
  }
  counts_.rows += seat.of_block.places.size();
  seat.view.near = seat.of_block.near;
  seat.view.rows.clear();
  append_rows(seat.pool, seat.of_block.places, seat.view.rows);
}

void SummaryExchange::select_top(Seat& seat, const SummaryRules& rules) {
  const std::uint32_t count = blocks_.count(seat.level);
  std::vector<std::uint8_t> are_near(count);
  rules.find_near(seat.row, seat.pool, are_near);
  counts_.tests += count;
  if (seat.level > 0) {
    are_near[seat.block] = 1;
  }
  seat.of_block = {};
  std::vector<std::uint32_t> far;
  for (std::uint32_t block = 0; block < count; ++block) {
    if (seat.level == 0 && block == seat.block) {
      continue;
    }
    if (are_near[block] != 0) {
      seat.of_block.near.push_back(block);
    } else if (options_.keeps_far) {
      far.push_back(block);
    }
  }
  seat.of_block.places = seat.of_block.near;
  seat.of_block.places.insert(seat.of_block.places.end(), far.begin(), far.end());
}

/// Receives the view of a block from its parent's leader.
AsyncOperation SummaryExchange::take_view(Seat& seat) {
  const std::uint32_t parent = blocks_.parent(seat.level, seat.block);
  const Rank leader = blocks_.leader(seat.level + 1, parent);
  if (seat_of(seat.level + 1, parent) == nullptr) {  // else that seat has written it
    Request received = endpoint_.receive(address(leader, to_child, seat.level), seat.from_parent);
    co_await received;
  }
  read_view(seat, leader);
}

void SummaryExchange::read_view(Seat& seat, Rank from) {
  ViewHeader header;
  const Bytes& message = seat.from_parent;
  if (message.size() >= sizeof header) {
    std::memcpy(&header, message.data(), sizeof header);
  }
  const std::size_t begin = rows_begin(header);
  throw_unless_equal(message.size(), begin + header.row_count * row_bytes_, from);
  seat.view.near.resize(header.near_count);
  if (header.near_count > 0) {
    std::memcpy(seat.view.near.data(), message.data() + sizeof header, header.near_count * sizeof(std::uint32_t));
  }
  if (header.near_count > header.row_count ||
      std::ranges::any_of(seat.view.near, [&](std::uint32_t block) { return block >= blocks_.count(seat.level); })) {
    throw Error{ErrorCode::network, fmt::format("rank {} sent summaries of blocks that are not", from.value()), from};
  }
  seat.view.rows.assign(message.begin() + static_cast<std::ptrdiff_t>(begin), message.end());
  counts_.rows += header.row_count;
}

/// Fills the pool: the rows of the view, then those of the children of each near block.
AsyncOperation SummaryExchange::exchange_children(Seat& seat) {
  std::size_t end = seat.view.rows.size();
  for (const std::uint32_t block : seat.view.near) {
    end += blocks_.child_count(seat.level, block) * row_bytes_;
  }
  seat.pool.resize(end);
  std::ranges::copy(seat.view.rows, seat.pool.begin());
  std::size_t begin = seat.view.rows.size();
  counts_.rows += (end - begin) / row_bytes_;
  std::vector<std::pair<Rank, Request>> receives;
  std::vector<std::size_t> sizes;
  for (const std::uint32_t block : seat.view.near) {
    const std::size_t bytes = blocks_.child_count(seat.level, block) * row_bytes_;
    const std::span<std::byte> to = std::span{seat.pool}.subspan(begin, bytes);
    begin += bytes;
    if (block == seat.block) {
      std::ranges::copy(seat.children, to.begin());
      continue;
    }
    const comm::Address leader = address(blocks_.leader(seat.level, block), between_blocks, seat.level);
    receives.emplace_back(leader.rank, endpoint_.receive(leader, to));
    sizes.push_back(bytes);
    send(leader, seat.children);
  }
  for (std::size_t i = 0; i < receives.size(); ++i) {
    const comm::Status status = co_await receives[i].second;
    throw_unless_equal(status.bytes, sizes[i], receives[i].first);
  }
}

void SummaryExchange::select_for_children(Seat& seat, const SummaryRules& rules) {
  seat.of_children.clear();
  for (const std::uint32_t child : blocks_.children(seat.level, seat.block)) {
    const std::size_t number = seat.of_children.size();
    seat.of_children.push_back(select(seat, number, child, rules));
  }
}

/// Chooses the rows for one child. Far blocks of the parent are far for the child. A near one is opened, unless none of
/// its children is near to the child, and its summary suffices.
SummaryExchange::Selection SummaryExchange::select(const Seat& seat,
                                                   std::size_t number,
                                                   std::uint32_t child,
                                                   const SummaryRules& rules) {
  const auto near_count = static_cast<std::uint32_t>(seat.view.near.size());
  const SummaryRow mine = row(seat.children, number);
  Selection chosen;
  std::vector<std::uint32_t> far;
  auto place = static_cast<std::uint32_t>(seat.view.rows.size() / row_bytes_);
  for (std::uint32_t i = near_count; i < place; ++i) {
    far.push_back(i);
  }
  std::vector<std::uint8_t> are_near;
  for (std::uint32_t i = 0; i < near_count; ++i) {
    const std::vector<std::uint32_t> theirs = blocks_.children(seat.level, seat.view.near[i]);
    are_near.assign(theirs.size(), 0);
    rules.find_near(mine, SummaryRow{seat.pool}.subspan(place * row_bytes_, theirs.size() * row_bytes_), are_near);
    counts_.tests += theirs.size();
    const bool is_own = seat.view.near[i] == seat.block;
    const bool opens =
        is_own || std::ranges::find(are_near, 1) != are_near.end() || !rules.suffices(row(seat.view.rows, i), mine);
    if (!opens) {
      far.push_back(i);
    }
    for (std::size_t k = 0; k < theirs.size(); ++k, ++place) {
      const bool is_self = theirs[k] == child;
      if (is_self ? seat.level > 1 : are_near[k] != 0) {  // a rank is not near to itself
        chosen.near.push_back(theirs[k]);
        chosen.places.push_back(place);
      } else if (opens && !is_self) {
        far.push_back(place);
      }
    }
  }
  if (options_.keeps_far) {
    chosen.places.insert(chosen.places.end(), far.begin(), far.end());
  }
  return chosen;
}

void SummaryExchange::append_rows(const Bytes& pool, std::span<const std::uint32_t> places, Bytes& to) const {
  to.reserve(to.size() + places.size() * row_bytes_);
  for (const std::uint32_t place : places) {
    const SummaryRow chosen = row(pool, place);
    to.insert(to.end(), chosen.begin(), chosen.end());
  }
}

void SummaryExchange::send_to_children(Seat& seat) {
  const std::vector<std::uint32_t> children = blocks_.children(seat.level, seat.block);
  seat.to_children.resize(children.size());
  for (std::size_t i = 0; i < children.size(); ++i) {
    const Selection& selection = seat.of_children[i];
    const ViewHeader header{static_cast<std::uint32_t>(selection.near.size()),
                            static_cast<std::uint32_t>(selection.places.size())};
    Seat* const own = seat_of(seat.level - 1, children[i]);
    Bytes& message = own != nullptr ? own->from_parent : seat.to_children[i];
    message.assign(rows_begin(header), std::byte{0});
    std::memcpy(message.data(), &header, sizeof header);
    const auto numbers = std::as_bytes(std::span{selection.near});
    std::ranges::copy(numbers, message.begin() + sizeof header);
    append_rows(seat.pool, selection.places, message);
    if (own == nullptr) {
      send(address(blocks_.leader(seat.level - 1, children[i]), to_child, seat.level - 1), message);
    }
  }
}

}  // namespace plait::particles
