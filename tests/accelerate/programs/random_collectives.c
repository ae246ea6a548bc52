// SPDX-License-Identifier: Apache-2.0
// random_collectives SEED ROUNDS: begins non-blocking collectives at random, several at once on several communicators,
// and compares all memory with what the blocking ones leave.
//
// All ranks draw the same numbers, so each knows what every rank gives to every other.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

enum { under_way_max = 6, ranks_max = 16, comm_count = 3, type_count = 4, gap = 16 };
enum kind { all_to_all, all_to_all_v, all_to_all_w, all_gather, all_gather_v, kind_count };

static uint64_t state;
static int rank, size;
static MPI_Comm comms[comm_count];
static MPI_Datatype types[type_count];
static const int extent_of[type_count] = {1, 5, 9, 3};  // in ints

static unsigned draw(unsigned below) {  // xorshift64*
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return (unsigned)((state * 2685821657736338717ULL) >> 33) % below;
}

static void make_types(void) {
  const int places[] = {4, 2, 1};
  const int lengths[] = {1, 1, 1};
  MPI_Datatype indexed;
  types[0] = MPI_INT;
  MPI_Type_vector(3, 1, 2, MPI_INT, &types[1]);
  MPI_Type_indexed(3, lengths, places, MPI_INT, &indexed);
  MPI_Type_create_resized(indexed, 0, extent_of[2] * 4, &types[2]);
  MPI_Type_free(&indexed);
  MPI_Type_contiguous(3, MPI_INT, &types[3]);
  for (int i = 1; i < type_count; ++i) {
    MPI_Type_commit(&types[i]);
  }
}

/// One collective, with the memory of both ways to do it.
struct collective {
  enum kind kind;
  int comm, type, is_in_place, ranks, ints;
  int given[ranks_max], taken[ranks_max];        // counts
  int given_at[ranks_max], taken_at[ranks_max];  // in elements
  int given_byte[ranks_max], taken_byte[ranks_max];
  MPI_Datatype all_types[ranks_max];
  int *send, *receive, *expected;
};

/// Draws the counts of all pairs; with MPI_IN_PLACE those of a pair are equal.
static void draw_collective(struct collective* one) {
  static int counts[ranks_max][ranks_max];
  one->kind = (enum kind)draw(kind_count);
  one->comm = (int)draw(comm_count);
  one->type = (int)draw(type_count);
  one->is_in_place = draw(4) == 0;
  const unsigned most = draw(3) == 0 ? 12000 : 50;  // long ones are above what the engine takes
  const int common = (int)draw(most);
  for (int from = 0; from < size; ++from) {
    const int own = (int)draw(most);
    for (int to = 0; to < size; ++to) {
      const int drawn = (int)draw(most);
      counts[from][to] = one->kind == all_to_all || one->kind == all_gather ? common
                         : one->kind == all_gather_v                        ? own
                         : one->is_in_place && to < from                    ? counts[to][from]
                                                                            : drawn;
    }
  }
  int here = 0, ranks = 0, given = 0, taken = 0;
  MPI_Comm_rank(comms[one->comm], &here);
  MPI_Comm_size(comms[one->comm], &ranks);
  one->ranks = ranks;
  const int is_regular = one->kind == all_to_all || one->kind == all_gather;
  for (int i = 0; i < ranks; ++i) {
    one->given[i] = counts[here][i];
    one->taken[i] = counts[i][here];
    one->given_at[i] = given;
    one->taken_at[i] = taken;
    one->given_byte[i] = given * extent_of[one->type] * 4;
    one->taken_byte[i] = taken * extent_of[one->type] * 4;
    one->all_types[i] = types[one->type];
    given += one->given[i] + (is_regular ? 0 : 2);
    taken += one->taken[i] + (is_regular ? 0 : 1);
  }
  one->ints = (given + taken) * extent_of[one->type] + gap;
  const size_t bytes = (size_t)one->ints * sizeof(int);
  one->send = malloc(bytes);
  one->receive = malloc(bytes);
  one->expected = malloc(bytes);
  for (int i = 0; i < one->ints; ++i) {
    one->send[i] = rank * 1000003 + i;
    one->receive[i] = one->expected[i] = one->is_in_place ? -i - rank * 999983 : -7;
  }
}

