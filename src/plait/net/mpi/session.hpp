// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>

namespace plait::net {

/// Initialises and finalises MPI, for programs that do not call MPI_Init themselves.
///
/// Define one in `main`, before everything that uses MPI:
///
///     plait::net::MpiSession session{argc, argv};
///     try { ... } catch (const std::exception& error) { session.fail("my-program", error); }
///
/// Threads: constructed and destroyed by the same one.
class MpiSession {
 public:
  /// Calls MPI_Init_thread unless MPI is initialised, with MPI_THREAD_SERIALIZED; with `calls_mpi`,
  /// MPI_THREAD_MULTIPLE: the program may then call MPI at any time, at the cost of MPI's locks. With MPICH on several
  /// hosts, sets UCX_RNDV_THRESH before, unless it is set (launch.hpp).
  ///
  /// Throws: `Error` with `network` when MPI does not provide this, or was finalised before.
  MpiSession(int& argc, char**& argv, bool calls_mpi = false);
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;
  /// Calls MPI_Finalize if the constructor called MPI_Init_thread. Not during stack unwinding, when it would wait for
  /// ranks that wait for this one; the launcher ends the job when the process exits with an error.
  ~MpiSession();

  /// Ends all ranks at once; the launcher reports `exit_code`.
  [[noreturn]] void abort(int exit_code) const noexcept;
  /// Writes "PROGRAM: error" to stderr and ends all ranks with exit code 1. For `ErrorCode::peer_failed` it first waits
  /// 2 seconds for the rank that failed to do so.
  [[noreturn]] void fail(const char* program, const std::exception& error) const noexcept;

 private:
  bool is_owner_ = false;
  int exceptions_at_start_ = 0;
};

}  // namespace plait::net
