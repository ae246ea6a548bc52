// SPDX-License-Identifier: Apache-2.0
#include "plait/data/serialize.hpp"

#include <fmt/core.h>

#include "plait/base/error.hpp"

namespace plait::data::detail {
namespace {

[[noreturn]] void explain(std::string_view type, std::size_t size, std::string_view why) {
  throw Error{ErrorCode::bad_input,
              fmt::format("{} bytes are no packed {}: {}; they must come from the same type in the same version of the "
                          "program, and its pack and unpack must name the same members in the same order",
                          size,
                          type,
                          why)};
}

}  // namespace

void unpack_or_explain(void (*act)(void*, Unpacker&),
                       void* value,
                       std::span<const std::byte> from,
                       std::string_view type) {
  Unpacker unpacker{from};
  try {
    act(value, unpacker);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::bad_input) {
      throw;
    }
    explain(type, from.size(), error.what());
  } catch (const cereal::Exception& error) {
    explain(type, from.size(), error.what());
  }
  if (unpacker.left() > 0) {
    explain(type, from.size(), fmt::format("{} of them are left over", unpacker.left()));
  }
}

void size_was_wrong(std::string_view accessor, std::string_view type, std::size_t announced, std::size_t written) {
  throw Error{ErrorCode::bad_argument,
              fmt::format("{}::size returned {} bytes for a {}, but pack wrote {}: make the two agree",
                          accessor,
                          announced,
                          type,
                          written)};
}

}  // namespace plait::data::detail
