// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "plait/data/collections/detail/element_calls.hpp"

namespace plait::data::detail {

/// Moves elements between ranks. A migration is a phase without tasks: it ends when every element has arrived.
///
/// Threads: the collection's; `take` of the thread that makes progress, during a migration.
class Migration {
 public:
  using Notes = std::vector<std::pair<Rank, Head>>;
  explicit Migration(const EngineParts& parts) noexcept : parts_{parts}, info_{parts.info} {}

  /// `notes`: posted first, to homes of elements that have come or gone since the last phase. Throws: `Error` with
  /// `bad_argument`, on all ranks, for an element or a rank that is not there; what packing throws.
  MigrationReport migrate(std::span<const Move> moves, const Notes& notes);
  /// Takes over these elements and destroys those that are here.
  void replace(std::span<const std::pair<ElementId, Element*>> elements);
  /// An element has arrived.
  void take(ElementId id, std::span<const std::byte> packed);

 private:
  void check(std::span<const Move> moves);
  void send(const Move& move, MigrationReport& report);
  void insert(ElementId id, Element& element);
  void begin();
  void end();

  const EngineParts& parts_;
  const CollectionInfo& info_;
};

}  // namespace plait::data::detail
