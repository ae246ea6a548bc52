// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "plait/comm/address.hpp"
#include "plait/comm/layout.hpp"
#include "plait/comm/request.hpp"
#include "plait/comm/status.hpp"
#include "plait/plait.h"

/// What the arguments of C functions mean in C++.
namespace plait::c::detail {

/// Throws: `Error` with `bad_argument` for negative values.
[[nodiscard]] comm::Address destination(int rank, std::int64_t tag);
/// As above, with wildcards.
[[nodiscard]] comm::Address source(int rank, std::int64_t tag);

[[nodiscard]] plait_status status_of(const comm::Status& status) noexcept;

/// Throws: `Error` with `bad_argument` for a null pointer or a number of dimensions that is not valid. Cost: linear in
/// the blocks of all dimensions but the last that is not contiguous.
[[nodiscard]] comm::Layout layout_of(const plait_layout* layout);

/// The memory of a layout from its first byte on that is contiguous. Throws: as `layout_of`.
[[nodiscard]] std::span<std::byte> contiguous_part(const plait_layout* layout);

/// Stores the operation in `handle` or, if that is null, waits for it. Throws: as `Request::wait`.
void finish(comm::Request request, plait_request** handle);

}  // namespace plait::c::detail
