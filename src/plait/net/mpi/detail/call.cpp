// SPDX-License-Identifier: Apache-2.0
#include "plait/net/mpi/detail/call.hpp"

#include <array>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace plait::net::detail {

std::string mpi_words(int code) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  return {text.data(), static_cast<std::size_t>(length)};
}

void mpi_failed(int code, const char* call, Rank peer) {
  const std::string words = mpi_words(code);
  if (peer) {
    throw Error{ErrorCode::network, fmt::format("{} with rank {} failed: {}", call, peer.value(), words), peer};
  }
  throw Error{ErrorCode::network, fmt::format("{} failed: {}", call, words)};
}

bool is_mpi_usable() noexcept {
  int is_initialized = 0;
  int is_finalized = 0;
  MPI_Initialized(&is_initialized);
  MPI_Finalized(&is_finalized);
  return is_initialized != 0 && is_finalized == 0;
}

}  // namespace plait::net::detail
