// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What the libraries between a program and its MPI share.
namespace plait::preload {

/// Finds the function `name` of the program's MPI library; null if there is none.
///
/// Searches all libraries but the caller's own, including those that are loaded locally, as by Python extensions. Cost:
/// some microseconds. Threads: any.
[[nodiscard]] void* find_real(const char* name) noexcept;

/// The MPI that the caller's library was compiled for: "Open MPI", "MPICH", which others are compatible with, or "the
/// standard ABI of MPI 5".
[[nodiscard]] const char* compiled_for() noexcept;

/// Whether the process has another MPI than that, or none.
[[nodiscard]] bool has_other_mpi() noexcept;

}  // namespace plait::preload
