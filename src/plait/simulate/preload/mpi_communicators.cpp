// SPDX-License-Identifier: Apache-2.0
// MPI_Comm_* and MPI_Group_* of simulated ranks.
#include <algorithm>
#include <cstring>
#include <unistd.h>

#include "plait/base/error.hpp"
#include "plait/simulate/preload/mpi_call.hpp"

namespace plait::simulate {
namespace {

struct Choice {
  int color = 0;
  int key = 0;
};

Bytes to_bytes(const Choice& choice) {
  Bytes bytes(sizeof choice);
  std::memcpy(bytes.data(), &choice, sizeof choice);
  return bytes;
}

Choice from_bytes(const Bytes& bytes) {
  Choice choice;
  std::memcpy(&choice, bytes.data(), sizeof choice);
  return choice;
}

MPI_Comm split(const MpiCall& call, MPI_Comm parent_handle, const Choice& mine) {
  SimulatedCommunicator& parent = call.communicator(parent_handle);
  SimulatedCollective collective = call.collective(parent_handle);
  const Payload all = collective.all_gather(to_bytes(mine));
  if (mine.color == MPI_UNDEFINED) {
    return MPI_COMM_NULL;
  }
  std::vector<std::pair<int, std::uint32_t>> chosen;  // key and rank
  for (std::uint32_t rank = 0; rank < parent.size(); ++rank) {
    if (const Choice other = from_bytes((*all)[rank]); other.color == mine.color) {
      chosen.emplace_back(other.key, rank);
    }
  }
  std::ranges::sort(chosen);
  std::vector<Rank> members;
  for (const auto& [key, rank] : chosen) {
    members.push_back(parent.members()[rank]);
  }
  return call.communicators().create(
      parent.number(), collective.number(), static_cast<std::uint32_t>(mine.color), members);
}

MPI_Comm duplicate(const MpiCall& call, MPI_Comm parent_handle) {
  const SimulatedCommunicator& parent = call.communicator(parent_handle);
  SimulatedCollective collective = call.collective(parent_handle);
  collective.barrier();
  return call.communicators().create(parent.number(), collective.number(), 0, parent.members());
}

/// SimulatedCollective over the members of `group` only: they are counted by a number that other communicators do not
/// use.
MPI_Comm create_by_group(const MpiCall& call, MPI_Comm parent_handle, MPI_Group group, int tag) {
  const SimulatedCommunicator& parent = call.communicator(parent_handle);
  const std::vector<Rank> members = call.communicators().group(group);
  if (std::ranges::find(members, call.self) == members.end()) {
    return MPI_COMM_NULL;
  }
  const std::uint32_t first = members.front().value();
  return call.communicators().create(parent.number(), ~static_cast<std::uint32_t>(tag), first, members);
}

void expect_predefined(MPI_Comm communicator) {
  require(communicator == MPI_COMM_WORLD || communicator == MPI_COMM_SELF,
          "simulated communicators other than MPI_COMM_WORLD and MPI_COMM_SELF have no attributes");
}

std::vector<Rank> chosen_of(const std::vector<Rank>& all, int count, const int* ranks) {
  std::vector<Rank> chosen;
  for (int i = 0; i < count; ++i) {
    require(ranks[i] >= 0 && static_cast<std::size_t>(ranks[i]) < all.size(), "a rank is not one of the group");
    chosen.push_back(all[static_cast<std::size_t>(ranks[i])]);
  }
  return chosen;
}

}  // namespace
}  // namespace plait::simulate

using plait::simulate::MpiCall;
using plait::simulate::run_call;

