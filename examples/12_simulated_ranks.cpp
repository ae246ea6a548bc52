// SPDX-License-Identifier: Apache-2.0
// Tests a parallel function with eight ranks in one process, on networks that delay and reorder messages differently.
#include <iostream>
#include <stdexcept>

#include "plait/plait.hpp"
#include "plait/testing/run_program.hpp"

namespace {

/// The sum over all ranks, on rank 0; a chain of messages from the highest rank down.
int sum_of(plait::Runtime& runtime, int mine) {
  const plait::Rank self = runtime.self();
  int sum = mine;
  if (self.value() + 1 < runtime.rank_count()) {
    int above = 0;
    const plait::Address from{plait::Rank{self.value() + 1}, plait::Tag{7}};
    runtime.messages().receive(from, std::as_writable_bytes(std::span{&above, 1})).wait();
    sum += above;
  }
  if (self != plait::Rank{0}) {
    const plait::Address to{plait::Rank{self.value() - 1}, plait::Tag{7}};
    runtime.messages().send(to, std::as_bytes(std::span{&sum, 1})).wait();
  }
  return sum;
}

}  // namespace

int main() {
  using plait::test::run_program;
  using plait::test::World;

  int right = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    plait::net::SimOptions rough;
    rough.seed = seed;
    rough.delay_max = plait::nanoseconds{20'000};
    rough.order = plait::net::SimOrder::free;
    rough.retry_probability = 0.3;
    run_program(World{.ranks = 8, .network = rough}, [&](plait::Runtime& runtime) {
      const int sum = sum_of(runtime, static_cast<int>(runtime.self().value()));
      if (runtime.self() == plait::Rank{0} && sum == 28) {
        ++right;
      }
    });
  }
  std::cout << right << " of 20 networks give the right sum\n";

  // An exception of one rank reaches the caller, although rank 0 waits for that rank.
  try {
    run_program(World{.ranks = 2}, [](plait::Runtime& runtime) {
      if (runtime.self() == plait::Rank{1}) {
        throw std::runtime_error{"rank 1 has no data"};
      }
      (void)sum_of(runtime, 1);
    });
  } catch (const std::exception& error) {
    std::cout << "caught: " << error.what() << '\n';
  }
}
