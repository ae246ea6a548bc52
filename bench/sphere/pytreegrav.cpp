// SPDX-License-Identifier: Apache-2.0
#include "sphere/pytreegrav.hpp"

#include <fmt/format.h>

#include "support/command.hpp"

namespace bench {

Pytreegrav run_pytreegrav(Report& report, std::size_t count, unsigned threads) {
  const CommandOutput output = output_of(fmt::format("timeout 300 {} {}/pytreegrav_peer.py {} {} {}",
                                                     BENCH_SPHERE_PYTHON,
                                                     BENCH_SPHERE_FOLDER,
                                                     count,
                                                     threads,
                                                     report.is_full() ? 5 : 3));
  Pytreegrav found{numbers_after("round", output.text), numbers_after("error", output.text)};
  if (!output.is_good || found.seconds.empty() || found.error.empty()) {
    report.note("pytreegrav is left out: " BENCH_SPHERE_PYTHON " -m pip install pytreegrav");
    return {};
  }
  return found;
}

}  // namespace bench
