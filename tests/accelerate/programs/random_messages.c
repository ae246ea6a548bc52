// SPDX-License-Identifier: Apache-2.0
// random_messages SEED ROUNDS [THREADS]: sends messages at random and checks what MPI guarantees of them. Each thread
// of a rank has communicators of its own, and other seeds.
//
// All ranks draw the same numbers, so each knows the messages of a round: communicator, ends, tag, datatype, length and
// mode. Receives differ in how they are posted (with or without wildcards, after a probe, claimed by one) and in how
// they are waited for, together with a barrier of MPI itself. Each message names itself, so that a receive can
// check that it got the first one that it matches: of the sender's messages in this communicator, in the order of
// sending.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

enum { messages_max = 40, ints_max = 60000, type_count = 5, threads_max = 8 };

static _Thread_local uint64_t state;
static _Thread_local const char* where = "";
static int rank, size;

static unsigned draw(unsigned below) {  // xorshift64*
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return (unsigned)((state * 2685821657736338717ULL) >> 33) % below;
}

static void check(int fact, const char* what) {
  if (!fact) {
    fprintf(stderr, "random_messages: rank %d: %s: %s\n", rank, where, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

struct message {
  int source, target, tag, type, length, mode, is_received;
};

/// Ints of a message's data; its memory is `spread` times as long, plus 8 ints before it.
static MPI_Datatype types[type_count];

static void make_types(void) {
  types[0] = MPI_INT;
  MPI_Type_vector(3, 1, 2, MPI_INT, &types[1]);
  const int places[] = {4, -2, 1};
  const int lengths[] = {1, 1, 1};
  MPI_Datatype indexed;
  MPI_Type_indexed(3, lengths, places, MPI_INT, &indexed);
  MPI_Type_create_resized(indexed, -8, 9 * 4, &types[2]);
  MPI_Type_free(&indexed);
  MPI_Datatype parts[] = {MPI_INT, types[1]};
  const int counts[] = {1, 1};
  const MPI_Aint offsets[] = {0, 8};
  MPI_Type_create_struct(2, counts, offsets, parts, &types[3]);
  const int sizes[] = {3, 4}, inner[] = {2, 2}, starts[] = {1, 1};
  MPI_Type_create_subarray(2, sizes, inner, starts, MPI_ORDER_C, MPI_INT, &types[4]);
  for (int i = 1; i < type_count; ++i) {
    MPI_Type_commit(&types[i]);
  }
}

/// Where the i-th int of an element is, and how many ints apart elements are.
static const int ints_of[type_count] = {1, 3, 3, 4, 4};
static const int stride_of[type_count] = {1, 5, 9, 7, 12};
static int place_of(int type, int i) {
  static const int places[type_count][4] = {{0}, {0, 2, 4}, {4, -2, 1}, {0, 2, 4, 6}, {5, 6, 9, 10}};
  return places[type][i];
}

static int value_of(int message, int i) {
  return message * 100003 + i;
}

/// The memory of `length` elements. Data lies from 8 ints on.
static int* memory_for(int type, int length) {
  const size_t ints = (size_t)stride_of[type] * (size_t)length + 32;
  int* const memory = malloc(ints * sizeof(int));
  for (size_t i = 0; i < ints; ++i) {
    memory[i] = -7;
  }
  return memory;
}

static void fill(int* memory, int type, int length, int message) {
  for (int i = 0; i < ints_of[type] * length; ++i) {
    memory[8 + i / ints_of[type] * stride_of[type] + place_of(type, i % ints_of[type])] = value_of(message, i);
  }
}

/// Which message it is, by its first int; nothing else may have been written.
static void check_data(const int* memory, int type, int length, int room, int message) {
  int written = 0;
  for (int i = 0; i < ints_of[type] * length; ++i) {
    const int found = memory[8 + i / ints_of[type] * stride_of[type] + place_of(type, i % ints_of[type])];
    check(found == value_of(message, i), "a received message has other data than was sent");
    written += found != -7;
  }
  int changed = 0;
  for (int i = 0; i < stride_of[type] * room + 32; ++i) {
    changed += memory[i] != -7;
  }
  check(changed == written, "a receive has written beside its data");
}

/// Checks that a receive with this source and tag got the right one of the round's messages, and marks it.
static int check_match(struct message* all, int count, int target, int source, int tag, const MPI_Status* status) {
  check(source == MPI_ANY_SOURCE || source == status->MPI_SOURCE, "a message came from a wrong source");
  check(tag == MPI_ANY_TAG || tag == status->MPI_TAG, "a message has a wrong tag");
  for (int i = 0; i < count; ++i) {
    if (all[i].target == target && !all[i].is_received && all[i].source == status->MPI_SOURCE &&
        (tag == MPI_ANY_TAG || all[i].tag == tag)) {
      check(all[i].tag == status->MPI_TAG, "a message has overtaken another one");
      all[i].is_received = 1;
      return i;
    }
  }
  check(0, "a message came that was not sent");
  return -1;
}

struct receive {
  int source, tag, type, room, is_over;
  int* memory;
};

static void check_receive(struct message* all, int count, int self, struct receive* got, MPI_Status* status) {
  const int which = check_match(all, count, self, got->source, got->tag, status);
  int ints = 0;
  MPI_Get_elements(status, types[got->type], &ints);
  const int expected = all[which].length * ints_of[all[which].type];
  check(ints == expected, "a status has a wrong count of elements");
  int whole = 0;
  MPI_Get_count(status, types[got->type], &whole);
  check(whole == (expected % ints_of[got->type] == 0 ? expected / ints_of[got->type] : MPI_UNDEFINED),
        "a status has a wrong count");
  if (expected % ints_of[got->type] == 0) {
    check_data(got->memory, got->type, expected / ints_of[got->type], got->room, which);
  }
  got->is_over = 1;
}

static void run_round(MPI_Comm comm) {
  int self, members;
  MPI_Comm_rank(comm, &self);
  MPI_Comm_size(comm, &members);
  struct message all[messages_max];
  const int count = (int)draw(messages_max) + 1;
  const int is_long = draw(8) == 0;
  for (int i = 0; i < count; ++i) {
    struct message* const one = &all[i];
    *one = (struct message){
        (int)draw((unsigned)size), (int)draw((unsigned)size), (int)draw(3), (int)draw(type_count), 0, (int)draw(5), 0};
    one->source %= members;
    one->target %= members;
    one->length = (int)draw(is_long ? ints_max / 4 : 12);
  }
  const int how = (int)draw(6);       // receives: exact, any tag, any source, after a probe, claimed, persistent
  const int waits = (int)draw(5);     // all, any, some, test all, one by one
  const int wildcard = (int)draw(2);  // of probes
  const unsigned is_cancelled = draw(4);

  struct receive got[messages_max];
  MPI_Request requests[2 * messages_max + 1];
  MPI_Status statuses[2 * messages_max + 1];
  int posted = 0;
  const int is_probing = how == 3 || how == 4;
  for (int i = 0; i < count; ++i) {
    if (all[i].target != self) {
      continue;
    }
    struct receive* const one = &got[posted];
    // One kind for all receives of a round, so that each can only get what no earlier one waits for.
    one->source = how == 2 ? MPI_ANY_SOURCE : all[i].source;
    one->tag = how == 1 ? MPI_ANY_TAG : all[i].tag;
    one->type = all[i].type;
    one->room = is_long ? ints_max : 64;
    one->is_over = 0;
    one->memory = is_probing ? NULL : memory_for(one->type, one->room);
    if (how == 5) {
      MPI_Recv_init(one->memory + 8, one->room, types[one->type], one->source, one->tag, comm, &requests[posted]);
      MPI_Start(&requests[posted]);
    } else if (!is_probing) {
      MPI_Irecv(one->memory + 8, one->room, types[one->type], one->source, one->tag, comm, &requests[posted]);
    }
    ++posted;
  }
  const int receives = is_probing ? 0 : posted;
  int used = receives;
  int* sent[messages_max];
  int sent_count = 0;
  for (int i = 0; i < count; ++i) {
    if (all[i].source != self) {
      continue;
    }
    int* const memory = sent[sent_count++] = memory_for(all[i].type, all[i].length);
    fill(memory, all[i].type, all[i].length, i);
    MPI_Datatype type = types[all[i].type];
    MPI_Request* const request = &requests[used++];
    switch (all[i].mode) {
      case 0:
        MPI_Issend(memory + 8, all[i].length, type, all[i].target, all[i].tag, comm, request);
        break;
      case 1:
        MPI_Ibsend(memory + 8, all[i].length, type, all[i].target, all[i].tag, comm, request);
        break;
      case 2:
        MPI_Send_init(memory + 8, all[i].length, type, all[i].target, all[i].tag, comm, request);
        MPI_Startall(1, request);
        break;
      default:
        MPI_Isend(memory + 8, all[i].length, type, all[i].target, all[i].tag, comm, request);
    }
  }
  if (is_cancelled == 0) {
    int never, flag;
    MPI_Request lost;
    MPI_Status status;
    MPI_Irecv(&never, 1, MPI_INT, MPI_ANY_SOURCE, 77, comm, &lost);
    MPI_Cancel(&lost);
    MPI_Wait(&lost, &status);
    MPI_Test_cancelled(&status, &flag);
    check(flag, "a receive that nothing matches was not cancelled");
  }
  if (is_probing) {
    for (int i = 0; i < posted; ++i) {
      MPI_Status status;
      MPI_Message message;
      struct receive* const one = &got[i];
      one->source = wildcard ? MPI_ANY_SOURCE : one->source;
      one->tag = wildcard ? MPI_ANY_TAG : one->tag;
      if (how == 4) {
        MPI_Mprobe(one->source, one->tag, comm, &message, &status);
      } else {
        MPI_Probe(one->source, one->tag, comm, &status);
      }
      MPI_Get_count(&status, MPI_INT, &one->room);
      one->type = 0;
      one->memory = memory_for(0, one->room);
      if (how == 4) {
        MPI_Mrecv(one->memory + 8, one->room, MPI_INT, &message, &status);
      } else {
        const MPI_Status probed = status;
        MPI_Recv(one->memory + 8, one->room, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, comm, &status);
        check(status.MPI_SOURCE == probed.MPI_SOURCE && status.MPI_TAG == probed.MPI_TAG,
              "a probe has announced another message");
      }
      check_receive(all, count, self, one, &status);
    }
  }
  MPI_Ibarrier(comm, &requests[used]);
  const int total = used + 1;
  int persistent[2 * messages_max + 1];
  MPI_Request kept[2 * messages_max + 1];
  memcpy(kept, requests, sizeof requests);
  int is_done[2 * messages_max + 1] = {0};
  int left = total;
  for (int i = 0; i < total; ++i) {
    persistent[i] = i < receives && how == 5;
  }
  for (int i = 0, at = receives; i < count; ++i) {
    if (all[i].source == self) {
      persistent[at++] = all[i].mode == 2;
    }
  }
  while (left > 0) {
    int indices[2 * messages_max + 1], done = 0, flag = 0;
    if (waits == 0) {
      MPI_Waitall(total, requests, statuses);
      for (done = 0; done < total; ++done) {
        indices[done] = done;
      }
    } else if (waits == 1) {
      MPI_Waitany(total, requests, indices, statuses);
      done = 1;
    } else if (waits == 2) {
      MPI_Waitsome(total, requests, &done, indices, statuses);
    } else if (waits == 3) {
      while (!flag) {
        MPI_Testall(total, requests, &flag, statuses);
      }
      for (done = 0; done < total; ++done) {
        indices[done] = done;
      }
    } else {
      indices[0] = total - left;
      while (!flag) {
        MPI_Test(&requests[indices[0]], &flag, statuses);
      }
      done = 1;
    }
    check(done != MPI_UNDEFINED && (done != 1 || indices[0] != MPI_UNDEFINED), "nothing was left to wait for");
    for (int i = 0; i < done; ++i) {
      check(!is_done[indices[i]], "a request has ended twice");
      is_done[indices[i]] = 1;
      --left;
      check(
          persistent[indices[i]] ? requests[indices[i]] == kept[indices[i]] : requests[indices[i]] == MPI_REQUEST_NULL,
          "a request is not what it has to be after its end");
    }
    // In the order of posting, as matches are in that order.
    if (waits == 0 || waits == 3) {
      for (int i = 0; i < receives; ++i) {
        check_receive(all, count, self, &got[i], &statuses[i]);
      }
    } else {
      // Kept for later: receives end in any order.
      for (int i = 0; i < done; ++i) {
        if (indices[i] < receives) {
          struct receive* const one = &got[indices[i]];
          check(one->source == MPI_ANY_SOURCE || one->source == statuses[i].MPI_SOURCE, "a wrong source");
          check(one->tag == MPI_ANY_TAG || one->tag == statuses[i].MPI_TAG, "a wrong tag");
        }
      }
    }
  }
  MPI_Barrier(comm);  // no message of the next round can come to a receive from any source of this one
  for (int i = 0; i < total; ++i) {
    if (persistent[i]) {
      MPI_Request_free(&requests[i]);
      check(requests[i] == MPI_REQUEST_NULL, "a freed request is not null");
    }
  }
  for (int i = 0; i < posted; ++i) {
    free(got[i].memory);
  }
  for (int i = 0; i < sent_count; ++i) {
    free(sent[i]);
  }
}

struct player {
  MPI_Comm world, self;  // its own
  unsigned long first, seeds;
};

static void* play(void* argument) {
  const struct player* const player = argument;
  for (unsigned long seed = player->first; seed < player->first + player->seeds; ++seed) {
    char text[32];
    snprintf(text, sizeof text, "seed %lu", seed);
    where = text;
    state = seed * 0x9e3779b97f4a7c15ULL + 1;
    MPI_Comm split, turned;
    MPI_Comm_split(player->world, rank % 2, -rank, &split);
    MPI_Comm_split(player->world, 0, -rank, &turned);
    const MPI_Comm comms[] = {player->world, split, turned, player->self};
    for (int round = 0; round < 5; ++round) {
      run_round(comms[draw(4)]);
    }
    MPI_Comm_free(&split);
    MPI_Comm_free(&turned);
  }
  return NULL;
}

int main(int argc, char** argv) {
  const unsigned long first = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
  const unsigned long seeds = argc > 2 ? strtoul(argv[2], NULL, 10) : 100;
  const int threads = argc > 3 ? atoi(argv[3]) : 1;
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  check(threads <= threads_max && (threads == 1 || level == MPI_THREAD_MULTIPLE), "it cannot have so many threads");
  const size_t buffer_bytes = (size_t)1 << 26;
  void* buffer = malloc(buffer_bytes);
  MPI_Buffer_attach(buffer, (int)buffer_bytes);
  make_types();
  struct player players[threads_max];
  pthread_t others[threads_max];
  for (int i = 0; i < threads; ++i) {
    players[i] = (struct player){MPI_COMM_WORLD, MPI_COMM_SELF, first + (unsigned long)i * 1000000, seeds};
    if (threads > 1) {
      MPI_Comm_dup(MPI_COMM_WORLD, &players[i].world);
      MPI_Comm_dup(MPI_COMM_SELF, &players[i].self);
    }
  }
  for (int i = 1; i < threads; ++i) {
    pthread_create(&others[i], NULL, play, &players[i]);
  }
  play(&players[0]);
  for (int i = 1; i < threads; ++i) {
    pthread_join(others[i], NULL);
  }
  for (int i = 0; i < threads && threads > 1; ++i) {
    MPI_Comm_free(&players[i].world);
    MPI_Comm_free(&players[i].self);
  }
  int bytes = 0;
  MPI_Buffer_detach(&buffer, &bytes);
  free(buffer);
  for (int i = 1; i < type_count; ++i) {
    MPI_Type_free(&types[i]);
  }
  if (rank == 0) {
    printf("%lu seeds\n", seeds);
  }
  MPI_Finalize();
  return 0;
}
