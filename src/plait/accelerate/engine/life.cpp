// SPDX-License-Identifier: Apache-2.0
// From the start of the engine to its end: MPI_Init, MPI_Finalize, MPI_Abort, fork.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <pthread.h>
#include <string_view>

#include "plait/accelerate/engine/routes.hpp"
#include "plait/accelerate/engine/session.hpp"
#include "plait/net/mpi/launch.hpp"
#include "plait/runtime/strategy.hpp"

namespace plait::accelerate {

namespace {

/// Owned by this file; null before MPI_Init and after MPI_Finalize.
std::atomic<EngineSession*> active = nullptr;
Preload preload;

/// As much as a program's own MPI has in flight, which sends whole messages: nothing of it is more urgent.
constexpr std::size_t bulk_between_hosts_max = std::size_t{8} << 20U;

void install(const std::vector<FunctionRoute>& routes) {
  for (const FunctionRoute& route : routes) {
    for (Entry& entry : preload.entries) {
      if (std::string_view{entry.name} == route.name) {
        entry.routed.store(route.function, std::memory_order_release);  // with acquire in enter()
      }
    }
  }
}

void remove_routes() noexcept {
  for (Entry& entry : preload.entries) {
    entry.routed.store(nullptr, std::memory_order_release);
  }
}

int finalize();
int abort(MPI_Comm handle, int code);

void install_all() {
  for (const std::vector<FunctionRoute>& routes : {buffer_routes(),
                                                   collective_routes(),
                                                   communicator_routes(),
                                                   foreign_routes(),
                                                   handle_routes(),
                                                   message_routes(),
                                                   partitioned_routes(),
                                                   probe_routes(),
                                                   wait_routes()}) {
    install(routes);
  }
  install({route<decltype(::PMPI_Finalize)>("PMPI_Finalize", finalize),
           route<decltype(::PMPI_Abort)>("PMPI_Abort", abort)});
}

/// Whether by the launcher's variables all ranks are on this host: the engine then needs nothing of MPI.
bool is_one_host() {
  return std::getenv("PLAIT_HOST") == nullptr && std::getenv("PLAIT_NETWORK") == nullptr &&
         net::is_launched_on_one_host();
}

/// Starts the session on all ranks or on none.
void start() noexcept {
  EngineSession* session = nullptr;
  try {
    Options options = with_strategy(MPI_COMM_WORLD, Options::from_environment());
    options.network.bulk_between_hosts_max = bulk_between_hosts_max;
    int level = MPI_THREAD_SINGLE;
    PMPI_Query_thread(&level);
    options.progression.thread_start = [] { *preload.is_inside() = true; };
    if (level < MPI_THREAD_MULTIPLE && !is_one_host()) {
      options.progression.mode = comm::ProgressionMode::none;
      std::fprintf(stderr,
                   "plait: this MPI library does not allow threads of plait to call it: messages between hosts "
                   "move only while the program calls MPI\n");
    }
    session = new EngineSession{options};
  } catch (const std::exception& error) {
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::fprintf(stderr, "plait: rank %d: the program's messages are not accelerated: %s\n", rank, error.what());
  }
  const int has_failed = session == nullptr ? 1 : 0;
  int any_failed = 0;
  PMPI_Allreduce(&has_failed, &any_failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (any_failed != 0) {
    delete session;
    remove_routes();
    return;
  }
  // A forked child has no threads and must not use the parent's segment.
  ::pthread_atfork(nullptr, nullptr, [] {
    remove_routes();
    *preload.is_inside() = true;
    active.store(nullptr);
  });
  // If the program exits without MPI_Finalize, before its libraries are unloaded.
  std::atexit([] {
    if (EngineSession* const left = active.exchange(nullptr)) {
      left->stop_progress();
    }
  });
  active.store(session, std::memory_order_release);
  install_all();
}

int init_thread(int* argc, char*** argv, int required, int* provided) {
  // Threads of the engine call MPI. The program may have any level, as it keeps to what it requested.
  const int result = PMPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, provided);
  if (result == MPI_SUCCESS) {
    *provided = std::min(*provided, required);
    start();
  }
  return result;
}

int init(int* argc, char*** argv) {
  int provided = MPI_THREAD_SINGLE;
  return init_thread(argc, argv, MPI_THREAD_SINGLE, &provided);
}

int finalize() {
  EngineSession* const session = active.load(std::memory_order_acquire);
  if (session != nullptr) {
    session->finish();
    remove_routes();
    active.store(nullptr);
    delete session;
  }
  return PMPI_Finalize();
}

int abort(MPI_Comm handle, int code) {
  remove_routes();
  return PMPI_Abort(handle, code);
}

}  // namespace

EngineSession& use_session() noexcept {
  return *active.load(std::memory_order_acquire);
}

EngineSession* find_session() noexcept {
  return active.load(std::memory_order_acquire);
}

bool is_library_called() noexcept {
  return preload.calls_of_library->load(std::memory_order_relaxed) > 0;  // a hint
}

extern "C" [[gnu::visibility("default")]] void plait_accelerate_start(const Preload& offered) {
  preload = offered;
  if (!is_one_host()) {
    net::request_eager_messages_of_ucx();  // which MPICH uses
  }
  install({route<decltype(::PMPI_Init)>("PMPI_Init", init),
           route<decltype(::PMPI_Init_thread)>("PMPI_Init_thread", init_thread)});
}

}  // namespace plait::accelerate
