// SPDX-License-Identifier: Apache-2.0
#include "plait/trace/run_folder.hpp"

#include <sys/stat.h>

#include <fmt/format.h>

namespace plait::trace {

namespace {

constexpr int folders_max = 1000;

}  // namespace

std::string unused_run_folder(const std::string& wanted) {
  struct stat ignored{};
  for (int i = 1; i < folders_max; ++i) {
    std::string folder = i == 1 ? wanted : fmt::format("{}-{}", wanted, i);
    if (::stat((folder + "/rank-0000.plt").c_str(), &ignored) != 0) {
      return folder;
    }
  }
  return wanted;
}

}  // namespace plait::trace
