// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace plait::record {

/// A file of the program's code, and where an address is in it.
struct CodePlace {
  std::string path;                ///< Of the program or shared library; empty if the address is in none.
  std::uint64_t offset = 0;        ///< Of the address, as tools count addresses in the file.
  std::uint64_t load_address = 0;  ///< What is added to an offset.
  std::string symbol;              ///< Of the exported function that the address is in; empty if it is in none.
};

/// Takes the loader's lock, and some microseconds. Threads: any.
[[nodiscard]] CodePlace find_code(const void* address);

/// Returns the build id in the file's notes, as the process has it, in hexadecimal digits; empty if there is none or no
/// module of that path. Cost and threads: as `find_code`.
[[nodiscard]] std::string build_id_of(const std::string& path);

}  // namespace plait::record
