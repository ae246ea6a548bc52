// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plait/trace/event.hpp"

namespace plait::record {

class Sites;

/// A line of a program in Python.
struct PythonLine {
  std::string file;
  std::uint32_t line = 0;
  std::string function;
};

/// Whether a module, by its path, is mpi4py's, which passes calls of Python on to MPI.
[[nodiscard]] bool is_mpi4py(std::string_view module_path);

/// Has the lines noted from which Python calls MPI: mpi4py's module releases the interpreter's lock before a call of
/// MPI, and what it calls for that notes, while the thread still has the lock, where its Python code is. So no thread
/// waits for the lock, and only public functions of Python are called.
///
/// `in_module`: any address of mpi4py's code. `sites`: must last as long as the process. Does nothing after the first
/// time, without Python 3.9 or later among the process's global symbols, and where the module does not call it so.
/// Threads: any.
void note_python_lines(const void* in_module, Sites& sites);

/// The site of the Python code that is in a call of mpi4py on this thread; empty if that is not known. Cost: a load.
[[nodiscard]] trace::NameId python_site() noexcept;

}  // namespace plait::record
