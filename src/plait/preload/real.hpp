// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What the libraries between a program and its MPI share.
namespace plait::preload {

/// Finds the function `name` of the program's MPI library; null if there is none.
///
/// Searches all libraries but the caller's own, including those that are loaded locally, as by Python extensions. Cost:
/// some microseconds. Threads: any.
[[nodiscard]] void* find_real(const char* name) noexcept;

/// A symbol of Open MPI only.
inline constexpr const char* open_mpi_mark = "ompi_mpi_comm_world";

}  // namespace plait::preload
