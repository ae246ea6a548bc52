// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/detail/larger_collectives.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "plait/replay/change.hpp"
#include "plait/replay/detail/places.hpp"

namespace plait::replay::detail {

LargerCollectives::LargerCollectives(const Schedule& schedule,
                                     const RankGrid& grid,
                                     const ReplicaLayout& layout,
                                     double volume)
    : schedule_{schedule}, grid_{grid}, layout_{layout}, volume_{volume} {
  read_communicators();
}

void LargerCollectives::read_communicators() {
  std::set<std::uint32_t> used{0};
  for_each_operation(schedule_, [&](const Place& /*place*/, const Operation& operation) {
    if (operation.action == Action::collective) {
      used.insert(operation.communicator);
    }
  });
  std::map<std::pair<std::vector<bool>, std::vector<std::uint32_t>>, std::uint32_t> counts;
  for (const std::uint32_t communicator : used) {
    Recorded recorded{.members = members_of(schedule_, communicator), .block = {}};
    recorded.block = block_of(grid_, recorded.members);
    recorded.grows = recorded.block || recorded.members.size() == schedule_.ranks.size();
    if (recorded.block) {
      recorded.ordinal = counts[{recorded.block->is_whole, recorded.block->place}]++;
    }
    recorded_.emplace(communicator, std::move(recorded));
  }
}

const LargerCollectives::Around& LargerCollectives::around(std::uint32_t communicator, std::uint32_t rank) {
  if (rank != around_rank_) {
    std::erase_if(around_, [](const auto& known) { return known.first != 0; });
    around_rank_ = rank;
  }
  const auto [known, is_new] = around_.try_emplace(communicator);
  if (is_new) {
    const Recorded& recorded = recorded_.at(communicator);
    known->second.members = members_around(recorded, rank);
    known->second.number = number_of(recorded, communicator, known->second.members);
  }
  return known->second;
}

/// Its members as ranks of the larger exchange, where `rank` is one of them.
std::vector<std::uint32_t> LargerCollectives::members_around(const Recorded& recorded, std::uint32_t rank) const {
  if (recorded.block) {
    return layout_.block_around(*recorded.block, rank);
  }
  std::vector<std::uint32_t> members;
  if (recorded.grows) {  // all, of all-to-all
    for (std::uint32_t member = 0; member < layout_.rank_count(); ++member) {
      members.push_back(member);
    }
    return members;
  }
  const std::uint32_t copy = layout_.copy_of(rank);
  for (const std::uint32_t member : recorded.members) {
    members.push_back(layout_.rank_in_copy(copy, member));
  }
  return members;
}

std::uint32_t LargerCollectives::number_of(const Recorded& recorded,
                                           std::uint32_t communicator,
                                           const std::vector<std::uint32_t>& members) {
  if (communicator == 0) {
    return 0;
  }
  // Recorded communicators of other lines may continue as one.
  const std::uint32_t kind = recorded.block ? recorded.ordinal : trace::nothing - communicator;
  const auto [known, is_new] = numbers_.try_emplace({kind, members}, static_cast<std::uint32_t>(numbers_.size() + 1));
  if (is_new) {
    communicators_.emplace(known->second, members);
  }
  return known->second;
}

void LargerCollectives::add(Operation operation, const Stream& recorded, std::uint32_t rank, Stream& made) {
  const Recorded& known = recorded_.at(operation.communicator);
  if (!known.grows && !layout_.has_whole_copies()) {
    ++left_out_;
    return;
  }
  in_copies_ += known.grows || layout_.replica_count() == 1 ? 0 : 1;
  const auto& [number, members] = around(operation.communicator, rank);
  if (operation.peer != trace::nothing) {
    const auto root =
        std::ranges::find_if(members, [&](std::uint32_t member) { return layout_.model_of(member) == operation.peer; });
    operation.peer = root != members.end() ? *root : members.front();
  }
  size(operation, recorded, known, members, made);
  operation.communicator = number;
  made.operations.push_back(operation);
}

void LargerCollectives::size(Operation& operation,
                             const Stream& stream,
                             const Recorded& recorded,
                             const std::vector<std::uint32_t>& members,
                             Stream& made) const {
  const double growth = static_cast<double>(members.size()) / static_cast<double>(recorded.members.size());
  const bool is_all_to_all = operation.collective == Collective::all_to_all;
  if (operation.collective == Collective::all_gather || operation.collective == Collective::gather) {
    operation.bytes_got = scaled_bytes(operation.bytes_got, growth);
  } else if (operation.collective == Collective::scatter) {
    operation.bytes = scaled_bytes(operation.bytes, growth);
  } else if (is_all_to_all) {
    operation.bytes = scaled_bytes(operation.bytes, volume_);
    operation.bytes_got = scaled_bytes(operation.bytes_got, volume_);
  }
  const auto first = static_cast<std::uint32_t>(made.shares.size());
  if (operation.count != recorded.members.size() || operation.first + operation.count > stream.shares.size()) {
    operation.first = 0;
    operation.count = 0;
    return;
  }
  std::map<std::uint32_t, std::pair<std::uint64_t, std::uint32_t>> share_of;  // bytes and members, by model
  for (std::size_t i = 0; i < recorded.members.size(); ++i) {
    share_of[recorded.members[i]].first = stream.shares[operation.first + i];
  }
  for (const std::uint32_t member : members) {
    ++share_of[layout_.model_of(member)].second;
  }
  for (const std::uint32_t member : members) {
    const auto& [bytes, count] = share_of[layout_.model_of(member)];
    made.shares.push_back(is_all_to_all ? scaled_bytes(bytes, volume_ / count) : bytes);
  }
  operation.first = first;
  operation.count = static_cast<std::uint32_t>(members.size());
}

std::vector<std::string> LargerCollectives::notices() const {
  std::vector<std::string> found;
  if (left_out_ > 0) {
    found.push_back(
        fmt::format("{} calls of collectives are left out: their communicators are no line or plane of the grid; "
                    "with --grid and other sizes they may be",
                    left_out_));
  }
  if (in_copies_ > 0) {
    found.push_back(fmt::format(
        "{} calls of collectives stay within their copy: their communicators are no line or plane of the grid",
        in_copies_));
  }
  return found;
}

}  // namespace plait::replay::detail
