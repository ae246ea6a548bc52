// SPDX-License-Identifier: Apache-2.0
#include "plait/data/detail/checkpoint_codec.hpp"

#include <cstdint>
#include <utility>
#include <variant>

namespace plait::data::detail {

void put_values(Encoder& out, const std::map<std::string, CheckpointValue>& values) {
  out.put(std::uint64_t{values.size()});
  for (const auto& [key, value] : values) {
    out.put(key).put(std::uint64_t{value.index()});
    std::visit([&](const auto& held) { out.put(held); }, value);
  }
}

std::map<std::string, CheckpointValue> take_values(Decoder& in) {
  std::map<std::string, CheckpointValue> values;
  for (auto left = in.number<std::uint64_t>(); left > 0; --left) {
    std::string key = in.text();
    CheckpointValue value;
    switch (in.number<std::uint64_t>()) {
      case 0:
        value = in.number<std::uint64_t>();
        break;
      case 1:
        value = in.number<double>();
        break;
      case 2:
        value = in.text();
        break;
      default:
        value = in.bytes();
    }
    values.emplace(std::move(key), std::move(value));
  }
  return values;
}

Bytes encode(const Checkpoint& checkpoint) {
  Encoder out;
  out.put(checkpoint.program).put(checkpoint.step);
  put_values(out, checkpoint.values);
  out.put(std::uint64_t{checkpoint.collections.size()});
  for (const PackedElements& one : checkpoint.collections) {
    out.put(one.collection).put(one.type).put(extents_of(one.shape)).put(one.ids).put(one.offsets).put(one.bytes);
  }
  return out.bytes();
}

Checkpoint decode_checkpoint(std::span<const std::byte> bytes) {
  Decoder in{bytes};
  Checkpoint checkpoint;
  checkpoint.program = in.text();
  checkpoint.step = in.number<std::uint64_t>();
  checkpoint.values = take_values(in);
  checkpoint.collections.resize(in.number<std::uint64_t>());
  for (PackedElements& one : checkpoint.collections) {
    one.collection = in.text();
    one.type = in.text();
    one.shape = shape_of(in.list<std::uint64_t>());
    one.ids = in.list<ElementId>();
    one.offsets = in.list<std::uint64_t>();
    one.bytes = in.bytes();
  }
  return checkpoint;
}

}  // namespace plait::data::detail