static void begin(struct collective* one, MPI_Request* request) {
  const void* const send = one->is_in_place ? MPI_IN_PLACE : one->send;
  const MPI_Datatype type = types[one->type];
  const MPI_Comm comm = comms[one->comm];
  switch (one->kind) {
    case all_to_all:
      MPI_Ialltoall(send, one->given[0], type, one->receive, one->taken[0], type, comm, request);
      break;
    case all_to_all_v:
      MPI_Ialltoallv(
          send, one->given, one->given_at, type, one->receive, one->taken, one->taken_at, type, comm, request);
      break;
    case all_to_all_w:
      MPI_Ialltoallw(send,
                     one->given,
                     one->given_byte,
                     one->all_types,
                     one->receive,
                     one->taken,
                     one->taken_byte,
                     one->all_types,
                     comm,
                     request);
      break;
    case all_gather:
      MPI_Iallgather(send, one->given[0], type, one->receive, one->taken[0], type, comm, request);
      break;
    default:
      MPI_Iallgatherv(send, one->given[0], type, one->receive, one->taken, one->taken_at, type, comm, request);
  }
}

static void expect(struct collective* one) {
  const void* const send = one->is_in_place ? MPI_IN_PLACE : one->send;
  const MPI_Datatype type = types[one->type];
  const MPI_Comm comm = comms[one->comm];
  switch (one->kind) {
    case all_to_all:
      MPI_Alltoall(send, one->given[0], type, one->expected, one->taken[0], type, comm);
      break;
    case all_to_all_v:
      MPI_Alltoallv(send, one->given, one->given_at, type, one->expected, one->taken, one->taken_at, type, comm);
      break;
    case all_to_all_w:
      MPI_Alltoallw(send,
                    one->given,
                    one->given_byte,
                    one->all_types,
                    one->expected,
                    one->taken,
                    one->taken_byte,
                    one->all_types,
                    comm);
      break;
    case all_gather:
      MPI_Allgather(send, one->given[0], type, one->expected, one->taken[0], type, comm);
      break;
    default:
      MPI_Allgatherv(send, one->given[0], type, one->expected, one->taken, one->taken_at, type, comm);
  }
}

static void finish(MPI_Request* requests, int count) {
  int left = count, done = 0, flag = 0;
  int indices[under_way_max];
  MPI_Status statuses[under_way_max];
  switch (draw(4)) {
    case 0:
      MPI_Waitall(count, requests, statuses);
      return;
    case 1:
      for (int i = count; i-- > 0;) {
        MPI_Wait(&requests[i], &statuses[i]);
      }
      return;
    case 2:
      while (left > 0) {
        MPI_Testsome(count, requests, &done, indices, statuses);
        left -= done;
      }
      return;
    default:
      while (!flag) {
        MPI_Request_get_status(requests[0], &flag, &statuses[0]);
      }
      MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  }
}

static void play(uint64_t seed) {
  struct collective all[under_way_max];
  MPI_Request requests[under_way_max];
  int numbers[2] = {rank, -1};
  MPI_Request beside[2];
  state = seed * 0x9E3779B97F4A7C15ULL + 1;
  const int count = 1 + (int)draw(under_way_max);
  MPI_Irecv(&numbers[1], 1, MPI_INT, (rank + 1) % size, MPI_ANY_TAG, MPI_COMM_WORLD, &beside[0]);
  for (int i = 0; i < count; ++i) {
    draw_collective(&all[i]);
    begin(&all[i], &requests[i]);
  }
  MPI_Isend(&numbers[0], 1, MPI_INT, (rank + size - 1) % size, 5, MPI_COMM_WORLD, &beside[1]);
  finish(requests, count);
  MPI_Waitall(2, beside, MPI_STATUSES_IGNORE);
  int is_right = numbers[1] == (rank + 1) % size;
  for (int i = 0; i < count; ++i) {
    expect(&all[i]);
    if (memcmp(all[i].receive, all[i].expected, (size_t)all[i].ints * sizeof(int)) != 0) {
      fprintf(stderr,
              "random_collectives: rank %d, seed %llu: number %d of %d, kind %d, has other data%s\n",
              rank,
              (unsigned long long)seed,
              i,
              count,
              all[i].kind,
              all[i].is_in_place ? ", in place" : "");
      is_right = 0;
    }
    free(all[i].send);
    free(all[i].receive);
    free(all[i].expected);
  }
  if (!is_right) {
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 3 || size > ranks_max) {
    fprintf(stderr, "random_collectives SEED ROUNDS, on at most %d ranks\n", ranks_max);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  comms[0] = MPI_COMM_WORLD;
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[2]);  // in reverse
  make_types();
  const uint64_t first = strtoull(argv[1], NULL, 10);
  const int rounds = atoi(argv[2]);
  for (int i = 0; i < rounds; ++i) {
    play(first + (uint64_t)i);
  }
  for (int i = 1; i < type_count; ++i) {
    MPI_Type_free(&types[i]);
  }
  MPI_Comm_free(&comms[1]);
  MPI_Comm_free(&comms[2]);
  if (rank == 0) {
    printf("%d seeds\n", rounds);
  }
  MPI_Finalize();
  return 0;
}
