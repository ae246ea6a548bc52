// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <tuple>

#include "plait/base/bytes.hpp"
#include "plait/base/type_name.hpp"
#include "plait/data/packer.hpp"
#include "plait/data/serialize.hpp"

namespace plait::data::detail {

/// Appends the arguments of a call.
template <class... Values>
void pack_arguments(const std::tuple<Values...>& arguments, Bytes& to) {
  std::apply([packer = Packer{to}](const Values&... each) mutable { packer(each...); }, arguments);
}

/// Throws: as `unpack`.
template <class... Values>
void unpack_arguments(std::span<const std::byte> from, std::tuple<Values...>& arguments) {
  unpack_or_explain(
      [](void* place, Unpacker& unpacker) {
        std::apply([&](Values&... each) { unpacker(each...); }, *static_cast<std::tuple<Values...>*>(place));
      },
      &arguments,
      from,
      type_name<std::tuple<Values...>>());
}

}  // namespace plait::data::detail
