// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/packing.hpp"

#include <algorithm>
#include <array>
#include <ranges>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plait/base/error.hpp"

namespace plait::comm {

std::span<const PackingEntry> packing_entries() noexcept {
  static constexpr std::array entries{PackingEntry{"immediate", make_immediate_packing},
                                      PackingEntry{"aggregate", make_aggregate_packing},
                                      PackingEntry{"priority", make_priority_packing}};
  return entries;
}

std::unique_ptr<Packing> make_packing(std::string_view name, std::span<const PackingEntry> table) {
  const auto found = std::ranges::find(table, name == "automatic" ? "aggregate" : name, &PackingEntry::name);
  if (found == table.end()) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("there is no packing strategy '{}': choose one of automatic, {}",
                            name,
                            fmt::join(table | std::views::transform(&PackingEntry::name), ", "))};
  }
  return found->make();
}

}  // namespace plait::comm
