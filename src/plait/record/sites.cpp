// SPDX-License-Identifier: Apache-2.0
#include "plait/record/sites.hpp"

#include <climits>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
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

/// The loader's list has no path for the program itself.
std::string path_of(const link_map& module) {
  if (*module.l_name != '\0') {
    return module.l_name;
  }
  std::array<char, PATH_MAX> target{};
  const ssize_t length = ::readlink("/proc/self/exe", target.data(), target.size());
  return length > 0 ? std::string{target.data(), static_cast<std::size_t>(length)} : std::string{"program"};
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

}  // namespace

Sites::Sites(trace::Recorder& recorder, std::filesystem::path file) : recorder_{recorder}, path_{std::move(file)} {}

Sites::~Sites() {
  if (file_ >= 0) {
    ::close(file_);
  }
}

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
  const void* call = static_cast<const char*>(code.address) - 1;
  Dl_info symbol{};
  link_map* module = nullptr;
  if (::dladdr1(call, &symbol, reinterpret_cast<void**>(&module), RTLD_DL_LINKMAP) == 0 || module == nullptr) {
    return code;
  }
  const std::string path = path_of(*module);
  if (only_passes_on(path)) {
    code.to_next = distance_to_next(slot);
    if (code.to_next != 0) {
      return code;
    }
  }
  const std::uint64_t offset = std::bit_cast<std::uintptr_t>(call) - module->l_addr;
  code.site = name(path, offset, symbol.dli_sname);
  return code;
}

trace::NameId Sites::name(const std::string& module_path, std::uint64_t offset, const char* symbol) {
  std::string text = fmt::format("{}+0x{:x}", base_name(module_path), offset);
  if (text.size() > trace::text_bytes_max) {
    text.erase(0, text.size() - trace::text_bytes_max);
  }
  const trace::NameId name = recorder_.name(trace::Role::call_site, text);
  texts_.emplace(name.value(), text);
  if (file_ < 0) {
    file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  }
  const std::string line =
      fmt::format("{}\t{}\t0x{:x}\t{}\n", name.value(), module_path, offset, symbol != nullptr ? symbol : "");
  if (file_ >= 0 && ::write(file_, line.data(), line.size()) < 0) {
    // The trace still has module and offset of the site.
    ::close(std::exchange(file_, -1));
  }
  return name;
}

}  // namespace plait::record
