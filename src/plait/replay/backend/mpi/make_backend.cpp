// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/backend/mpi/make_backend.hpp"

#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/replay/backend/mpi/mpi_backend.hpp"
#include "plait/replay/backend/mpi/ofi_memory.hpp"
#include "plait/replay/backend/mpi/one_sided_backend.hpp"
#include "plait/replay/backend/mpi/plait_backend.hpp"
#include "plait/replay/backend/mpi/window_memory.hpp"
#include "plait/runtime/gather.hpp"
#include "plait/runtime/network.hpp"

namespace plait::replay {
namespace {

/// plait's endpoint on the network that the environment asks for, and the backend on it.
struct OnEndpoint {
  OnEndpoint(MPI_Comm world, const Part& part)
      : driver{make_network(world, NetworkOptions::from_environment())},
        recorder{driver->clock()},
        endpoint{*driver, recorder},
        backend{endpoint, part} {}
  OnEndpoint(const OnEndpoint&) = delete;
  OnEndpoint& operator=(const OnEndpoint&) = delete;
  OnEndpoint(OnEndpoint&&) = delete;
  OnEndpoint& operator=(OnEndpoint&&) = delete;
  ~OnEndpoint() {
    try {
      barrier(endpoint);  // others may still need this rank's progress
      endpoint.drain();
    } catch (const Error&) {  // has been told to whoever waited
    }
  }

  std::unique_ptr<net::Driver> driver;
  trace::Recorder recorder;
  comm::Endpoint endpoint;
  PlaitBackend backend;
};

std::shared_ptr<Backend> make_ofi(MPI_Comm world, const Part& part) {
#ifdef PLAIT_WITH_OFI
  return std::make_shared<OneSidedBackend>(
      world, part, [](MPI_Comm ranks, std::size_t bytes) { return std::make_unique<OfiMemory>(ranks, bytes); });
#else
  static_cast<void>(world);
  static_cast<void>(part);
  throw Error{ErrorCode::bad_argument,
              "plait was built without libfabric (Debian: libfabric-dev), which --backend ofi needs; choose rma or "
              "plait, or build plait again with it"};
#endif
}

}  // namespace

std::shared_ptr<Backend> make_backend(MPI_Comm world, const std::string& name, const Part& part) {
  if (name == "mpi") {
    return std::make_shared<MpiBackend>(world, part);
  }
  if (name == "plait") {
    const auto owner = std::make_shared<OnEndpoint>(world, part);
    return {owner, &owner->backend};
  }
  if (name == "rma") {
    return std::make_shared<OneSidedBackend>(
        world, part, [](MPI_Comm ranks, std::size_t bytes) { return std::make_unique<WindowMemory>(ranks, bytes); });
  }
  if (name == "ofi") {
    return make_ofi(world, part);
  }
  throw Error{ErrorCode::bad_argument, fmt::format("there is no backend {}; choose mpi, plait, rma or ofi", name)};
}

}  // namespace plait::replay
