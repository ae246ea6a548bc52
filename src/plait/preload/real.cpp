// SPDX-License-Identifier: Apache-2.0
#include "plait/preload/real.hpp"

#include <algorithm>
#include <dlfcn.h>
#include <link.h>
#include <string>
#include <string_view>
#include <vector>

#include <mpi.h>  // which one it is

namespace plait::preload {
namespace {

/// MPIs that differ in what a program passes to them.
enum class Abi { open_mpi, mpich, standard };

#if defined(OPEN_MPI)
constexpr Abi own = Abi::open_mpi;
#elif defined(MPI_ABI_VERSION)
constexpr Abi own = Abi::standard;
#else
constexpr Abi own = Abi::mpich;
#endif
/// A symbol of Open MPI only.
constexpr const char* open_mpi_mark = "ompi_mpi_comm_world";
/// MPICH's and others' with the handles of MPI 5.
constexpr const char* standard_abi_library = "libmpi_abi";

/// The libraries in this process whose names begin with libmpi.
std::vector<std::string> mpi_libraries() {
  std::vector<std::string> paths;
  ::dl_iterate_phdr(
      [](dl_phdr_info* library, std::size_t, void* found) {
        const std::string_view path = library->dlpi_name;
        if (path.substr(path.rfind('/') + 1).starts_with("libmpi")) {
          static_cast<std::vector<std::string>*>(found)->emplace_back(path);
        }
        return 0;
      },
      &paths);
  return paths;
}

}  // namespace

void* find_real(const char* name) noexcept {
  if (void* next = ::dlsym(RTLD_NEXT, name)) {
    return next;
  }
  for (const std::string& path : mpi_libraries()) {
    void* library = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    void* found = library != nullptr ? ::dlsym(library, name) : nullptr;
    if (library != nullptr) {
      ::dlclose(library);  // only this reference: the program keeps it loaded
    }
    if (found != nullptr) {
      return found;
    }
  }
  return nullptr;
}

const char* compiled_for() noexcept {
  return own == Abi::open_mpi ? "Open MPI" : own == Abi::mpich ? "MPICH" : "the standard ABI of MPI 5";
}

bool has_other_mpi() noexcept {
  const auto has_standard_abi = [](const std::string& path) {
    return path.find(standard_abi_library, path.rfind('/') + 1) != std::string::npos;
  };
  const Abi found = std::ranges::any_of(mpi_libraries(), has_standard_abi) ? Abi::standard
                    : find_real(open_mpi_mark) != nullptr                  ? Abi::open_mpi
                                                                           : Abi::mpich;
  return found != own;
}

}  // namespace plait::preload
