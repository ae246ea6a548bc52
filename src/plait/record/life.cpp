// SPDX-License-Identifier: Apache-2.0
// The MPI functions at which a recording begins and ends.
#include <algorithm>
#include <optional>
#include <utility>

#include <mpi.h>

#include "plait/record/call.hpp"

namespace plait::record {
namespace {

constinit Function init{"PMPI_Init"};
constinit Function init_thread{"PMPI_Init_thread"};
constinit Function finalize{"PMPI_Finalize"};
constinit Function abort_{"PMPI_Abort"};

/// Initialises MPI by `real`. If a library behind the recorder does so, its calls are not the program's.
template <class Real>
int initialise(const Real& real) {
  const bool was_inside = std::exchange(thread_state.is_inside, true);
  const int result = real();
  thread_state.is_inside = was_inside;
  return result;
}

/// Starts the session, unless a library behind the recorder has, and if requested the progress thread, once MPI is
/// initialised.
int begin(Function& function, const void* const* slot, int result) {
  if (result == MPI_SUCCESS && !thread_state.is_inside) {
    if (session_of_program() == nullptr) {
      Session::start();
    }
    if (Session* session = session_of_program()) {
      if (session->records_calls) {
        // Time 0 is now: the record has the place of the call, not its length.
        Call call{*session, function, trace::CallClass::begins_or_ends, slot};
        call.run([] { return MPI_SUCCESS; });
      }
      if (is_progress_wanted()) {
        session->start_progress();
      }
    }
  }
  return result;
}

}  // namespace
}  // namespace plait::record

// Names of the MPI standard.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {

[[gnu::visibility("default")]] int MPI_Init(int* argc, char*** argv) {
  using namespace plait::record;
  refuse_other_mpi();
  int provided = MPI_THREAD_SINGLE;
  const int result = initialise([&] {
    return is_progress_wanted()
               ? init_thread.real<decltype(::PMPI_Init_thread)>()(argc, argv, MPI_THREAD_MULTIPLE, &provided)
               : init.real<decltype(::PMPI_Init)>()(argc, argv);
  });
  return begin(init, return_slot(), result);
}

[[gnu::visibility("default")]] int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  using namespace plait::record;
  refuse_other_mpi();
  const int wanted = is_progress_wanted() ? MPI_THREAD_MULTIPLE : required;
  const int result =
      initialise([&] { return init_thread.real<decltype(::PMPI_Init_thread)>()(argc, argv, wanted, provided); });
  if (is_progress_wanted()) {  // the program gets no higher level than it requested
    *provided = std::min(required, *provided);
  }
  return begin(init_thread, return_slot(), result);
}

[[gnu::visibility("default")]] int MPI_Finalize() {
  using namespace plait::record;
  auto* const real = finalize.real<decltype(::PMPI_Finalize)>();
  Session* const session = session_of_program();
  if (session == nullptr) {
    return real();
  }
  std::optional<Call> call;
  if (session->records_calls) {
    call.emplace(*session, finalize, plait::trace::CallClass::begins_or_ends, return_slot());
  }
  session->finish();
  active.store(nullptr);
  return call ? call->run(real) : real();
}

[[gnu::visibility("default")]] int MPI_Abort(MPI_Comm communicator, int code) {
  using namespace plait::record;
  auto* const real = abort_.real<decltype(::PMPI_Abort)>();
  if (Session* const session = session_of_program()) {
    if (session->records_calls) {
      Call call{*session, abort_, plait::trace::CallClass::begins_or_ends, return_slot()};
      call.run([] { return MPI_SUCCESS; });  // it does not return: its record is written before
    }
    active.store(nullptr);
    session->break_off();
  }
  return real(communicator, code);
}

[[gnu::visibility("default"), gnu::alias("MPI_Init")]] int PMPI_Init(int* argc, char*** argv);
[[gnu::visibility("default"), gnu::alias("MPI_Init_thread")]] int PMPI_Init_thread(int* argc,
                                                                                   char*** argv,
                                                                                   int required,
                                                                                   int* provided);
[[gnu::visibility("default"), gnu::alias("MPI_Finalize")]] int PMPI_Finalize();
[[gnu::visibility("default"), gnu::alias("MPI_Abort")]] int PMPI_Abort(MPI_Comm communicator, int code);
}
// NOLINTEND(readability-identifier-naming)
