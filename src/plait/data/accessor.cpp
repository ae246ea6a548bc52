// SPDX-License-Identifier: Apache-2.0
#include "plait/data/accessor.hpp"

#include <fmt/core.h>

#include "plait/base/error.hpp"

namespace plait::data::detail {

void size_was_wrong(std::string_view accessor, std::string_view type, std::size_t announced, std::size_t written) {
  throw Error{ErrorCode::bad_argument,
              fmt::format("{}::size returned {} bytes for a {}, but pack wrote {}: make the two agree",
                          accessor,
                          announced,
                          type,
                          written)};
}

}  // namespace plait::data::detail
