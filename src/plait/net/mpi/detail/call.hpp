// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>

#include <fmt/format.h>
#include <mpi.h>

#include "plait/base/error.hpp"
#include "plait/base/id.hpp"

namespace plait::net::detail {

/// The MPI tags of packets, which have a communicator of their own: of whole ones and the last piece of a long one; of
/// the other pieces.
inline constexpr int packet_tag = 0;
inline constexpr int piece_tag = 1;

/// MPI's message for an error.
[[nodiscard]] inline std::string mpi_words(int code) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  return {text.data(), static_cast<std::size_t>(length)};
}

/// Throws `Error` with `network` and MPI's message for `code`. `call` is the name of the function.
[[noreturn]] inline void mpi_failed(int code, const char* call, Rank peer) {
  const std::string words = mpi_words(code);
  if (peer) {
    throw Error{ErrorCode::network, fmt::format("{} with rank {} failed: {}", call, peer.value(), words), peer};
  }
  throw Error{ErrorCode::network, fmt::format("{} failed: {}", call, words)};
}

/// Throws as `mpi_failed` does, unless the call went well.
inline void check_mpi(int code, const char* call, Rank peer = {}) {
  if (code != MPI_SUCCESS) [[unlikely]] {
    mpi_failed(code, call, peer);
  }
}

/// Whether MPI can be called: initialised, and not finalised.
[[nodiscard]] inline bool is_mpi_usable() noexcept {
  int is_initialized = 0;
  int is_finalized = 0;
  MPI_Initialized(&is_initialized);
  MPI_Finalized(&is_finalized);
  return is_initialized != 0 && is_finalized == 0;
}

}  // namespace plait::net::detail
