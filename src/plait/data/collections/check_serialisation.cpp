// SPDX-License-Identifier: Apache-2.0
#include "plait/data/collections/check_serialisation.hpp"

#include <algorithm>
#include <string>

#include <fmt/core.h>

#include "plait/base/error.hpp"

namespace plait::data::detail {

Difference compare(std::span<const std::byte> element, std::span<const std::byte> copy) noexcept {
  Difference difference{.byte = {}, .size = element.size(), .copy_size = copy.size()};
  const auto [first, second] = std::ranges::mismatch(element, copy);
  if (first != element.end() || second != copy.end()) {
    difference.byte = static_cast<std::size_t>(first - element.begin());
  }
  return difference;
}

std::string name_of(ElementId id, std::string_view collection) {
  if (!id) {
    return "a value";
  }
  return fmt::format("element {}{}", id.value(), collection.empty() ? "" : fmt::format(" of '{}'", collection));
}

void serialisation_is_wrong(std::string_view type, const std::string& which, const Difference& difference) {
  const std::string how =
      difference.byte
          ? fmt::format("packed again, it differs from byte {} on ({} bytes before, {} after)",
                        *difference.byte,
                        difference.size,
                        difference.copy_size)
          : fmt::format("all of its {} bytes are alike, so operator== compares what is not packed", difference.size);
  throw Error{
      ErrorCode::bad_argument,
      fmt::format("{} of type {} is another one when it has been packed and unpacked: {}; let its serialize, or "
                  "its accessor, name every member, and load in the order of save",
                  which,
                  type,
                  how)};
}

}  // namespace plait::data::detail
