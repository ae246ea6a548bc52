// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/packing.hpp"

#include <array>
#include <string>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace plait::comm {

namespace {

struct Entry {
  std::string_view name;
  std::unique_ptr<Packing> (*make)();
};

constexpr std::array entries{Entry{"immediate", make_immediate_packing},
                             Entry{"aggregate", make_aggregate_packing},
                             Entry{"priority", make_priority_packing}};

}  // namespace

std::unique_ptr<Packing> make_packing(std::string_view name) {
  std::string known;
  for (const Entry& entry : entries) {
    if (entry.name == name) {
      return entry.make();
    }
    known += (known.empty() ? "" : ", ") + std::string{entry.name};
  }
  throw Error{ErrorCode::bad_argument, fmt::format("there is no packing strategy '{}': choose one of {}", name, known)};
}

}  // namespace plait::comm
