// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/steps/detail/pair_stage.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

namespace plait::particles::detail {
namespace {

class PairStage {
 public:
  PairStage(Particles& store, PairSums sums, std::uint32_t workers) : store_{store}, sums_{std::move(sums)} {
    for (std::uint32_t worker = 0; worker < workers; ++worker) {
      makers_.emplace_back(sums_.search);
    }
  }
  PairStage(const PairStage&) = delete;
  PairStage& operator=(const PairStage&) = delete;

  void sum(const StageWork& work) {
    for (const AnyField& field : sums_.results) {
      const auto bytes = store_.bytes_of(field);
      for (const Particles::Index target : work.targets) {
        std::ranges::fill(bytes.subspan(std::size_t{target} * field.bytes, field.bytes), std::byte{0});
      }
    }
    makers_[work.context.worker().value()].for_blocks(work.table, work.cell, work.targets, sums_.kernel);
  }

  [[nodiscard]] const PairSums& sums() const noexcept { return sums_; }

 private:
  Particles& store_;
  const PairSums sums_;
  std::vector<BlockMaker> makers_;  ///< By worker.
};

}  // namespace

Stage make_pair_stage(Particles& store, PairSums sums, std::uint32_t workers) {
  const auto stage = std::make_shared<PairStage>(store, std::move(sums), workers);
  const PairSums& what = stage->sums();
  return {.name = what.name,
          .kinds = Kinds::from_bits(what.search.target_kinds),
          .work = [stage](const StageWork& work) { stage->sum(work); },
          .reads_neighbours = true,
          .reads = fields_of_sources(what.search),
          .writes = what.results};
}

}  // namespace plait::particles::detail
