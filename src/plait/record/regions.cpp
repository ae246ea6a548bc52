// SPDX-License-Identifier: Apache-2.0
// Regions that a program names, by the functions of plait.h: here they precede those of plait's library for C. Those of
// region.h, in the program itself, precede these, and find them by names of their own.
#include "plait/record/session.hpp"

extern "C" {

[[gnu::visibility("default")]] void plait_region_begin(const char* name) {
  using namespace plait::record;
  if (Session* const session = session_of_program()) {
    session->thread().begin_region(session->recorder, name, session->now());
  }
}

[[gnu::visibility("default")]] void plait_region_end() {
  using namespace plait::record;
  if (Session* const session = session_of_program()) {
    session->thread().end_region(session->now());
  }
}

[[gnu::visibility("default"), gnu::alias("plait_region_begin")]] void plait_recorder_region_begin(const char* name);
[[gnu::visibility("default"), gnu::alias("plait_region_end")]] void plait_recorder_region_end();
}
