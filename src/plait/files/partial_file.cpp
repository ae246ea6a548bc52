// SPDX-License-Identifier: Apache-2.0
#include "plait/files/partial_file.hpp"

#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace plait::files {

PartialFile::PartialFile(std::filesystem::path file) : file_{std::move(file)}, partial_{path_for(file_)} {}

PartialFile::~PartialFile() {
  if (!is_complete_) {
    std::error_code ignored;
    std::filesystem::remove(partial_, ignored);
  }
}

std::filesystem::path PartialFile::path_for(const std::filesystem::path& file) {
  return file.string() + ".partial";
}

std::uint64_t PartialFile::complete() {
  std::error_code trouble;
  const std::uint64_t bytes = std::filesystem::file_size(partial_, trouble);
  if (!trouble) {
    std::filesystem::rename(partial_, file_, trouble);
  }
  if (trouble) {
    throw Error{ErrorCode::io, fmt::format("{}: {}", file_.string(), trouble.message())};
  }
  is_complete_ = true;
  return bytes;
}

}  // namespace plait::files
