// SPDX-License-Identifier: Apache-2.0
#include "plait/net/ofi/detail/meeting.hpp"

#include <filesystem>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace plait::net::detail::ofi {

std::string describe_host() {
  std::string boot;
  std::ifstream{"/proc/sys/kernel/random/boot_id"} >> boot;
  std::error_code ignored;
  for (const char* const space : {"/proc/self/ns/net", "/proc/self/ns/pid"}) {
    boot += ' ' + std::filesystem::read_symlink(space, ignored).string();
  }
  return boot;
}

std::vector<Bytes> meet(const Exchange& exchange, std::uint32_t rank_count, std::span<const std::byte> mine) {
  std::vector<Bytes> all = exchange(mine);
  if (all.size() != rank_count) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("ofi driver: the exchange brought {} answers for {} ranks", all.size(), rank_count)};
  }
  return all;
}

}  // namespace plait::net::detail::ofi
