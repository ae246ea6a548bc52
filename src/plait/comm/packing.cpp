// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/packing.hpp"

#include <array>
#include <string>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace plait::comm {

namespace {

constexpr std::array entries{PackingEntry{"immediate", make_immediate_packing},
                             PackingEntry{"aggregate", make_aggregate_packing},
                             PackingEntry{"priority", make_priority_packing}};

}  // namespace

std::span<const PackingEntry> packing_entries() noexcept {
  return entries;
}

std::unique_ptr<Packing> make_packing(std::string_view name, std::span<const PackingEntry> table) {
  std::string known;
  for (const PackingEntry& entry : table) {
    if (entry.name == name) {
      return entry.make();
    }
    known += (known.empty() ? "" : ", ") + std::string{entry.name};
  }
  throw Error{ErrorCode::bad_argument, fmt::format("there is no packing strategy '{}': choose one of {}", name, known)};
}

}  // namespace plait::comm
