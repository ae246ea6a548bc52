// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include "plait/record/call.hpp"

/// Records calls that create and free communicators, windows and files, and calls on windows and files.
namespace plait::record {

inline void communicator_made(Call& call, MPI_Comm made) {
  call.session().communicators.made(made, call.thread().recorder);
}
inline void communicator_begun(Call& call, MPI_Comm parent, MPI_Comm made, MPI_Request request) {
  call.session().communicators.duplicating(parent, made, call.thread().recorder);
  call.begins(request, call.operation(OperationKind::other));
}

inline void window_made(Call& call, MPI_Comm handle, MPI_Win window) {
  call.session().handles.windows.set(key_of(window), call.session().communicators.share(handle));
}
/// A call on a window. `target`: a rank of its communicator, or negative.
inline void on_window(Call& call, MPI_Win window, int target) {
  if (const auto communicator = call.session().handles.windows.find(key_of(window))) {
    call.event().communicator = communicator->number;
    call.event().peer = communicator->rank_of_run(target);
  }
}

inline void file_opened(Call& call, MPI_Comm handle, MPI_File file) {
  call.session().handles.files.set(key_of(file), call.session().communicators.share(handle));
}
inline void on_file(Call& call, MPI_File file) {
  if (const auto communicator = call.session().handles.files.find(key_of(file))) {
    call.event().communicator = communicator->number;
  }
}

inline void communicator_freeing(Call& call, MPI_Comm handle) {
  call.session().communicators.freeing(handle);
}
inline void window_freeing(Call& call, MPI_Win window) {
  on_window(call, window, MPI_PROC_NULL);
  call.session().handles.windows.take(key_of(window));
}
inline void file_closing(Call& call, MPI_File file) {
  on_file(call, file);
  call.session().handles.files.take(key_of(file));
}

}  // namespace plait::record
