// SPDX-License-Identifier: Apache-2.0
#include "plait/accelerate/engine/datatypes.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <numeric>
#include <optional>
#include <vector>

#include "plait/accelerate/engine/session.hpp"

namespace plait::accelerate {

namespace {

using Block = comm::LayoutPattern::Block;
using Blocks = std::vector<Block>;

/// A type with more blocks than this is packed by MPI.
constexpr std::size_t blocks_max = std::size_t{1} << 16U;

std::size_t size_of(MPI_Datatype type) {
  MPI_Count size = 0;
  PMPI_Type_size_x(type, &size);
  return static_cast<std::size_t>(size);
}

MPI_Aint extent_of(MPI_Datatype type) {
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  PMPI_Type_get_extent(type, &lower, &extent);
  return extent;
}

/// The blocks of a predefined type, which are not one where C's structures have gaps (MPI_SHORT_INT). Packs bytes that
/// are their own places.
std::optional<Blocks> blocks_of_named(MPI_Datatype type) {
  const std::size_t size = size_of(type);
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  PMPI_Type_get_true_extent(type, &lower, &extent);
  if (lower == 0 && static_cast<std::size_t>(extent) == size) {
    return Blocks{{0, size}};
  }
  std::array<unsigned char, 256> places{};
  std::array<unsigned char, 256> packed{};
  if (lower != 0 || static_cast<std::size_t>(extent) > places.size()) {
    return {};
  }
  std::iota(places.begin(), places.end(), static_cast<unsigned char>(0));
  int position = 0;
  if (PMPI_Pack(places.data(), 1, type, packed.data(), static_cast<int>(packed.size()), &position, MPI_COMM_SELF) !=
          MPI_SUCCESS ||
      static_cast<std::size_t>(position) != size) {
    return {};
  }
  Blocks blocks;
  for (std::size_t i = 0; i < size; ++i) {
    blocks.push_back({packed[i], 1});
  }
  return comm::LayoutPattern{blocks}.blocks();
}

std::optional<Blocks> blocks_of(MPI_Datatype type);

/// Appends `count` elements of `blocks`, the first at `place`. False when there would be too many.
bool append(Blocks& all, const Blocks& blocks, MPI_Aint place, MPI_Count count, MPI_Aint stride) {
  if (blocks.size() == 1 && static_cast<MPI_Aint>(blocks.front().bytes) == stride && count > 1) {
    return append(all, {{blocks.front().place, blocks.front().bytes * static_cast<std::size_t>(count)}}, place, 1, 0);
  }
  for (MPI_Count i = 0; i < count; ++i) {
    for (const Block& block : blocks) {
      const std::ptrdiff_t begin = place + i * stride + block.place;
      if (!all.empty() && all.back().place + static_cast<std::ptrdiff_t>(all.back().bytes) == begin) {
        all.back().bytes += block.bytes;
      } else if (all.size() == blocks_max) {
        return false;
      } else {
        all.push_back({begin, block.bytes});
      }
    }
  }
  return true;
}

/// How a type was made, as MPI_Type_get_envelope returns it.
struct Envelope {
  explicit Envelope(MPI_Datatype type) {
#if MPI_VERSION >= 4
    MPI_Count integers = 0;
    MPI_Count addresses = 0;
    MPI_Count large = 0;
    MPI_Count types = 0;
    PMPI_Type_get_envelope_c(type, &integers, &addresses, &large, &types, &combiner);
    integer_count = static_cast<int>(integers);
    address_count = static_cast<int>(addresses);
    type_count = static_cast<int>(types);
    has_large_counts = large > 0;
#else
    PMPI_Type_get_envelope(type, &integer_count, &address_count, &type_count, &combiner);
#endif
  }

  [[nodiscard]] bool is_predefined() const noexcept {
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
           combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
  }

