// SPDX-License-Identifier: Apache-2.0
// The table of variants. A new one is a file with its family and a line here; its maker is declared in family.hpp.
#include "plait/base/error.hpp"

#include "alltoall/family.hpp"

namespace alltoall {

std::unique_ptr<plait::net::Window> make_window(const Group& group, std::size_t bytes, plait::net::Window::Kind kind) {
  try {
    return std::make_unique<plait::net::Window>(group.world(), group.comm(), bytes, kind);
  } catch (const plait::Error& error) {
    throw Unavailable{error.what()};
  }
}

const std::vector<FamilyEntry>& families() {
  static const std::vector<FamilyEntry> table{
      {make_blocking, {{"MPI", "", "MPI_Alltoall"}}},
      {make_chunked_gets,
       {{"CoM", "", "chunks fetched one-sided in random order, a barrier before and after each"},
        {"CoM2", "", "the same with two buffers: copies the next chunk while it fetches, one barrier a chunk"}}},
      {make_nonblocking,
       {{"MIB", "", "MPI_Ialltoall, work after the wait"},
        {"MIN", "MIB", "MPI_Ialltoall, work before the wait"},
        {"MIT", "MIB", "as MIN, with MPI_Test between slices of the work"}}},
      {make_persistent,
       {{"PIB", "", "persistent all-to-all, work after the wait"},
        {"PIN", "PIB", "persistent all-to-all, work before the wait"}}},
      {make_gets,
       {{"CrB", "", "gets in random order from one large window, work after the closing synchronisation"},
        {"CrN", "CrB", "the same, work before the closing synchronisation"},
        {"CsB", "", "as CrB, in the order of CsN"},
        {"CsN", "CsB", "each get after a slice of the work"}}},
      {make_shared_window, {{"SHM", "", "copied by the processor through a window shared within the node"}}},
      {make_engine,
       {{"PLB", "", "plait's engine, work after the wait"},
        {"PLN", "PLB", "plait's engine, work before the wait; no call during the work"}}},
      {make_tasks, {{"PLT", "PLB", "plait's tasks: blocks in pieces, each computed on as it arrives"}}},
  };
  return table;
}

}  // namespace alltoall