// NOLINTBEGIN(readability-identifier-naming): names of the MPI standard
extern "C" {

[[gnu::visibility("default")]] int MPI_Comm_rank(MPI_Comm communicator, int* rank) {
  return run_call(__func__, [&](const MpiCall& call) {
    *rank = static_cast<int>(call.communicator(communicator).rank_of(call.self).value());
  });
}

[[gnu::visibility("default")]] int MPI_Comm_size(MPI_Comm communicator, int* size) {
  return run_call(__func__,
                  [&](const MpiCall& call) { *size = static_cast<int>(call.communicator(communicator).size()); });
}

[[gnu::visibility("default")]] int MPI_Comm_dup(MPI_Comm communicator, MPI_Comm* created) {
  return run_call(__func__, [&](const MpiCall& call) { *created = plait::simulate::duplicate(call, communicator); });
}

[[gnu::visibility("default")]] int MPI_Comm_dup_with_info(MPI_Comm communicator, MPI_Info /*info*/, MPI_Comm* created) {
  return run_call(__func__, [&](const MpiCall& call) { *created = plait::simulate::duplicate(call, communicator); });
}

[[gnu::visibility("default")]] int MPI_Comm_split(MPI_Comm communicator, int color, int key, MPI_Comm* created) {
  return run_call(__func__,
                  [&](const MpiCall& call) { *created = plait::simulate::split(call, communicator, {color, key}); });
}

[[gnu::visibility("default")]] int MPI_Comm_split_type(
    MPI_Comm communicator, int type, int key, MPI_Info /*info*/, MPI_Comm* created) {
  return run_call(__func__, [&](const MpiCall& call) {
    plait::require(type == MPI_COMM_TYPE_SHARED || type == MPI_UNDEFINED,
                   "simulated communicators are split by shared memory only");
    const int host = static_cast<int>(call.simulation.host_of_caller());
    *created = plait::simulate::split(call, communicator, {type == MPI_UNDEFINED ? MPI_UNDEFINED : host, key});
  });
}

[[gnu::visibility("default")]] int MPI_Comm_create_group(MPI_Comm communicator,
                                                         MPI_Group group,
                                                         int tag,
                                                         MPI_Comm* created) {
  return run_call(__func__, [&](const MpiCall& call) {
    *created = plait::simulate::create_by_group(call, communicator, group, tag);
  });
}

[[gnu::visibility("default")]] int MPI_Comm_free(MPI_Comm* communicator) {
  return run_call(__func__, [&](const MpiCall& call) {
    call.communicators().free(*communicator, call.self);
    *communicator = MPI_COMM_NULL;
  });
}

[[gnu::visibility("default")]] int MPI_Comm_compare(MPI_Comm one, MPI_Comm other, int* result) {
  return run_call(__func__, [&](const MpiCall& call) {
    const std::vector<plait::Rank>& members = call.communicator(one).members();
    const std::vector<plait::Rank>& others = call.communicator(other).members();
    *result = one == other                                   ? MPI_IDENT
              : members == others                            ? MPI_CONGRUENT
              : std::ranges::is_permutation(members, others) ? MPI_SIMILAR
                                                             : MPI_UNEQUAL;
  });
}

[[gnu::visibility("default")]] int MPI_Comm_group(MPI_Comm communicator, MPI_Group* group) {
  return run_call(__func__, [&](const MpiCall& call) {
    *group = call.communicators().create_group(call.communicator(communicator).members());
  });
}

[[gnu::visibility("default")]] int MPI_Group_incl(MPI_Group group, int count, const int ranks[], MPI_Group* created) {
  return run_call(__func__, [&](const MpiCall& call) {
    const std::vector<plait::Rank>& all = call.communicators().group(group);
    *created = call.communicators().create_group(plait::simulate::chosen_of(all, count, ranks));
  });
}

[[gnu::visibility("default")]] int MPI_Group_excl(MPI_Group group, int count, const int ranks[], MPI_Group* created) {
  return run_call(__func__, [&](const MpiCall& call) {
    std::vector<plait::Rank> left = call.communicators().group(group);
    for (const plait::Rank rank : plait::simulate::chosen_of(left, count, ranks)) {
      std::erase(left, rank);
    }
    *created = call.communicators().create_group(std::move(left));
  });
}

[[gnu::visibility("default")]] int MPI_Group_size(MPI_Group group, int* size) {
  return run_call(__func__,
                  [&](const MpiCall& call) { *size = static_cast<int>(call.communicators().group(group).size()); });
}

[[gnu::visibility("default")]] int MPI_Group_free(MPI_Group* group) {
  return run_call(__func__, [&](const MpiCall& call) {
    call.communicators().free_group(*group);
    *group = MPI_GROUP_NULL;
  });
}

// Errors end the program, whatever handler it wants.
[[gnu::visibility("default")]] int MPI_Comm_set_errhandler(MPI_Comm communicator, MPI_Errhandler /*handler*/) {
  return run_call(__func__, [&](const MpiCall& call) { (void)call.communicator(communicator); });
}

[[gnu::visibility("default")]] int MPI_Comm_get_errhandler(MPI_Comm communicator, MPI_Errhandler* handler) {
  return run_call(__func__, [&](const MpiCall& call) {
    (void)call.communicator(communicator);
    *handler = MPI_ERRORS_ARE_FATAL;
  });
}

[[gnu::visibility("default")]] int MPI_Errhandler_free(MPI_Errhandler* handler) {
  *handler = MPI_ERRHANDLER_NULL;
  return MPI_SUCCESS;
}

// Attributes of the two predefined communicators are those of the library, once for all ranks.
[[gnu::visibility("default")]] int MPI_Comm_set_attr(MPI_Comm communicator, int key, void* value) {
  return run_call(__func__, [&](const MpiCall&) {
    plait::simulate::expect_predefined(communicator);
    PMPI_Comm_set_attr(communicator, key, value);
  });
}

[[gnu::visibility("default")]] int MPI_Comm_get_attr(MPI_Comm communicator, int key, void* value, int* flag) {
  return run_call(__func__, [&](const MpiCall&) {
    plait::simulate::expect_predefined(communicator);
    PMPI_Comm_get_attr(communicator, key, value, flag);
  });
}

[[gnu::visibility("default")]] int MPI_Comm_delete_attr(MPI_Comm communicator, int key) {
  return run_call(__func__, [&](const MpiCall&) {
    plait::simulate::expect_predefined(communicator);
    PMPI_Comm_delete_attr(communicator, key);
  });
}

[[gnu::visibility("default")]] int MPI_Get_processor_name(char* name, int* length) {
  return run_call(__func__, [&](const MpiCall&) {
    plait::require(gethostname(name, MPI_MAX_PROCESSOR_NAME) == 0, "the name of the host is too long");
    *length = static_cast<int>(std::strlen(name));
  });
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