  int integer_count = 0;
  int address_count = 0;
  int type_count = 0;
  int combiner = MPI_COMBINER_NAMED;
  bool has_large_counts = false;  ///< Only MPI_Type_get_contents_c describes it.
};

/// The arguments of the call that made a type. Frees the inner types that MPI returned.
struct Contents {
  Contents(MPI_Datatype type, const Envelope& envelope)
      : integers(static_cast<std::size_t>(envelope.integer_count)),
        addresses(static_cast<std::size_t>(envelope.address_count)),
        types(static_cast<std::size_t>(envelope.type_count)) {
    if (PMPI_Type_get_contents(type,
                               envelope.integer_count,
                               envelope.address_count,
                               envelope.type_count,
                               integers.data(),
                               addresses.data(),
                               types.data()) != MPI_SUCCESS) {
      types.clear();
    }
  }
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;
  ~Contents() {
    for (MPI_Datatype& inner : types) {
      if (!Envelope{inner}.is_predefined()) {
        PMPI_Type_free(&inner);
      }
    }
  }

  std::vector<int> integers;
  std::vector<MPI_Aint> addresses;
  std::vector<MPI_Datatype> types;
};

std::optional<Blocks> blocks_of_struct(const Contents& contents) {
  Blocks all;
  for (std::size_t i = 0; i < contents.types.size(); ++i) {
    const MPI_Datatype inner = contents.types[i];
    const std::optional<Blocks> blocks = blocks_of(inner);
    if (!blocks || !append(all, *blocks, contents.addresses[i], contents.integers[i + 1], extent_of(inner))) {
      return {};
    }
  }
  return all;
}

/// `length(i)` elements at `place(i)`, for `count` values of i.
template <class Length, class Place>
std::optional<Blocks> blocks_of_indexed(MPI_Datatype inner, int count, Length length, Place place) {
  const std::optional<Blocks> blocks = blocks_of(inner);
  const MPI_Aint extent = extent_of(inner);
  Blocks all;
  for (int i = 0; blocks && i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (!append(all, *blocks, place(at, extent), length(at), extent)) {
      return {};
    }
  }
  return blocks ? std::optional{all} : std::nullopt;
}

std::optional<Blocks> blocks_of_subarray(const Contents& contents) {
  const auto dimensions = static_cast<std::size_t>(contents.integers[0]);
  const int* const sizes = &contents.integers[1];
  const int* const parts = sizes + dimensions;
  const int* const starts = parts + dimensions;
  const bool is_c = contents.integers[3 * dimensions + 1] == MPI_ORDER_C;
  const std::optional<Blocks> inner = blocks_of(contents.types[0]);
  if (!inner) {
    return {};
  }
  Blocks blocks = *inner;
  MPI_Aint stride = extent_of(contents.types[0]);
  for (std::size_t i = 0; i < dimensions; ++i) {  // from the dimension that varies fastest
    const std::size_t which = is_c ? dimensions - 1 - i : i;
    Blocks wider;
    if (!append(wider, blocks, starts[which] * stride, parts[which], stride)) {
      return {};
    }
    blocks = std::move(wider);
    stride *= sizes[which];
  }
  return blocks;
}

/// The blocks of one element in the order of the message; nothing for what is left to MPI_Pack.
std::optional<Blocks> blocks_of(MPI_Datatype type) {
  const Envelope envelope{type};
  if (envelope.is_predefined()) {
    return blocks_of_named(type);
  }
  if (envelope.has_large_counts) {
    return {};
  }
  const Contents contents{type, envelope};
  if (contents.types.empty()) {
    return {};
  }
  const auto& integers = contents.integers;
  const auto& addresses = contents.addresses;
  const auto each = [](auto value) { return [value](std::size_t) { return value; }; };
  switch (envelope.combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
      return blocks_of(contents.types[0]);
    case MPI_COMBINER_CONTIGUOUS:
      return blocks_of_indexed(
          contents.types[0], 1, each(integers[0]), [](std::size_t, MPI_Aint) { return MPI_Aint{0}; });
    case MPI_COMBINER_VECTOR:
      return blocks_of_indexed(contents.types[0], integers[0], each(integers[1]), [&](std::size_t i, MPI_Aint extent) {
        return static_cast<MPI_Aint>(i) * integers[2] * extent;
      });
    case MPI_COMBINER_HVECTOR:
      return blocks_of_indexed(contents.types[0], integers[0], each(integers[1]), [&](std::size_t i, MPI_Aint) {
        return static_cast<MPI_Aint>(i) * addresses[0];
      });
    case MPI_COMBINER_INDEXED:
      return blocks_of_indexed(
          contents.types[0],
          integers[0],
          [&](std::size_t i) { return integers[1 + i]; },
          [&](std::size_t i, MPI_Aint extent) {
            return integers[1 + static_cast<std::size_t>(integers[0]) + i] * extent;
          });
    case MPI_COMBINER_HINDEXED:
      return blocks_of_indexed(
          contents.types[0],
          integers[0],
          [&](std::size_t i) { return integers[1 + i]; },
          [&](std::size_t i, MPI_Aint) { return addresses[i]; });
    case MPI_COMBINER_INDEXED_BLOCK:
      return blocks_of_indexed(contents.types[0], integers[0], each(integers[1]), [&](std::size_t i, MPI_Aint extent) {
        return integers[2 + i] * extent;
      });
    case MPI_COMBINER_HINDEXED_BLOCK:
      return blocks_of_indexed(
          contents.types[0], integers[0], each(integers[1]), [&](std::size_t i, MPI_Aint) { return addresses[i]; });
    case MPI_COMBINER_STRUCT:
      return blocks_of_struct(contents);
    case MPI_COMBINER_SUBARRAY:
      return blocks_of_subarray(contents);
    default:
      return {};
  }
}

Datatype describe(MPI_Datatype type) {
  Datatype datatype;
  datatype.size = size_of(type);
  datatype.extent = extent_of(type);
  if (const std::optional<Blocks> blocks = blocks_of(type)) {
    auto pattern = std::make_shared<const comm::LayoutPattern>(*blocks);
    datatype.is_contiguous = pattern->blocks().size() <= 1;
    if (datatype.is_contiguous) {
      datatype.lower = pattern->blocks().empty() ? 0 : pattern->blocks().front().place;
    } else {
      datatype.pattern = std::move(pattern);
    }
  }
  return datatype;
}

/// The library frees `type`, as the program has called it to, also in a callback, where calls are not routed.
int forget_type(MPI_Datatype type, int /*keyval*/, void* /*value*/, void* /*extra*/) {
  if (EngineSession* const session = find_session()) {
    session->datatypes().freed(type);
  }
  return MPI_SUCCESS;
}

}  // namespace

Datatypes::Datatypes() {
  PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, forget_type, &keyval_, nullptr);
}

