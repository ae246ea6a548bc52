// SPDX-License-Identifier: Apache-2.0
#include "plait/record/sites.hpp"

#include <array>
#include <bit>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>
#include <unwind.h>
#include <utility>

#include <fmt/format.h>

#include "plait/trace/event.hpp"

namespace plait::record {
namespace {

/// A program with more call sites generates code as it runs.
constexpr std::size_t known_max = 100'000;

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

/// Whether a library of MPI calls its C functions for the program: the Fortran or C++ bindings, or MPI-IO.
bool only_passes_on(std::string_view module_path) {
  const std::string_view name = base_name(module_path);
  return name.starts_with("libmpi") || name.starts_with("mca_") || name.starts_with("libmca_");
}

/// The frame after the one whose return address is in `slot`, for the unwinder.
struct NextFrame {
  const void* const* slot;
  bool is_found = false;
  std::ptrdiff_t to_next = 0;
};

#ifdef __x86_64__
/// On x86-64, a return address is right below the caller's frame.
_Unwind_Reason_Code find_next(_Unwind_Context* context, void* wanted) {
  auto& next = *static_cast<NextFrame*>(wanted);
  const auto* slot = std::bit_cast<const void* const*>(_Unwind_GetCFA(context)) - 1;
  if (next.is_found) {
    if (slot > next.slot && std::bit_cast<_Unwind_Ptr>(*slot) == _Unwind_GetIP(context)) {
      next.to_next = slot - next.slot;
    }
    return _URC_END_OF_STACK;
  }
  next.is_found = slot == next.slot;
  return slot > next.slot ? _URC_END_OF_STACK : _URC_NO_REASON;
}
#endif

std::ptrdiff_t distance_to_next(const void* const* slot) {
  NextFrame next{.slot = slot};
#ifdef __x86_64__
  _Unwind_Backtrace(find_next, &next);
#endif
  return next.to_next;
}

/// The FNV-1a hash: the same on all ranks, though they number names differently.
std::uint64_t hash_of(std::string_view text, std::uint64_t before) {
  constexpr std::uint64_t start = 0xCBF2'9CE4'8422'2325;
  constexpr std::uint64_t prime = 0x100'0000'01B3;
  std::uint64_t hash = before != 0 ? before : start;
  for (const char letter : text) {
    hash = (hash ^ static_cast<std::uint8_t>(letter)) * prime;
  }
  return hash;
}

}  // namespace

Sites::Sites(trace::Recorder& recorder, std::filesystem::path sites, std::filesystem::path modules)
    : recorder_{recorder}, sites_{std::move(sites)}, modules_{std::move(modules)} {}

CodeAddress Sites::look_up(const void* const* slot) {
  const std::lock_guard lock{mutex_};
  if (const auto known = known_.find(*slot); known != known_.end()) {
    return known->second;
  }
  if (known_.size() >= known_max) {
    return {.address = *slot};
  }
  return known_.emplace(*slot, learn(slot)).first->second;
}

std::string Sites::text(const void* address) const {
  const std::lock_guard lock{mutex_};
  const auto known = known_.find(address);
  if (known == known_.end() || !known->second.site) {
    return {};
  }
  const auto found = texts_.find(known->second.site.value());
  return found != texts_.end() ? found->second : std::string{};
}

CodeAddress Sites::learn(const void* const* slot) {
  CodeAddress code{.address = *slot};
  // The call instruction is before the return address.
  const auto call = std::bit_cast<std::uintptr_t>(code.address) - 1;
  const CodePlace& place = place_of(call);
  if (place.path.empty()) {
    return code;
  }
  if (only_passes_on(place.path)) {
    code.to_next = distance_to_next(slot);
    if (code.to_next != 0) {
      return code;
    }
  }
  code.site = called_from(call, {}).name;
  code.is_mpi4py = is_mpi4py(place.path);
  if (code.is_mpi4py) {
    note_python_lines(code.address, *this);
  }
  return code;
}

trace::NameId Sites::path(std::span<const std::uintptr_t> addresses) {
  const std::lock_guard lock{mutex_};
  Called called;
  for (std::size_t i = addresses.size(); i-- > 0;) {
    called = called_from(addresses[i], called);
  }
  return called.name;
}

Sites::Called Sites::called_from(std::uintptr_t address, const Called& caller) {
  const auto key = std::pair{address, caller.name.value()};
  if (const auto known = paths_.find(key); known != paths_.end()) {
    return known->second;
  }
  const CodePlace& place = place_of(address);
  if (place.path.empty() || paths_.size() >= known_max) {
    return caller;
  }
  const Called called = add_called({.module = place.path,
                                    .place = fmt::format("0x{:x}", place.offset),
                                    .function = place.symbol,
                                    .text = fmt::format("{}+0x{:x}", base_name(place.path), place.offset)},
                                   caller);
  return paths_.emplace(key, called).first->second;
}

trace::NameId Sites::python_path(std::span<const PythonLine> lines) {
  const std::lock_guard lock{mutex_};
  Called called;
  for (std::size_t i = lines.size(); i-- > 0;) {
    const PythonLine& line = lines[i];
    const std::string place = fmt::format(":{}", line.line);
    const auto key = std::pair{line.file + place + line.function, called.name.value()};
    const auto known = python_paths_.find(key);
    if (known != python_paths_.end()) {
      called = known->second;
    } else if (python_paths_.size() < known_max) {
      called = add_called({.module = line.file,
                           .place = place,
                           .function = line.function,
                           .text = fmt::format("{}{}", base_name(line.file), place)},
                          called);
      python_paths_.emplace(key, called);
    }
  }
  return called.name;
}

Sites::Called Sites::add_called(Described place, const Called& caller) {
  // Files of Python often have the same name, in different folders.
  const bool is_python = place.place.starts_with(':');
  Called called{.name = {}, .hash = hash_of(is_python ? place.module + place.place : place.text, caller.hash)};
  if (caller.name || is_python) {
    place.text += fmt::format("~{:012x}", called.hash & 0xFFFF'FFFF'FFFF);
  }
  if (place.text.size() > trace::text_bytes_max) {
    place.text.erase(0, place.text.size() - trace::text_bytes_max);
  }
  called.name = recorder_.name(trace::Role::call_site, place.text);
  texts_.emplace(called.name.value(), place.text);
  sites_.add(fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n",
                         called.name.value(),
                         place.module,
                         place.place,
                         place.function,
                         place.text,
                         caller.name ? fmt::to_string(caller.name.value()) : ""));
  return called;
}

const CodePlace& Sites::place_of(std::uintptr_t address) {
  const auto [place, is_new] = places_.try_emplace(address);
  if (is_new) {
    place->second = find_code(std::bit_cast<const void*>(address));
    if (const std::string& path = place->second.path; !path.empty() && listed_.insert(path).second) {
      modules_.add(fmt::format("{}\t0x{:x}\t{}\n", path, place->second.load_address, build_id_of(path)));
    }
  }
  return place->second;
}

Sites::Lines::~Lines() {
  if (file_ >= 0) {
    ::close(file_);
  }
}

void Sites::Lines::add(const std::string& line) {
  if (file_ < 0) {
    file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  }
  if (file_ >= 0 && ::write(file_, line.data(), line.size()) < 0) {
    // The trace still has module and offset of each site.
    ::close(std::exchange(file_, -1));
  }
}

}  // namespace plait::record
