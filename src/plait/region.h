/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names parts of a program's time for reports, in any program in C or C++, with and without MPI or plait: copy this
 * file, or include it as <plait/region.h>. There is nothing to link (before glibc 2.34: -ldl).
 *
 *     plait_region_begin("solve");
 *     ...
 *     plait_region_end();
 *
 * The functions are those of plait.h. The definitions here are weak: those of plait's library for C precede them, and
 * they pass the call on to the recorder of `plait record`, or to that library where it is shared. Without either they
 * do nothing.
 */
#pragma once

#include <dlfcn.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Begins a region of the calling thread, which ends with the matching plait_region_end in the same thread. Regions
 * nest. `name` is copied. Threads: any. Errors: none; an end without a begin is ignored. Cost: below a microsecond when
 * recorded, else some nanoseconds. */
void plait_region_begin(const char* name);
void plait_region_end(void);

/* Where a function of the recorder is, else the next of plait's own; null: there is neither. The first argument of
 * dlsym is RTLD_DEFAULT, then RTLD_NEXT, whose names ISO C hides. */
static inline void* plait_region_function(const char* recorder, const char* own) {
  void* const found = dlsym((void*)0, recorder);
  return found != (void*)0 ? found : dlsym((void*)-1L, own);
}

__attribute__((weak)) void plait_region_begin(const char* name) {
  typedef void (*begin_function)(const char*);
  static void* found = (void*)0;
  static int is_known = 0;
  begin_function begin = (begin_function)0;
  void* address;
  if (!__atomic_load_n(&is_known, __ATOMIC_ACQUIRE)) { /* threads that race find the same */
    __atomic_store_n(
        &found, plait_region_function("plait_recorder_region_begin", "plait_region_begin"), __ATOMIC_RELAXED);
    __atomic_store_n(&is_known, 1, __ATOMIC_RELEASE);
  }
  address = __atomic_load_n(&found, __ATOMIC_RELAXED);
  memcpy(&begin, &address, sizeof begin);
  if (begin) {
    begin(name);
  }
}

__attribute__((weak)) void plait_region_end(void) {
  typedef void (*end_function)(void);
  static void* found = (void*)0;
  static int is_known = 0;
  end_function end = (end_function)0;
  void* address;
  if (!__atomic_load_n(&is_known, __ATOMIC_ACQUIRE)) {
    __atomic_store_n(&found, plait_region_function("plait_recorder_region_end", "plait_region_end"), __ATOMIC_RELAXED);
    __atomic_store_n(&is_known, 1, __ATOMIC_RELEASE);
  }
  address = __atomic_load_n(&found, __ATOMIC_RELAXED);
  memcpy(&end, &address, sizeof end);
  if (end) {
    end();
  }
}

#ifdef __cplusplus
}
#endif
