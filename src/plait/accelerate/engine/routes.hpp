// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace plait::accelerate {

/// A function of MPI that programs get in the place of the library's.
struct Route {
  const char* name;  ///< Of the library's own function, "PMPI_Send".
  void* function;
};

/// A route whose function has the library's signature.
template <class Signature>
[[nodiscard]] Route route(const char* name, Signature* function) {
  return {name, reinterpret_cast<void*>(function)};
}

// One for each file of functions.
[[nodiscard]] std::vector<Route> communicator_routes();
[[nodiscard]] std::vector<Route> datatype_routes();
[[nodiscard]] std::vector<Route> foreign_routes();
[[nodiscard]] std::vector<Route> handle_routes();
[[nodiscard]] std::vector<Route> message_routes();
[[nodiscard]] std::vector<Route> probe_routes();
[[nodiscard]] std::vector<Route> wait_routes();

}  // namespace plait::accelerate
