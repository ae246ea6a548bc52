// SPDX-License-Identifier: Apache-2.0
// Writes a small snapshot for readers in other languages: ring_snapshot_sample FILE
#include <cstdio>
#include <exception>

#include "ring/initial_condition.hpp"
#include "ring/snapshot.hpp"

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::fputs("usage: ring_snapshot_sample FILE\n", stderr);
    return 2;
  }
  ring::RingShape shape;
  shape.azimuthal = 2;
  ring::RunState state;
  state.time = 0.5;
  static_cast<void>(ring::write_snapshot(argv[1], state, ring::make_ring(shape)).value());
  return 0;
} catch (const std::exception& trouble) {
  std::fprintf(stderr, "ring_snapshot_sample: %s\n", trouble.what());
  return 1;
}
