// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "plait/net/ofi/ofi_driver.hpp"

namespace plait::net::conformance {

struct OfiSetting {
  std::string name;
  OfiOptions options;
};
// For gtest's messages.
inline void PrintTo(const OfiSetting& setting, std::ostream* out) {
  *out << setting.name;
}

/// Each provider with the options that most programs use, and with the least that can work.
inline std::vector<OfiSetting> ofi_settings() {
  std::vector<OfiSetting> all;
  for (const std::string provider : {"tcp", "shm"}) {
    all.push_back({provider, {.provider = provider}});
    all.push_back({provider + "_small",
                   {.provider = provider,
                    .transfers = {.packet_bytes_max = 1024,
                                  .receives_posted = 3,
                                  .sends_in_flight_max = 2,
                                  .bulk_slot_count = 2,
                                  .bulk_sends_max = 1,
                                  .bulk_chunk_bytes = 50000,
                                  .bulk_chunks_in_flight = 3}}});
  }
  return all;
}

}  // namespace plait::net::conformance
