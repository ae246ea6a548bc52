// SPDX-License-Identifier: Apache-2.0
#include "plait/record/mpi_library.hpp"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

#include "plait/preload/real.hpp"

namespace plait::record {

using preload::find_real;

namespace {

#ifdef OPEN_MPI
/// Finds the address of an object of the library: the first of its name, as a program linked without -fPIC has a copy.
template <class Handle>
void find_object(Handle& handle, const char* name) {
  void* found = ::dlsym(RTLD_DEFAULT, name);
  handle = reinterpret_cast<Handle>(found != nullptr ? found : need_real(name));
}
#endif

}  // namespace

void* need_real(const char* name) noexcept {
  if (void* found = find_real(name)) {
    return found;
  }
  std::fprintf(stderr,
               "plait: the program calls %s, which no MPI library in this process has; run it without plait record\n",
               name + 1);
  std::abort();
}

void refuse_other_mpi() noexcept {
  if (preload::has_other_mpi()) {
    std::fprintf(stderr,
                 "plait: this recorder is for %s, and the program uses another MPI; choose with plait record --mpi\n",
                 preload::compiled_for());
    std::exit(1);
  }
}

Mpi::Mpi() {
#ifdef OPEN_MPI
  find_object(world, "ompi_mpi_comm_world");
  find_object(self, "ompi_mpi_comm_self");
  find_object(comm_null, "ompi_mpi_comm_null");
  find_object(request_null, "ompi_request_null");
  find_object(byte, "ompi_mpi_byte");
  find_object(uint32, "ompi_mpi_uint32_t");
  find_object(max, "ompi_mpi_op_max");
#else
  world = MPI_COMM_WORLD;
  self = MPI_COMM_SELF;
  comm_null = MPI_COMM_NULL;
  request_null = MPI_REQUEST_NULL;
  byte = MPI_BYTE;
  uint32 = MPI_UINT32_T;
  max = MPI_MAX;
#endif
}

std::uint64_t Mpi::bytes(MPI_Count count, MPI_Datatype type) const noexcept {
  if (count <= 0) {
    return 0;  // the type may be invalid then
  }
  MPI_Count size = 0;
  return datatype.size(type, &size) == MPI_SUCCESS && size > 0 ? static_cast<std::uint64_t>(count * size) : 0;
}

bool Mpi::has_gaps(MPI_Count count, MPI_Datatype type) const noexcept {
  if (count <= 0) {
    return false;
  }
  MPI_Count lower = 0;
  MPI_Count true_extent = 0;
  MPI_Count extent = 0;
  MPI_Count size = 0;
  return datatype.size(type, &size) == MPI_SUCCESS && datatype.true_extent(type, &lower, &true_extent) == MPI_SUCCESS &&
         datatype.extent(type, &lower, &extent) == MPI_SUCCESS &&
         (true_extent != size || (count > 1 && extent != size));
}

std::uint64_t Mpi::bytes_received(const MPI_Status& status) const noexcept {
  MPI_Count count = 0;
  return get_elements_x(&status, byte, &count) == MPI_SUCCESS && count > 0 ? static_cast<std::uint64_t>(count) : 0;
}

}  // namespace plait::record
