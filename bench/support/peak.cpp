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

/// Runs `turns` turns of `chains` multiply-adds; returns their number.
double run(std::size_t turns, float* result) {
  constexpr std::size_t chains = 16;
  const hn::ScalableTag<float> d;
  const auto factor = hn::Set(d, 0.999F);
  const auto term = hn::Set(d, 1e-3F);
  auto a = hn::Set(d, 1.0F), b = a, c = a, e = a, f = a, g = a, h = a, i = a;
  auto a2 = a, b2 = a, c2 = a, e2 = a, f2 = a, g2 = a, h2 = a, i2 = a;
  for (std::size_t turn = 0; turn < turns; ++turn) {
    a = hn::MulAdd(a, factor, term);
    b = hn::MulAdd(b, factor, term);
    c = hn::MulAdd(c, factor, term);
    e = hn::MulAdd(e, factor, term);
    f = hn::MulAdd(f, factor, term);
    g = hn::MulAdd(g, factor, term);
    h = hn::MulAdd(h, factor, term);
    i = hn::MulAdd(i, factor, term);
    a2 = hn::MulAdd(a2, factor, term);
    b2 = hn::MulAdd(b2, factor, term);
    c2 = hn::MulAdd(c2, factor, term);
    e2 = hn::MulAdd(e2, factor, term);
    f2 = hn::MulAdd(f2, factor, term);
    g2 = hn::MulAdd(g2, factor, term);
    h2 = hn::MulAdd(h2, factor, term);
    i2 = hn::MulAdd(i2, factor, term);
  }
  const auto sum =
      hn::Add(hn::Add(hn::Add(hn::Add(a, b), hn::Add(c, e)), hn::Add(hn::Add(f, g), hn::Add(h, i))),
              hn::Add(hn::Add(hn::Add(a2, b2), hn::Add(c2, e2)), hn::Add(hn::Add(f2, g2), hn::Add(h2, i2))));
  *result += hn::GetLane(hn::SumOfLanes(d, sum));
  return static_cast<double>(turns * chains * hn::Lanes(d));
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
    best = std::max(best, count / (watch.microseconds() * 1e-6));
  }
  return result > 0 ? best : 0;
}

}  // namespace bench
#endif
