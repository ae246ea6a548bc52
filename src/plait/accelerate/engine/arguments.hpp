// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include "plait/accelerate/engine/session.hpp"

namespace plait::accelerate {

/// The communicator of a call that the engine serves; null for what goes to the MPI library: communicators that are not
/// routed, and wrong arguments, which the library reports as its users know it.
[[nodiscard]] inline RoutedCommunicator* routed(EngineSession& session,
                                                MPI_Comm handle,
                                                const TypedMessage& what,
                                                bool is_receive) {
  RoutedCommunicator* const on = session.communicators().find(handle);
  const bool is_peer = on != nullptr && ((what.peer >= 0 && what.peer < on->size()) || what.peer == MPI_PROC_NULL ||
                                         (is_receive && what.peer == MPI_ANY_SOURCE));
  const bool is_tag = (what.tag >= 0 && what.tag <= session.tag_max()) || (is_receive && what.tag == MPI_ANY_TAG);
  return is_peer && is_tag && what.count >= 0 && what.type != MPI_DATATYPE_NULL ? on : nullptr;
}

}  // namespace plait::accelerate
