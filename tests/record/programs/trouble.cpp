// SPDX-License-Identifier: Apache-2.0
// trouble WHICH: an MPI program that makes one kind of trouble for its recorder. Two ranks or more.
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <mpi.h>

namespace {

constexpr int word_count = 1000;
using Words = std::array<int, word_count>;

int rank_in(MPI_Comm communicator) {
  int rank = 0;
  MPI_Comm_rank(communicator, &rank);
  return rank;
}

int world_size() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

/// Round the ring: everybody sends to the next and receives from the one before.
void ring(int tag, MPI_Comm communicator = MPI_COMM_WORLD) {
  int size = 0;
  MPI_Comm_size(communicator, &size);
  const int rank = rank_in(communicator);
  Words given{};
  Words taken{};
  given.fill(rank);
  MPI_Sendrecv(given.data(),
               word_count,
               MPI_INT,
               (rank + 1) % size,
               tag,
               taken.data(),
               word_count,
               MPI_INT,
               (rank + size - 1) % size,
               tag,
               communicator,
               MPI_STATUS_IGNORE);
  if (taken.front() != (rank + size - 1) % size) {
    MPI_Abort(communicator, 3);
  }
}

void say(const char* what) {
  if (rank_in(MPI_COMM_WORLD) == 0) {
    std::printf("%s\n", what);
    std::fflush(stdout);
  }
}

/// One rank gives up while the others wait for it.
void abort_inside() {
  ring(1);
  say("about to abort");
  if (rank_in(MPI_COMM_WORLD) == 1) {
    MPI_Abort(MPI_COMM_WORLD, 7);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// Several threads, each with messages and requests of its own.
void call_from_threads() {
  constexpr int thread_count = 4;
  constexpr int rounds = 50;
  std::atomic<int> good = 0;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < thread_count; ++thread) {
      threads.emplace_back([thread, &good] {
        for (int i = 0; i < rounds; ++i) {
          ring(100 + thread);
        }
        ++good;
      });
    }
  }
  say(good == thread_count ? "all threads have ended" : "a thread is missing");
}

/// A child that does not know MPI, and one that is another program.
void fork_children() {
  ring(1);
  const pid_t child = fork();
  if (child == 0) {
    std::exit(0);
  }
  int status = 1;
  waitpid(child, &status, 0);
  const int other = std::system("true");
  ring(2);
  say(status == 0 && other == 0 ? "the children have ended" : "a child has failed");
}

/// Messages without a receive, and receives that nothing comes for.
void leave_unmatched() {
  static Words lost{};
  static Words awaited{};
  ring(1);
  MPI_Request send = MPI_REQUEST_NULL;
  MPI_Request receive = MPI_REQUEST_NULL;
  MPI_Isend(lost.data(), word_count, MPI_INT, (rank_in(MPI_COMM_WORLD) + 1) % world_size(), 55, MPI_COMM_WORLD, &send);
  MPI_Irecv(awaited.data(), word_count, MPI_INT, MPI_ANY_SOURCE, 66, MPI_COMM_WORLD, &receive);
  MPI_Request_free(&send);
  MPI_Cancel(&receive);
  MPI_Wait(&receive, MPI_STATUS_IGNORE);
  say("one message each is lost");
}

/// Thousands of communicators, one after the other and some at once; thousands of requests, some of them freed.
void use_many_handles() {
  constexpr int communicator_count = 3000;
  constexpr int kept_count = 100;
  constexpr int request_count = 5000;
  std::vector<MPI_Comm> kept;
  for (int i = 0; i < communicator_count; ++i) {
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    if (i % 100 == 0) {
      ring(i, made);
    }
    if (kept.size() < kept_count) {
      kept.push_back(made);
    } else {
      MPI_Comm_free(&made);
    }
  }
  const int rank = rank_in(MPI_COMM_WORLD);
  std::vector<int> words(2 * request_count);
  std::vector<MPI_Request> requests(words.size(), MPI_REQUEST_NULL);
  for (int i = 0; i < request_count; ++i) {
    MPI_Irecv(&words[i], 1, MPI_INT, (rank + world_size() - 1) % world_size(), i, kept[i % kept_count], &requests[i]);
  }
  for (int i = request_count; i < 2 * request_count; ++i) {
    const int tag = i - request_count;
    MPI_Isend(&words[i], 1, MPI_INT, (rank + 1) % world_size(), tag, kept[tag % kept_count], &requests[i]);
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  for (MPI_Comm& made : kept) {
    MPI_Comm_free(&made);
  }
  say("thousands of handles");
}

/// One rank is killed by the system.
void be_killed() {
  for (int i = 0; i < 100; ++i) {
    ring(i);
  }
  say("about to be killed");
  if (rank_in(MPI_COMM_WORLD) == 1) {
    std::raise(SIGKILL);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// Leaves without a word.
void forget_finalize() {
  ring(1);
  say("leaving");
  MPI_Barrier(MPI_COMM_WORLD);
  std::fflush(stdout);
  std::_Exit(0);
}

const std::map<std::string, void (*)()> kinds{{"abort", abort_inside},
                                              {"threads", call_from_threads},
                                              {"fork", fork_children},
                                              {"unmatched", leave_unmatched},
                                              {"handles", use_many_handles},
                                              {"killed", be_killed},
                                              {"no-finalize", forget_finalize}};

}  // namespace

int main(int argc, char** argv) {
  const auto kind = kinds.find(argc > 1 ? argv[1] : "");
  if (kind == kinds.end()) {
    std::fprintf(stderr, "trouble abort|threads|fork|unmatched|handles|killed|no-finalize\n");
    return 2;
  }
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, kind->first == "threads" ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, &provided);
  if (kind->first == "threads" && provided < MPI_THREAD_MULTIPLE) {
    say("this MPI allows one thread only");
  } else {
    kind->second();
  }
  MPI_Finalize();
  return 0;
}
