// SPDX-License-Identifier: Apache-2.0
// The functions of MPI that convert handles of requests and messages to numbers and back, for Fortran.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>

#include "plait/accelerate/engine/routes.hpp"
#include "plait/accelerate/engine/session.hpp"

namespace plait::accelerate {

namespace {

template <auto theirs>
HandleNumber request_number(MPI_Request request) {
  PendingOperation* const pending = use_session().requests().find(request);
  return pending != nullptr ? use_session().requests().number_of(*pending) : theirs(request);
}

template <auto theirs>
MPI_Request request_of(HandleNumber number) {
  PendingOperation* const pending = use_session().requests().find_number(number);
  return pending != nullptr ? use_session().requests().handle_of(*pending) : theirs(number);
}

template <auto theirs>
HandleNumber message_number(MPI_Message message) {
  Probed* const probed = use_session().probed().find(message);
  return probed != nullptr ? use_session().probed().number_of(*probed) : theirs(message);
}

template <auto theirs>
MPI_Message message_of(HandleNumber number) {
  Probed* const probed = use_session().probed().find_number(number);
  return probed != nullptr ? use_session().probed().handle_of(*probed) : theirs(number);
}

#ifdef OPEN_MPI

/// No object of a request ends before.
constexpr std::size_t object_bytes_min = 160;

/// Whether the objects of all `requests` have their numbers at `offset`, and that of the null request has 0.
bool has_numbers_at(std::size_t offset, std::span<const MPI_Request> requests) {
  const auto number_at = [offset](MPI_Request request) {
    HandleNumber number = 0;
    std::memcpy(&number, reinterpret_cast<const std::byte*>(request) + offset, sizeof number);
    return number;
  };
  return number_at(MPI_REQUEST_NULL) == PMPI_Request_c2f(MPI_REQUEST_NULL) &&
         std::ranges::all_of(requests, [&](MPI_Request one) { return number_at(one) == PMPI_Request_c2f(one); });
}

#endif

}  // namespace

std::size_t fortran_number_offset() noexcept {
#ifdef OPEN_MPI
  std::array<MPI_Request, 4> requests{};
  for (MPI_Request& request : requests) {
    request = begin_endless();
    (void)PMPI_Request_c2f(request);  // has the library number it
  }
  std::size_t found = 0;
  for (std::size_t offset = sizeof(void*); offset < object_bytes_min; offset += sizeof(HandleNumber)) {
    if (has_numbers_at(offset, requests)) {
      found = found == 0 ? offset : object_bytes_min;  // with several it is none
    }
  }
  std::ranges::for_each(requests, end_endless);
  return found < object_bytes_min ? found : 0;
#else
  return 0;
#endif
}

std::vector<FunctionRoute> handle_routes() {
  std::vector<FunctionRoute> routes;
  // In MPICH a handle is its own number, and these are macros.
#ifdef OPEN_MPI
  routes.push_back(route<decltype(::PMPI_Request_c2f)>("PMPI_Request_c2f", request_number<PMPI_Request_c2f>));
  routes.push_back(route<decltype(::PMPI_Request_f2c)>("PMPI_Request_f2c", request_of<PMPI_Request_f2c>));
  routes.push_back(route<decltype(::PMPI_Message_c2f)>("PMPI_Message_c2f", message_number<PMPI_Message_c2f>));
  routes.push_back(route<decltype(::PMPI_Message_f2c)>("PMPI_Message_f2c", message_of<PMPI_Message_f2c>));
#endif
#if MPI_VERSION >= 5
  routes.push_back(route<decltype(::PMPI_Request_toint)>("PMPI_Request_toint", request_number<PMPI_Request_toint>));
  routes.push_back(route<decltype(::PMPI_Request_fromint)>("PMPI_Request_fromint", request_of<PMPI_Request_fromint>));
  routes.push_back(route<decltype(::PMPI_Message_toint)>("PMPI_Message_toint", message_number<PMPI_Message_toint>));
  routes.push_back(route<decltype(::PMPI_Message_fromint)>("PMPI_Message_fromint", message_of<PMPI_Message_fromint>));
#endif
  return routes;
}

}  // namespace plait::accelerate
