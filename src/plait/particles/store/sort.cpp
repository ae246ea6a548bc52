// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/store/sort.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <hwy/contrib/sort/vqsort.h>
#include <new>
#include <sys/mman.h>
#include <tuple>
#include <utility>

#include "plait/base/error.hpp"
#include "plait/task/graph.hpp"

namespace plait::particles {
namespace {

// The 16-byte items that fit a second-level cache, with room for input.
constexpr std::size_t bucket_items = 8192;
constexpr std::uint32_t buckets_max = 4096;
constexpr std::size_t samples_a_bucket = 32;
constexpr std::align_val_t large_page{std::size_t{1} << 21U};

}  // namespace

template <SortKey Key>
bool SampleSort<Key>::is_before(std::size_t i, const Splitter& splitter) const noexcept {
  using Wide = unsigned __int128;
  const Item& item = items_[i];
  if constexpr (is_wide) {
    const Wide mine = Wide{item.key} << 64U | low_[i];
    const Wide its = Wide{splitter.item.key} << 64U | splitter.low;
    return mine != its ? mine < its : i < splitter.item.index;
  } else {
    return (Wide{item.key} << 64U | item.index) < (Wide{splitter.item.key} << 64U | splitter.item.index);
  }
}

template <SortKey Key>
void SampleSort<Key>::begin(std::size_t count, std::uint32_t pieces) {
  expect(pieces > 0, "a sort has at least one piece");
  count_ = count;
  pieces_ = pieces;
  bucket_count_ = static_cast<std::uint32_t>(
      std::min<std::size_t>(buckets_max, std::bit_ceil(std::max<std::size_t>(1, count / bucket_items))));
  items_.resize(count);
  sorted_.resize(count);
  low_.resize(is_wide ? count : 0);
  bucket_of_.resize(bucket_count_ > 1 ? count : 0);
}

template <SortKey Key>
void SampleSort<Key>::split() {
  const std::size_t wanted = bucket_count_ > 1 ? samples_a_bucket * bucket_count_ : 0;
  std::vector<Splitter> samples;
  samples.reserve(wanted);
  std::uint64_t state = count_;  // one in each part, at a pseudo-random place, as input may be regular
  for (std::size_t i = 0; i < wanted; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const std::size_t begin = count_ * i / wanted;
    const std::size_t length = count_ * (i + 1) / wanted - begin;
    const std::size_t place = begin + (state >> 33U) % std::max<std::size_t>(length, 1);
    samples.push_back({items_[place], is_wide ? low_[place] : 0});
  }
  std::ranges::sort(samples, {}, [](const Splitter& s) { return std::tuple{s.item.key, s.low, s.item.index}; });
  // The splitters as a search tree without pointers: the children of node i are 2 i and 2 i + 1.
  splitters_.resize(bucket_count_);
  for (std::uint32_t node = 1; node < bucket_count_; ++node) {
    const int depth = std::bit_width(node) - 1;
    const std::uint32_t step = bucket_count_ >> static_cast<unsigned>(depth);
    const std::uint32_t splitter = (node - (1U << static_cast<unsigned>(depth))) * step + step / 2;
    splitters_[node] = samples[std::size_t{splitter} * samples_a_bucket];
  }
  places_.assign(std::size_t{pieces_} * bucket_count_, 0);
  begins_.assign(std::size_t{bucket_count_} + 1, 0);
}

template <SortKey Key>
void SampleSort<Key>::count_piece(std::uint32_t piece) {
  std::size_t* counts = places_.data() + std::size_t{piece} * bucket_count_;
  const std::size_t begin = piece_begin(piece);
  const std::size_t end = piece_begin(piece + 1);
  if (bucket_count_ == 1) {
    counts[0] = end - begin;
    return;
  }
  // Several searches at once hide the latency of each.
  constexpr std::size_t together_max = 8;
  const int depth = std::bit_width(bucket_count_) - 1;
  for (std::size_t i = begin; i < end;) {
    const std::size_t together = std::min(together_max, end - i);
    std::array<std::uint32_t, together_max> nodes;
    nodes.fill(1);
    for (int level = 0; level < depth; ++level) {
      for (std::size_t k = 0; k < together; ++k) {
        nodes[k] = 2 * nodes[k] + (is_before(i + k, splitters_[nodes[k]]) ? 0U : 1U);
      }
    }
    for (std::size_t k = 0; k < together; ++k) {
      const std::uint32_t bucket = nodes[k] - bucket_count_;
      bucket_of_[i + k] = static_cast<std::uint16_t>(bucket);
      ++counts[bucket];
    }
    i += together;
  }
}

template <SortKey Key>
void SampleSort<Key>::plan() {
  std::size_t sum = 0;
  for (std::uint32_t bucket = 0; bucket < bucket_count_; ++bucket) {
    begins_[bucket] = sum;
    for (std::uint32_t piece = 0; piece < pieces_; ++piece) {
      std::size_t& place = places_[std::size_t{piece} * bucket_count_ + bucket];
      sum += std::exchange(place, sum);
    }
  }
  begins_[bucket_count_] = sum;
}

template <SortKey Key>
void SampleSort<Key>::place_piece(std::uint32_t piece) {
  std::size_t* places = places_.data() + std::size_t{piece} * bucket_count_;
  const std::size_t begin = piece_begin(piece);
  const std::size_t end = piece_begin(piece + 1);
  if (bucket_count_ == 1) {
    std::copy(items_.begin() + static_cast<std::ptrdiff_t>(begin),
              items_.begin() + static_cast<std::ptrdiff_t>(end),
              sorted_.begin() + static_cast<std::ptrdiff_t>(begin));
    return;
  }
  for (std::size_t i = begin; i < end; ++i) {
    sorted_[places[bucket_of_[i]]++] = items_[i];
  }
}

template <SortKey Key>
void SampleSort<Key>::sort_bucket(std::uint32_t bucket) {
  const std::size_t begin = begins_[bucket];
  const std::size_t count = begins_[bucket + 1] - begin;
  static_assert(sizeof(Item) == 16 && std::endian::native == std::endian::little, "an item is a number of 128 bits");
  auto* const numbers = reinterpret_cast<hwy::uint128_t*>(sorted_.data() + begin);
#if HWY_MAJOR > 1 || HWY_MINOR >= 2  // then, only one of Highway's sorts is linked
  hwy::VQSort(numbers, count, hwy::SortAscending{});
#else
  const hwy::Sorter sorter;
  sorter(numbers, count, hwy::SortAscending{});
#endif
  if constexpr (is_wide) {
    const auto end = sorted_.begin() + static_cast<std::ptrdiff_t>(begin + count);
    for (auto first = end - static_cast<std::ptrdiff_t>(count); first != end;) {  // runs of equal high parts
      const auto last = std::find_if(first + 1, end, [&](const Item& item) { return item.key != first->key; });
      std::sort(first, last, [this](const Item& a, const Item& b) {
        return std::pair{low_[a.index], a.index} < std::pair{low_[b.index], b.index};
      });
      first = last;
    }
  }
}

template class SampleSort<std::uint64_t>;
template class SampleSort<Key128>;

namespace detail {

void run_phases(task::Scheduler& scheduler, std::span<const Phase> phases) {
  task::Graph graph;
  const task::TaskKind kind = graph.kind("sort: piece");
  std::vector<task::Task> tasks;
  for (const Phase& phase : phases) {
    task::Task task = graph.task("sort: phase", [&phase, kind](task::TaskContext& context) {
      const std::uint32_t count = phase.count();
      if (count == 1) {
        phase.piece(0);
        return;
      }
      for (std::uint32_t piece = 0; piece < count; ++piece) {
        context.spawn(
            {.kind = kind, .body = [&phase, piece](task::TaskContext&) { phase.piece(piece); }, .object = piece});
      }
    });
    if (!tasks.empty()) {
      task.after(tasks.back());
    }
    tasks.push_back(task);
  }
  scheduler.run(graph);
}

void FreeLarge::operator()(std::byte* memory) const noexcept {
  ::operator delete(memory, large_page);
}

LargeArray allocate_large(std::size_t bytes) {
  LargeArray memory{static_cast<std::byte*>(::operator new(bytes, large_page))};
  (void)::madvise(memory.get(), bytes, MADV_HUGEPAGE);  // best effort
  return memory;
}

}  // namespace detail
}  // namespace plait::particles
