// SPDX-License-Identifier: Apache-2.0
// Errors, and the version.
#include <exception>
#include <string>

#include "plait/plait.h"
#include "plait/version.hpp"

namespace plait::c {
namespace {

thread_local std::string last_sentence;

}  // namespace
}  // namespace plait::c

extern "C" {

const char* plait_version() {
  return plait::version().data();  // a literal
}

const char* plait_error_text(int error) {
  switch (error) {
    case PLAIT_SUCCESS:
      return "success";
    case PLAIT_BAD_ARGUMENT:
      return "an argument is invalid";
    case PLAIT_BAD_INPUT:
      return "a file or an option is missing, malformed or contradicts another";
    case PLAIT_IO:
      return "the system refused to read or write";
    case PLAIT_TRUNCATED:
      return "a message was longer than the memory of its receive";
    case PLAIT_OUT_OF_MEMORY:
      return "no memory is left";
    case PLAIT_NETWORK:
      return "the network failed";
    case PLAIT_PEER_FAILED:
      return "another rank stopped the run";
    case PLAIT_TIMEOUT:
      return "no progress within the time limit";
    case PLAIT_USER_TASK:
      return "a function of the program has returned an error";
    case PLAIT_UNKNOWN:
      return "a defect of the library";
    default:
      return "no error of plait";
  }
}

const char* plait_last_error() {
  return plait::c::last_sentence.c_str();
}

int plait_fail(int error, const char* sentence) {
  try {
    plait::c::last_sentence = sentence != nullptr ? sentence : "";
  } catch (const std::exception&) {
    plait::c::last_sentence.clear();
  }
  return error;
}
}
