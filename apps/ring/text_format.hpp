// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "plait/base/error.hpp"

#include "ring/body.hpp"

namespace ring {

/// Bodies as nbody-with-center reads and writes them: a line with the time, one with the number, then for each body
/// `id mass x y z vx vy vz`.
struct TextBodies {
  double time = 0;
  std::vector<Body> bodies;
};

/// Error: names file and line, and what is wrong there; also what `check_bodies` finds.
[[nodiscard]] plait::Result<TextBodies> read_text(const std::filesystem::path& file);

/// All digits, so that reading gives the same bits. Written under another name and renamed when complete.
/// Returns its size in bytes.
[[nodiscard]] plait::Result<std::uint64_t> write_text(const std::filesystem::path& file,
                                                      double time,
                                                      std::span<const Body> bodies);

}  // namespace ring
