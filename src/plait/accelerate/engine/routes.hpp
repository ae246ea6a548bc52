// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace plait::accelerate {

/// A function of MPI that programs get in the place of the library's.
struct FunctionRoute {
  const char* name;  ///< Of the library's own function, "PMPI_Send".
  void* function;
};

/// A route whose function has the library's signature.
template <class Signature>
[[nodiscard]] FunctionRoute route(const char* name, Signature* function) {
  return {name, reinterpret_cast<void*>(function)};
}

// One for each file of functions.
[[nodiscard]] std::vector<FunctionRoute> buffer_routes();
[[nodiscard]] std::vector<FunctionRoute> collective_routes();
[[nodiscard]] std::vector<FunctionRoute> communicator_routes();
[[nodiscard]] std::vector<FunctionRoute> foreign_routes();
[[nodiscard]] std::vector<FunctionRoute> handle_routes();
[[nodiscard]] std::vector<FunctionRoute> message_routes();
[[nodiscard]] std::vector<FunctionRoute> partitioned_routes();
[[nodiscard]] std::vector<FunctionRoute> probe_routes();
[[nodiscard]] std::vector<FunctionRoute> wait_routes();

}  // namespace plait::accelerate
