// SPDX-License-Identifier: Apache-2.0
// Regions of a program that knows nothing of plait but two names of functions, on two threads.
#include <dlfcn.h>
#include <thread>

#include <mpi.h>

namespace {

auto* const begin = reinterpret_cast<void (*)(const char*)>(::dlsym(RTLD_DEFAULT, "plait_region_begin"));
auto* const end = reinterpret_cast<void (*)()>(::dlsym(RTLD_DEFAULT, "plait_region_end"));

void solve(int step) {
  begin("solve");
  begin("exchange");
  MPI_Bcast(&step, 1, MPI_INT, 0, MPI_COMM_WORLD);
  end();
  end();
}

}  // namespace

int main(int argc, char** argv) {
  if (begin == nullptr || end == nullptr) {
    return 1;
  }
  begin("before MPI");
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  end();  // ignored, as its begin was not recorded
  for (int step = 0; step < 3; ++step) {
    solve(step);
  }
  std::thread{[] { solve(3); }}.join();
  begin("never ended");
  MPI_Finalize();
  end();
}
