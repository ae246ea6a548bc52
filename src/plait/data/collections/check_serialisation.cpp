// SPDX-License-Identifier: Apache-2.0
#include "plait/data/collections/check_serialisation.hpp"

#include <algorithm>
#include <string>

#include <fmt/core.h>

#include "plait/base/error.hpp"

namespace plait::data::detail {

std::string name_of(ElementId id, std::string_view collection) {
  if (!id) {
    return "a value";
  }
  return fmt::format("element {}{}", id.value(), collection.empty() ? "" : fmt::format(" of '{}'", collection));
}

void serialisation_is_wrong(std::string_view type,
                            const std::string& which,
                            std::span<const std::byte> packed,
                            std::span<const std::byte> packed_again) {
  const auto [first, second] = std::ranges::mismatch(packed, packed_again);
  const std::string how =
      first != packed.end() || second != packed_again.end()
          ? fmt::format("packed again, it differs from byte {} on ({} bytes before, {} after)",
                        first - packed.begin(),
                        packed.size(),
                        packed_again.size())
          : fmt::format("all of its {} bytes are equal, so operator== compares what is not packed", packed.size());
  throw Error{ErrorCode::bad_argument,
              fmt::format("{} of type {} changes when it is packed and unpacked: {}; name every member in its "
                          "serialize or its accessor, and load them in the order of save",
                          which,
                          type,
                          how)};
}

}  // namespace plait::data::detail
