// SPDX-License-Identifier: Apache-2.0
#include "plait/net/mpi/library.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>
#include <mpi.h>

namespace plait::net {

std::string mpi_library_name() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string_view all{text.data(), static_cast<std::size_t>(length)};
  for (const std::string_view kind : {"Open MPI v", "MPICH Version:"}) {
    if (all.starts_with(kind)) {
      const std::size_t begin = all.find_first_not_of(" \t", kind.size());
      const std::size_t end = std::min(all.find_first_of(", \t\n", begin), all.size());
      return fmt::format("{} {}", kind.starts_with("Open") ? "Open MPI" : "MPICH", all.substr(begin, end - begin));
    }
  }
  return std::string{all.substr(0, all.find_first_of(",\n"))};
}

}  // namespace plait::net
