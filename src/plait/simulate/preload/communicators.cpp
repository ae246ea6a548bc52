// SPDX-License-Identifier: Apache-2.0
#include "plait/simulate/preload/communicators.hpp"

#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/simulate/preload/handles.hpp"

namespace plait::simulate {
namespace {

std::vector<Rank> all_ranks(std::uint32_t count) {
  std::vector<Rank> ranks;
  for (std::uint32_t rank = 0; rank < count; ++rank) {
    ranks.emplace_back(rank);
  }
  return ranks;
}

}  // namespace

SimulatedCommunicator::SimulatedCommunicator(std::uint32_t number, std::vector<Rank> members)
    : number_{number}, members_{std::move(members)}, operations_(members_.size()) {
  for (std::uint32_t rank = 0; rank < size(); ++rank) {
    ranks_.emplace(members_[rank].value(), rank);
  }
}

Rank SimulatedCommunicator::member(int rank) const {
  if (rank < 0 || static_cast<std::uint32_t>(rank) >= size()) {
    throw Error{ErrorCode::bad_argument, fmt::format("there is no rank {} in a communicator of {}", rank, size())};
  }
  return members_[static_cast<std::size_t>(rank)];
}

std::optional<std::uint32_t> SimulatedCommunicator::rank_of(Rank member) const {
  const auto found = ranks_.find(member.value());
  return found != ranks_.end() ? std::optional{found->second} : std::nullopt;
}

SimulatedCommunicators::SimulatedCommunicators(std::uint32_t world_size) : world_{count_++, all_ranks(world_size)} {}

SimulatedCommunicator& SimulatedCommunicators::find(MPI_Comm handle, Rank caller) {
  if (handle == MPI_COMM_WORLD) {
    return world_;
  }
  if (handle == MPI_COMM_SELF) {
    auto found = alone_.find(caller);
    if (found == alone_.end()) {
      found = alone_.try_emplace(caller, count_++, std::vector{caller}).first;
    }
    return found->second;
  }
  const auto found = created_.find(to_number(handle));
  require(handle != MPI_COMM_NULL && found != created_.end() && found->second->rank_of(caller),
          "the communicator is null, was freed, or is one without this rank");
  return *found->second;
}

MPI_Comm SimulatedCommunicators::create(std::uint32_t parent,
                                        std::uint32_t operation,
                                        std::uint32_t part,
                                        const std::vector<Rank>& members) {
  const Origin origin{parent, operation, part};
  auto [expected, is_first] = expected_.try_emplace(origin, 0, members.size());
  if (is_first) {
    expected->second.first = count_++;
    created_.emplace(expected->second.first, std::make_unique<SimulatedCommunicator>(expected->second.first, members));
  }
  const std::uint32_t number = expected->second.first;
  if (--expected->second.second == 0) {
    expected_.erase(expected);
  }
  return to_handle<MPI_Comm>(number);
}

void SimulatedCommunicators::free(MPI_Comm handle, Rank caller) {
  require(handle != MPI_COMM_WORLD, "MPI_COMM_WORLD cannot be freed");
  if (handle != MPI_COMM_SELF && find(handle, caller).release()) {
    created_.erase(to_number(handle));
  }
}

MPI_Group SimulatedCommunicators::create_group(std::vector<Rank> members) {
  groups_.emplace(++group_count_, std::move(members));
  return to_handle<MPI_Group>(group_count_);
}

const std::vector<Rank>& SimulatedCommunicators::group(MPI_Group handle) const {
  static const std::vector<Rank> none;
  if (handle == MPI_GROUP_EMPTY) {
    return none;
  }
  const auto found = groups_.find(to_number(handle));
  require(found != groups_.end(), "the group is null or was freed");
  return found->second;
}

void SimulatedCommunicators::free_group(MPI_Group handle) {
  if (handle != MPI_GROUP_EMPTY) {
    (void)group(handle);
    groups_.erase(to_number(handle));
  }
}

}  // namespace plait::simulate
