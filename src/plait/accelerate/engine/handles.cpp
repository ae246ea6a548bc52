// SPDX-License-Identifier: Apache-2.0
// The functions of MPI that convert handles of requests and messages for Fortran.
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

}  // namespace

std::vector<FunctionRoute> handle_routes() {
  return {
      route<decltype(::PMPI_Request_c2f)>("PMPI_Request_c2f", request_c2f),
      route<decltype(::PMPI_Request_f2c)>("PMPI_Request_f2c", request_f2c),
      route<decltype(::PMPI_Message_c2f)>("PMPI_Message_c2f", message_c2f),
      route<decltype(::PMPI_Message_f2c)>("PMPI_Message_f2c", message_f2c),
  };
}

#else

std::vector<FunctionRoute> handle_routes() {
  return {};
}

#endif

}  // namespace plait::accelerate
