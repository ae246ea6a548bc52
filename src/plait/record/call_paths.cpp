// SPDX-License-Identifier: Apache-2.0
#include "plait/record/call_paths.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <pthread.h>
#include <string_view>

namespace plait::record {
namespace {

/// Functions of the library between the program and MPI, as the Fortran bindings.
constexpr std::size_t passed_on_max = 6;

std::uintptr_t end_of_stack() {
  pthread_attr_t attributes;
  void* begin = nullptr;
  std::size_t bytes = 0;
  if (::pthread_getattr_np(::pthread_self(), &attributes) == 0) {
    ::pthread_attr_getstack(&attributes, &begin, &bytes);
    ::pthread_attr_destroy(&attributes);
  }
  return std::bit_cast<std::uintptr_t>(begin) + bytes;
}

std::uint64_t hash_of(std::span<const std::uintptr_t> addresses) {
  std::uint64_t hash = 1;
  for (const std::uintptr_t address : addresses) {
    hash = (hash ^ address) * 0x9E37'79B9'7F4A'7C15;
    hash ^= hash >> 29U;
  }
  return hash;
}

}  // namespace

std::size_t call_path_wanted() noexcept {
  const char* const wanted = std::getenv("PLAIT_RECORD_CALL_PATH");
  const std::string_view text{wanted != nullptr ? wanted : ""};
  std::size_t depth = 1;
  const auto [end, trouble] = std::from_chars(text.data(), text.data() + text.size(), depth);
  const bool is_good = trouble == std::errc{} && end == text.data() + text.size();
  return is_good && depth >= 1 && depth <= call_path_max ? depth : 1;
}

CallPaths::CallPaths(std::size_t depth) : depth_{depth}, stack_end_{depth > 1 ? end_of_stack() : 0} {}

trace::NameId CallPaths::find(Sites& sites, const std::uintptr_t* frame, const void* returns_to) {
  const auto at = std::bit_cast<std::uintptr_t>(frame);
  if (frame == nullptr || at >= stack_end_) {
    return {};  // on a stack of the program's own, as of a coroutine
  }
  std::array<std::uintptr_t, call_path_max + passed_on_max> path{};
  path[0] = frame[1];
  const std::uintptr_t stack = at + 2 * sizeof *frame;
  const std::size_t callers =
      unwinder_.find_callers({.instruction = path[0] - 1, .stack = stack, .frame = frame[0]},
                             {.begin = stack, .bytes = {std::bit_cast<const std::byte*>(stack), stack_end_ - stack}},
                             std::span{path}.subspan(1, depth_ + passed_on_max - 1));
  const std::span all = std::span{path}.first(callers + 1);
  const auto first = std::ranges::find(all, std::bit_cast<std::uintptr_t>(returns_to));
  if (first == all.end()) {
    return {};
  }
  const auto used = std::min<std::ptrdiff_t>(all.end() - first, static_cast<std::ptrdiff_t>(depth_));
  const std::span wanted = all.subspan(static_cast<std::size_t>(first - all.begin()), static_cast<std::size_t>(used));
  const std::uint64_t hash = hash_of(wanted);
  Known& known = known_[hash % known_.size()];
  if (known.hash != hash) {
    for (std::uintptr_t& address : wanted) {
      --address;  // the call is before the return address
    }
    known = {.hash = hash, .name = sites.path(wanted)};
  }
  return known.name;
}

}  // namespace plait::record
