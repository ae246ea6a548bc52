// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>

namespace plait::net {

/// MPI for the length of a scope: for programs that do not call MPI_Init themselves.
///
/// Keep one in `main`, outside of everything that uses MPI:
///
///     plait::net::MpiSession session{argc, argv};
///     try { ... } catch (const std::exception& error) { session.fail("my-program", error); }
///
/// Threads: made and ended by the same one.
class MpiSession {
 public:
  /// Calls MPI_Init_thread for MPI_THREAD_SERIALIZED, unless MPI is initialised already. With `calls_mpi` for
  /// MPI_THREAD_MULTIPLE: then the program may call MPI itself at any time, at the cost of MPI's own locks.
  /// Throws: `Error` with `network` when MPI refuses, or was finalised before.
  MpiSession(int& argc, char**& argv, bool calls_mpi = false);
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;
  /// Calls MPI_Finalize if the constructor called MPI_Init_thread. Not while an exception leaves
  /// the scope: it would wait for ranks that wait for this one. The launcher takes the job down
  /// when the process ends without MPI_Finalize and with an exit code that is not 0.
  ~MpiSession();

  /// Ends all ranks at once; the launcher reports `exit_code`.
  [[noreturn]] void abort(int exit_code) const noexcept;
  /// Writes what has ended the run to stderr, as "PROGRAM: sentence", and ends all ranks with exit code 1. A rank that
  /// was only notified (`ErrorCode::peer_failed`) leaves this to the rank that failed, for 2 seconds.
  [[noreturn]] void fail(const char* program, const std::exception& error) const noexcept;

 private:
  bool is_owner_ = false;
  int exceptions_at_start_ = 0;
};

}  // namespace plait::net
