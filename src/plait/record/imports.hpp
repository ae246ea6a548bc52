// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace plait::record {

/// Has a module of the process call `replacement` where it calls the function `name` of another module. Returns whether
/// it imports such a function. The replacement must do what the function does.
///
/// `in_module`: any address of the module's code. Threads: any; calls under way end in the function that they have
/// entered. Costs some microseconds for each thousand imports.
[[nodiscard]] bool replace_import(const void* in_module, const char* name, void (*replacement)());

}  // namespace plait::record
