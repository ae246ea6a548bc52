// SPDX-License-Identifier: Apache-2.0
#include "plait/net/mpi/session.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <mpi.h>

#include "plait/base/error.hpp"
#include "plait/net/mpi/detail/call.hpp"
#include "plait/net/mpi/launch.hpp"
#include "plait/net/mpi/library.hpp"

namespace plait::net {

namespace {

/// How long the rank that failed has to report it and end all ranks. Its MPI_Abort ends this process in its sleep.
constexpr std::chrono::seconds report_time_max{2};

}  // namespace

MpiSession::MpiSession(int& argc, char**& argv, bool calls_mpi) : exceptions_at_start_{std::uncaught_exceptions()} {
  int is_finalized = 0;
  MPI_Finalized(&is_finalized);
  if (is_finalized != 0) {
    throw Error{ErrorCode::network, "MPI was finalised before and cannot be started again"};
  }
  int is_initialized = 0;
  MPI_Initialized(&is_initialized);
  if (is_initialized != 0) {
    return;
  }
  if (mpi_library_name().starts_with("MPICH") && !is_launched_on_one_host()) {
    request_eager_messages_of_ucx();
  }
  int provided = MPI_THREAD_SINGLE;
  const int wanted = calls_mpi ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED;
  detail::check_mpi(MPI_Init_thread(&argc, &argv, wanted, &provided), "MPI_Init_thread");
  is_owner_ = true;
  if (provided < wanted) {
    throw Error{ErrorCode::network,
                calls_mpi
                    ? "this MPI cannot be called by several threads at once; this program needs MPI_THREAD_MULTIPLE"
                    : "this MPI can be called by one thread only; plait needs MPI_THREAD_SERIALIZED"};
  }
}

MpiSession::~MpiSession() {
  if (!is_owner_ || std::uncaught_exceptions() > exceptions_at_start_) {
    return;
  }
  if (detail::is_mpi_usable()) {
    MPI_Finalize();
  }
}

void MpiSession::abort(int exit_code) const noexcept {
  std::fflush(nullptr);
  if (detail::is_mpi_usable()) {
    MPI_Abort(MPI_COMM_WORLD, exit_code);
  }
  std::_Exit(exit_code);
}

void MpiSession::fail(const char* program, const std::exception& error) const noexcept {
  const auto* const known = dynamic_cast<const Error*>(&error);
  if (known != nullptr && known->code() == ErrorCode::peer_failed) {
    std::this_thread::sleep_for(report_time_max);
  }
  std::fprintf(stderr, "%s: %s\n", program, error.what());
  abort(1);
}

}  // namespace plait::net