Datatypes::~Datatypes() {
  PMPI_Type_free_keyval(&keyval_);
}

const std::shared_ptr<const Datatype>& Datatypes::find(MPI_Datatype type) {
  struct Last {
    MPI_Datatype type{};
    const std::shared_ptr<const Datatype>* datatype = nullptr;
    std::uint64_t epoch = 0;
  };
  static constinit thread_local Last last{};
  const std::uint64_t epoch = epoch_.load(std::memory_order_acquire);  // with release in freed()
  if (last.epoch == epoch && last.type == type) [[likely]] {
    return *last.datatype;
  }
  const auto keep = [&](const std::shared_ptr<const Datatype>& datatype) -> auto& {
    last = {type, &datatype, epoch};
    return datatype;  // stays in the table until the type is freed
  };
  {
    const std::shared_lock lock{mutex_};
    if (const auto found = known_.find(type); found != known_.end()) {
      return keep(found->second);
    }
  }
  auto described = std::make_shared<const Datatype>(describe(type));
  std::unique_lock lock{mutex_};
  const auto [place, is_new] = known_.try_emplace(type, std::move(described));
  const auto& datatype = keep(place->second);
  lock.unlock();  // the library may hold a lock of its own where it calls forget_type()
  if (is_new && !Envelope{type}.is_predefined()) {
    PMPI_Type_set_attr(type, keyval_, nullptr);
  }
  return datatype;
}

void Datatypes::freed(MPI_Datatype type) noexcept {
  const std::unique_lock lock{mutex_};
  if (known_.erase(type) > 0) {
    epoch_.fetch_add(1, std::memory_order_release);  // with acquire in find()
  }
}

}  // namespace plait::accelerate
