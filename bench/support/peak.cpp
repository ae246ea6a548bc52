// SPDX-License-Identifier: Apache-2.0
#include "support/peak.hpp"

#include <algorithm>
#include <cstddef>

#include "support/stopwatch.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "support/peak.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bench::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// One multiply-add of each chain.
template <class V, class... Chains>
HWY_INLINE void multiply_add(V factor, V term, Chains&... chains) {
  ((chains = hn::MulAdd(chains, factor, term)), ...);
}

template <class V, class... Others>
HWY_INLINE V sum_of(V first, Others... others) {
  ((first = hn::Add(first, others)), ...);
  return first;
}

/// Runs `turns` multiply-adds of 16 chains; returns the number of operations.
double run(std::size_t turns, float* result) {
  const hn::ScalableTag<float> d;
  const auto factor = hn::Set(d, 0.999F);
  const auto term = hn::Set(d, 1e-3F);
  // The first values differ, as a compiler computes equal chains once.
  const auto at = hn::Iota(d, 1.0F);
  auto a = at, b = hn::Add(a, term), c = hn::Add(b, term), e = hn::Add(c, term);
  auto f = hn::Add(e, term), g = hn::Add(f, term), h = hn::Add(g, term), i = hn::Add(h, term);
  auto a2 = hn::Add(i, term), b2 = hn::Add(a2, term), c2 = hn::Add(b2, term), e2 = hn::Add(c2, term);
  auto f2 = hn::Add(e2, term), g2 = hn::Add(f2, term), h2 = hn::Add(g2, term), i2 = hn::Add(h2, term);
  for (std::size_t turn = 0; turn < turns; ++turn) {
    multiply_add(factor, term, a, b, c, e, f, g, h, i, a2, b2, c2, e2, f2, g2, h2, i2);
  }
  *result += hn::GetLane(hn::SumOfLanes(d, sum_of(a, b, c, e, f, g, h, i, a2, b2, c2, e2, f2, g2, h2, i2)));
  return static_cast<double>(turns * 16 * hn::Lanes(d));
}

}  // namespace bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bench {

HWY_EXPORT(run);

double fused_multiply_adds_a_second() {
  float result = 0;
  double best = 0;
  for (int repetition = 0; repetition < 10; ++repetition) {
    const Stopwatch watch;
    const double count = HWY_DYNAMIC_DISPATCH(run)(500'000, &result);
    best = std::max(best, count / watch.seconds());
  }
  return result > 0 ? best : 0;
}

}  // namespace bench
#endif
