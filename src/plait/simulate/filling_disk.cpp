// SPDX-License-Identifier: Apache-2.0
#include "plait/simulate/filling_disk.hpp"

#include <algorithm>

#include "plait/base/error.hpp"

namespace plait::simulate {

FillingDisk::FillingDisk(const FullDisk& fault)
    : folder_{std::filesystem::weakly_canonical(fault.folder)}, since_{fault.since}, bytes_left_{fault.bytes_left} {}

bool FillingDisk::has(const std::filesystem::path& path) const {
  return std::ranges::mismatch(folder_, path).in1 == folder_.end();
}

std::size_t FillingDisk::room(std::size_t size, std::size_t offset, std::size_t bytes) const noexcept {
  const std::size_t inside = offset < size ? size - offset : 0;
  return inside >= bytes ? bytes : inside + std::min(bytes - inside, bytes_left_);
}

void FillingDisk::take(std::size_t size, std::size_t offset, std::size_t bytes) noexcept {
  const std::size_t inside = offset < size ? size - offset : 0;
  const std::size_t grown = bytes - std::min(bytes, inside);
  expect(grown <= bytes_left_, "what was written fits");
  bytes_left_ -= grown;
}

}  // namespace plait::simulate
