// SPDX-License-Identifier: Apache-2.0
// The functions of MPI that convert handles of requests and messages for Fortran.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>

#include "plait/accelerate/engine/routes.hpp"
#include "plait/accelerate/engine/session.hpp"

namespace plait::accelerate {

#ifdef OPEN_MPI  // in MPICH they are macros, and a handle is its own number

namespace {

MPI_Fint request_c2f(MPI_Request request) {
  PendingOperation* const pending = use_session().requests().find(request);
  return pending != nullptr ? use_session().requests().number_of(*pending) : PMPI_Request_c2f(request);
}

MPI_Request request_f2c(MPI_Fint number) {
  PendingOperation* const pending = use_session().requests().find_number(number);
  return pending != nullptr ? use_session().requests().handle_of(*pending) : PMPI_Request_f2c(number);
}

MPI_Fint message_c2f(MPI_Message message) {
  Probed* const probed = use_session().probed().find(message);
  return probed != nullptr ? use_session().probed().number_of(*probed) : PMPI_Message_c2f(message);
}

MPI_Message message_f2c(MPI_Fint number) {
  Probed* const probed = use_session().probed().find_number(number);
  return probed != nullptr ? use_session().probed().handle_of(*probed) : PMPI_Message_f2c(number);
}

/// No object of a request ends before.
constexpr std::size_t object_bytes_min = 160;

/// Whether the objects of all `requests` have their numbers at `offset`, and that of the null request has 0.
bool has_numbers_at(std::size_t offset, std::span<const MPI_Request> requests) {
  const auto number_at = [offset](MPI_Request request) {
    MPI_Fint number = 0;
    std::memcpy(&number, reinterpret_cast<const std::byte*>(request) + offset, sizeof number);
    return number;
  };
  return number_at(MPI_REQUEST_NULL) == PMPI_Request_c2f(MPI_REQUEST_NULL) &&
         std::ranges::all_of(requests, [&](MPI_Request one) { return number_at(one) == PMPI_Request_c2f(one); });
}

}  // namespace

std::size_t fortran_number_offset() noexcept {
  std::array<MPI_Request, 4> requests{};
  for (MPI_Request& request : requests) {
    request = begin_endless();
    (void)PMPI_Request_c2f(request);  // has the library number it
  }
  std::size_t found = 0;
  for (std::size_t offset = sizeof(void*); offset < object_bytes_min; offset += sizeof(MPI_Fint)) {
    if (has_numbers_at(offset, requests)) {
      found = found == 0 ? offset : object_bytes_min;  // with several it is none
    }
  }
  std::ranges::for_each(requests, end_endless);
  return found < object_bytes_min ? found : 0;
}

std::vector<FunctionRoute> handle_routes() {
  return {
      route<decltype(::PMPI_Request_c2f)>("PMPI_Request_c2f", request_c2f),
      route<decltype(::PMPI_Request_f2c)>("PMPI_Request_f2c", request_f2c),
      route<decltype(::PMPI_Message_c2f)>("PMPI_Message_c2f", message_c2f),
      route<decltype(::PMPI_Message_f2c)>("PMPI_Message_f2c", message_f2c),
  };
}

#else

std::size_t fortran_number_offset() noexcept {
  return 0;
}

std::vector<FunctionRoute> handle_routes() {
  return {};
}

#endif

}  // namespace plait::accelerate
