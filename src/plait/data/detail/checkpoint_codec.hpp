// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>
#include <string>

#include "plait/base/bytes.hpp"
#include "plait/data/checkpoint.hpp"
#include "plait/data/detail/codec.hpp"

namespace plait::data::detail {

// Checkpoints and their parts as bytes, for other ranks of the same run.

void put_values(Encoder& out, const std::map<std::string, CheckpointValue>& values);
[[nodiscard]] std::map<std::string, CheckpointValue> take_values(Decoder& in);

[[nodiscard]] Bytes encode(const Checkpoint& checkpoint);
[[nodiscard]] Checkpoint decode_checkpoint(std::span<const std::byte> bytes);

}  // namespace plait::data::detail
