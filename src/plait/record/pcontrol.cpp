// SPDX-License-Identifier: Apache-2.0
// MPI_Pcontrol: switches the recording off and on, and names regions as other tools have it (docs/how-to/record.md).
#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cstdarg>
#include <string>
#include <string_view>
#include <sys/uio.h>
#include <unistd.h>

#include <fmt/format.h>
#include <mpi.h>

#include "plait/record/session.hpp"

namespace plait::record {
namespace {

constexpr int recording_off = 0;
constexpr int recording_on = 1;
constexpr int region_end = -1;
/// The numbers of regions are from here on, as in other tools.
constexpr int numbered_from = 5;

constinit Function pcontrol{"PMPI_Pcontrol"};

/// The name behind a level: text of letters that can be printed, up to 64; empty if there is none.
///
/// The standard's MPI_Pcontrol(1) passes no second argument, so what is here may be any value: the kernel reads from
/// it, which fails where reading directly would crash.
std::string name_at(const char* place) {
  std::array<char, 65> text{};
  constexpr std::uintptr_t page = 4096;
  const auto address = std::bit_cast<std::uintptr_t>(place);
  if (address < page) {
    return {};
  }
  std::size_t known = 0;
  while (known < text.size()) {  // a page at a time, as the next one may not be there
    const std::size_t wanted = std::min(text.size() - known, page - (address + known) % page);
    iovec to{.iov_base = text.data() + known, .iov_len = wanted};
    iovec from{.iov_base = const_cast<char*>(place) + known, .iov_len = wanted};
    if (::process_vm_readv(::getpid(), &to, 1, &from, 1, 0) != static_cast<ssize_t>(wanted)) {
      break;
    }
    known += wanted;
    if (std::string_view{text.data(), known}.find('\0') != std::string_view::npos) {
      break;
    }
  }
  const std::string_view whole{text.data(), known};
  const std::size_t length = whole.find('\0');
  if (length == std::string_view::npos || length == 0) {
    return {};
  }
  const std::string_view name = whole.substr(0, length);
  const bool is_text =
      std::ranges::all_of(name, [](char letter) { return std::isprint(static_cast<unsigned char>(letter)) != 0; });
  return is_text ? std::string{name} : std::string{};
}

/// `place`: the argument behind the level, if the caller has given one.
void control(Session& session, int level, const char* place) {
  const auto begin = [&](const std::string& name) {
    session.thread().begin_region(session.recorder, name.c_str(), session.now());
  };
  const auto end = [&](const std::string& name) {
    session.thread().end_region_named(session.recorder.name(trace::Role::span, name), session.now());
  };
  if (level == recording_off) {
    session.pause();
  } else if (level == recording_on) {
    const bool was_paused = session.is_paused();
    session.resume();
    if (const std::string name = was_paused ? std::string{} : name_at(place); !name.empty()) {
      begin(name);
    }
  } else if (level == region_end) {
    end(name_at(place));
  } else if (level >= numbered_from) {
    begin(fmt::format("region {}", level));
  } else if (level <= -numbered_from) {
    end(fmt::format("region {}", -level));
  }
}

}  // namespace
}  // namespace plait::record

// Names of the MPI standard.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {

[[gnu::visibility("default")]] int MPI_Pcontrol(const int level, ...) {
  using namespace plait::record;
  std::va_list arguments;
  va_start(arguments, level);
  const char* const place = va_arg(arguments, const char*);
  va_end(arguments);
  if (Session* const session = session_of_program()) {
    control(*session, level, place);
  }
  auto* const real = pcontrol.real<decltype(::PMPI_Pcontrol)>();
  return real(level, place);
}

[[gnu::visibility("default"), gnu::alias("MPI_Pcontrol")]] int PMPI_Pcontrol(const int level, ...);
}
// NOLINTEND(readability-identifier-naming)
