// SPDX-License-Identifier: Apache-2.0
#include "plait/fft/mpi/members.hpp"

#include <utility>

#include "plait/comm/endpoint.hpp"

namespace plait::fft::mpi {

namespace {

MPI_Comm communicator_of(MPI_Comm world, const comm::Group& group) {
  constexpr int tag = 6213;  // any: groups are created one by one
  std::vector<int> ranks;
  for (std::size_t member = 0; member < group.size(); ++member) {
    ranks.push_back(static_cast<int>(group.rank(member).value()));
  }
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group those = MPI_GROUP_NULL;
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm_group(world, &all);
  MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &those);
  MPI_Comm_create_group(world, those, tag, &made);
  MPI_Group_free(&those);
  MPI_Group_free(&all);
  return made;
}

bool share_a_node(MPI_Comm comm) {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int on_node = 0;
  int size = 0;
  MPI_Comm_size(node, &on_node);
  MPI_Comm_size(comm, &size);
  MPI_Comm_free(&node);
  int is_shared = on_node == size ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &is_shared, 1, MPI_INT, MPI_MIN, comm);
  return is_shared != 0;
}

}  // namespace

Members::Members(MPI_Comm world, comm::Group group) : world_{world}, group_{std::move(group)} {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  must_keep_out_ = level < MPI_THREAD_MULTIPLE;
  const std::unique_lock<SpinLock> held = calls();
  comm_ = communicator_of(world, group_);
  is_on_one_node_ = share_a_node(comm_);
}

Members::~Members() {
  const std::unique_lock<SpinLock> held = last_calls();
  MPI_Comm_free(&comm_);
}

std::unique_lock<SpinLock> Members::calls() const {
  group_.endpoint().flush();
  return last_calls();
}

std::unique_lock<SpinLock> Members::last_calls() const {
  return must_keep_out_ ? group_.endpoint().hold() : std::unique_lock<SpinLock>{};
}

std::shared_ptr<const Members> Communicators::of(const comm::Group& group) {
  std::vector<Rank> ranks;
  for (std::size_t member = 0; member < group.size(); ++member) {
    ranks.push_back(group.rank(member));
  }
  std::weak_ptr<const Members>& known = known_[ranks];
  std::shared_ptr<const Members> members = known.lock();
  if (members == nullptr) {
    members = std::make_shared<const Members>(world_, group);
    known = members;
  }
  return members;
}

}  // namespace plait::fft::mpi
