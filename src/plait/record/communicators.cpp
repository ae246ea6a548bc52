// SPDX-License-Identifier: Apache-2.0
#include "plait/record/communicators.hpp"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <utility>

namespace plait::record {
namespace {

constexpr std::uint32_t upper_half = 0x8000'0000;
constexpr std::uint32_t numbers_end = 0xffff'fff0;  ///< From here on, numbers belong to the runtime.

std::uint32_t mixed(std::uint32_t seed, std::uint32_t value) noexcept {
  std::uint64_t mix = (std::uint64_t{seed} << 32U | value) * 0x9e37'79b9'7f4a'7c15;
  mix ^= mix >> 29U;
  return static_cast<std::uint32_t>((mix * 0xbf58'476d'1ce4'e5b9) >> 32U);
}

std::uint32_t in_upper_half(std::uint32_t hash) noexcept {
  return upper_half + hash % (numbers_end - upper_half);
}

}  // namespace

KnownCommunicators::KnownCommunicators(const Mpi& mpi, trace::ThreadRecorder& recorder) : mpi_{mpi} {
  int size = 0;
  int rank = 0;
  mpi_.comm_size(mpi_.world, &size);
  mpi_.comm_rank(mpi_.world, &rank);
  mpi_.comm_group(mpi_.world, &run_group_);
  run_size_ = static_cast<std::uint32_t>(size);
  run_rank_ = static_cast<std::uint32_t>(rank);

  auto world = std::make_shared<Communicator>();
  world->self = run_rank_;
  world->local_size = run_size_;
  table_.emplace(key_of(mpi_.world), std::move(world));
  auto self = std::make_shared<Communicator>();
  self->number = next_number();
  self->local_size = 1;
  self->members = {run_rank_};
  insert(mpi_.self, std::move(self), recorder);
}

Communicator& KnownCommunicators::find(MPI_Comm handle) {
  {
    const std::lock_guard lock{lock_};
    if (const auto known = table_.find(key_of(handle)); known != table_.end()) {
      return *known->second;
    }
  }
  std::shared_ptr<Communicator> learned = describe(handle);
  learned->number = in_upper_half(std::accumulate(learned->members.begin(), learned->members.end(), 1U, mixed));
  const std::lock_guard lock{lock_};
  return *table_.emplace(key_of(handle), std::move(learned)).first->second;
}

std::shared_ptr<Communicator> KnownCommunicators::share(MPI_Comm handle) {
  const std::lock_guard lock{lock_};
  const auto known = table_.find(key_of(handle));
  return known != table_.end() ? known->second : nullptr;
}

void KnownCommunicators::made(MPI_Comm handle, trace::ThreadRecorder& recorder) {
  if (handle == mpi_.comm_null) {
    return;
  }
  std::shared_ptr<Communicator> communicator = describe(handle);
  communicator->number = agreed_number(handle, *communicator);
  insert(handle, std::move(communicator), recorder);
}

void KnownCommunicators::duplicating(MPI_Comm parent, MPI_Comm handle, trace::ThreadRecorder& recorder) {
  Communicator& original = find(parent);
  auto copy = std::make_shared<Communicator>();
  // Counted as a collective, so that all members number the copies of a communicator alike.
  copy->number = in_upper_half(mixed(mixed(2, original.number), original.collective_count.fetch_add(1)));
  copy->self = original.self;
  copy->local_size = original.local_size;
  copy->is_inter = original.is_inter;
  copy->members = original.members;
  if (copy->members.empty()) {
    copy->members.resize(run_size_);
    std::iota(copy->members.begin(), copy->members.end(), 0U);
  }
  insert(handle, std::move(copy), recorder);
}

void KnownCommunicators::freeing(MPI_Comm handle) noexcept {
  const std::lock_guard lock{lock_};
  table_.erase(key_of(handle));
  epoch_.fetch_add(1, std::memory_order_release);  // with acquire in epoch()
}

std::shared_ptr<Communicator> KnownCommunicators::describe(MPI_Comm handle) const {
  auto communicator = std::make_shared<Communicator>();
  int is_inter = 0;
  int size = 0;
  int rank = 0;
  mpi_.comm_test_inter(handle, &is_inter);
  mpi_.comm_size(handle, &size);
  mpi_.comm_rank(handle, &rank);
  communicator->is_inter = is_inter != 0;
  communicator->local_size = static_cast<std::uint32_t>(size);
  communicator->self = static_cast<std::uint32_t>(rank);
  MPI_Group group;
  mpi_.comm_group(handle, &group);
  communicator->members = ranks_of(group);
  mpi_.group_free(&group);
  if (communicator->is_inter) {
    mpi_.comm_remote_group(handle, &group);
    const std::vector<std::uint32_t> others = ranks_of(group);
    communicator->members.insert(communicator->members.end(), others.begin(), others.end());
    mpi_.group_free(&group);
  }
  return communicator;
}

std::vector<std::uint32_t> KnownCommunicators::ranks_of(MPI_Group group) const {
  int size = 0;
  mpi_.group_size(group, &size);
  std::vector<int> own(static_cast<std::size_t>(size));
  std::vector<int> translated(own.size(), MPI_UNDEFINED);
  std::iota(own.begin(), own.end(), 0);
  mpi_.group_translate_ranks(group, size, own.data(), run_group_, translated.data());
  std::vector<std::uint32_t> ranks(own.size(), trace::nothing);
  std::ranges::transform(translated, ranks.begin(), [](int rank) {
    return rank == MPI_UNDEFINED ? trace::nothing : static_cast<std::uint32_t>(rank);
  });
  return ranks;
}

std::uint32_t KnownCommunicators::next_number() noexcept {
  const std::uint32_t given = numbers_given_.fetch_add(1, std::memory_order_relaxed);  // a count by itself
  // 0 is the world; rank r of n takes r + 1, r + 1 + n, r + 1 + 2n, ...
  return static_cast<std::uint32_t>((run_rank_ + 1 + std::uint64_t{given} * run_size_) % upper_half);
}

std::uint32_t KnownCommunicators::agreed_number(MPI_Comm handle, const Communicator& communicator) {
  std::uint32_t number = communicator.self == 0 ? next_number() : 0;
  if (!communicator.is_inter) {
    if (communicator.local_size > 1) {
      mpi_.bcast(&number, 1, mpi_.uint32, 0, handle);
    }
    return number;
  }
  // A reduction on an inter-communicator gives each group the other's value: the first exchanges the numbers.
  std::uint32_t theirs = 0;
  std::uint32_t ours = 0;
  mpi_.allreduce(&number, &theirs, 1, mpi_.uint32, mpi_.max, handle);
  mpi_.allreduce(&theirs, &ours, 1, mpi_.uint32, mpi_.max, handle);
  return std::min(theirs, ours);
}

void KnownCommunicators::insert(MPI_Comm handle,
                                std::shared_ptr<Communicator> communicator,
                                trace::ThreadRecorder& recorder) {
  recorder.communicator({.communicator = communicator->number, .members = communicator->members});
  const std::lock_guard lock{lock_};
  table_.insert_or_assign(key_of(handle), std::move(communicator));
  epoch_.fetch_add(1, std::memory_order_release);  // with acquire in epoch()
}

}  // namespace plait::record
