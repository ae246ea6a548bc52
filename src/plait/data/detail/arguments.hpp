// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <tuple>

#include "plait/base/bytes.hpp"
#include "plait/data/packer.hpp"

namespace plait::data::detail {

/// Appends the arguments of a call.
template <class... Values>
void pack_arguments(const std::tuple<Values...>& arguments, Bytes& to) {
  std::apply([packer = Packer{to}](const Values&... each) mutable { packer(each...); }, arguments);
}

/// Throws: as `Unpacker`.
template <class... Values>
void unpack_arguments(std::span<const std::byte> from, std::tuple<Values...>& arguments) {
  std::apply([unpacker = Unpacker{from}](Values&... each) mutable { unpacker(each...); }, arguments);
}

}  // namespace plait::data::detail
