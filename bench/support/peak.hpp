// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace bench {

/// Fused multiply-adds in single precision that one core does in a second, at the widest vectors that Highway knows
/// here: measured now, by chains that do not wait for each other. Takes some 50 ms.
[[nodiscard]] double fused_multiply_adds_a_second();

}  // namespace bench
