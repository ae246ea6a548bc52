// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace plait::trace {

/// Returns the first of `wanted`, `wanted`-2, `wanted`-3, ... that holds no trace of rank 0: one command may start
/// several programs. Cost: a file system call for each that holds one.
[[nodiscard]] std::string unused_run_folder(const std::string& wanted);

}  // namespace plait::trace
