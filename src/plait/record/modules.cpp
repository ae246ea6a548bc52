// SPDX-License-Identifier: Apache-2.0
#include "plait/record/modules.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <climits>
#include <cstddef>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <span>
#include <unistd.h>

#include <fmt/format.h>

namespace plait::record {
namespace {

/// The loader's list has no path for the program itself.
std::string path_of(const char* listed) {
  if (listed != nullptr && *listed != '\0') {
    return listed;
  }
  std::array<char, PATH_MAX> target{};
  const ssize_t length = ::readlink("/proc/self/exe", target.data(), target.size());
  return length > 0 ? std::string{target.data(), static_cast<std::size_t>(length)} : std::string{"program"};
}

/// The build id in a module's notes.
std::string build_id_in(std::span<const std::byte> notes) {
  constexpr std::size_t word = 4;
  const auto padded = [](std::size_t bytes) { return (bytes + word - 1) / word * word; };
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note{};
    std::memcpy(&note, notes.data(), sizeof note);
    const std::size_t begin = sizeof note + padded(note.n_namesz);
    const std::size_t end = begin + padded(note.n_descsz);
    if (end > notes.size()) {
      break;
    }
    constexpr std::array<char, 4> gnu = {'G', 'N', 'U', '\0'};
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == gnu.size() &&
        std::memcmp(notes.data() + sizeof note, gnu.data(), gnu.size()) == 0) {
      std::string digits;
      for (const std::byte byte : notes.subspan(begin, note.n_descsz)) {
        digits += fmt::format("{:02x}", static_cast<unsigned>(byte));
      }
      return digits;
    }
    notes = notes.subspan(end);
  }
  return {};
}

struct BuildIdSearch {
  const std::string& path;
  std::string digits;
};

/// Of `dl_iterate_phdr`: returns 1, which ends the search, for the module wanted.
int search_build_id(dl_phdr_info* module, std::size_t /*size*/, void* argument) {
  auto& search = *static_cast<BuildIdSearch*>(argument);
  if (path_of(module->dlpi_name) != search.path) {
    return 0;
  }
  for (const ElfW(Phdr) & part : std::span{module->dlpi_phdr, module->dlpi_phnum}) {
    if (part.p_type == PT_NOTE && search.digits.empty()) {
      search.digits = build_id_in({std::bit_cast<const std::byte*>(module->dlpi_addr + part.p_vaddr), part.p_memsz});
    }
  }
  return 1;
}

}  // namespace

CodePlace find_code(const void* address) {
  Dl_info symbol{};
  link_map* module = nullptr;
  if (::dladdr1(address, &symbol, reinterpret_cast<void**>(&module), RTLD_DL_LINKMAP) == 0 || module == nullptr) {
    return {};
  }
  CodePlace code{.path = path_of(module->l_name),
                 .offset = std::bit_cast<std::uintptr_t>(address) - module->l_addr,
                 .load_address = module->l_addr};
  // The C library does not name a symbol beyond its size; others name the nearest.
  const ElfW(Sym)* entry = nullptr;
  Dl_info again{};
  const bool is_sized =
      ::dladdr1(address, &again, reinterpret_cast<void**>(const_cast<ElfW(Sym)**>(&entry)), RTLD_DL_SYMENT) != 0 &&
      entry != nullptr;
  const auto distance = std::bit_cast<std::uintptr_t>(address) - std::bit_cast<std::uintptr_t>(symbol.dli_saddr);
  if (symbol.dli_sname != nullptr && is_sized && distance < std::max<std::uint64_t>(entry->st_size, 1)) {
    code.symbol = symbol.dli_sname;
  }
  return code;
}

std::string build_id_of(const std::string& path) {
  BuildIdSearch search{.path = path, .digits = {}};
  ::dl_iterate_phdr(search_build_id, &search);
  return search.digits;
}

}  // namespace plait::record
