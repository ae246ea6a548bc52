// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <mpi.h>

#include "plait/base/id.hpp"

namespace plait::net::detail {

/// MPI's own words for an error.
[[nodiscard]] std::string mpi_words(int code);

/// Throws `Error` with `network` and MPI's own words for `code`. `call` is the name of the function.
[[noreturn]] void mpi_failed(int code, const char* call, Rank peer);

/// Throws as `mpi_failed` does, unless the call went well.
inline void check_mpi(int code, const char* call, Rank peer = {}) {
  if (code != MPI_SUCCESS) [[unlikely]] {
    mpi_failed(code, call, peer);
  }
}

/// Whether MPI can be called: initialised, and not finalised.
[[nodiscard]] bool is_mpi_usable() noexcept;

}  // namespace plait::net::detail
