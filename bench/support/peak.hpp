// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace bench {

/// Measures how many fused multiply-adds in single precision one core executes in a second, with independent chains on
/// the widest vectors that Highway supports on this processor. Takes about 50 ms.
[[nodiscard]] double fused_multiply_adds_a_second();

}  // namespace bench
