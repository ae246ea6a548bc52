// SPDX-License-Identifier: Apache-2.0
#include "plait/record/imports.hpp"

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <dlfcn.h>
#include <link.h>
#include <span>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>

namespace plait::record {
namespace {

#ifdef __x86_64__
constexpr std::uint64_t types_of_imports[] = {R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT};
#else  // AArch64
constexpr std::uint64_t types_of_imports[] = {R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT};
#endif

/// The tables of a module by which the loader finds what it imports; both processors have relocations with addends.
struct ImportTables {
  const char* names = nullptr;
  const ElfW(Sym) * symbols = nullptr;
  std::span<const ElfW(Rela)> of_calls;
  std::span<const ElfW(Rela)> of_data;
};

ImportTables tables_of(const link_map& module) {
  ImportTables tables;
  const ElfW(Rela)* of_calls = nullptr;
  const ElfW(Rela)* of_data = nullptr;
  std::size_t bytes_of_calls = 0;
  std::size_t bytes_of_data = 0;
  for (const ElfW(Dyn)* entry = module.l_ld; entry->d_tag != DT_NULL; ++entry) {
    switch (entry->d_tag) {
      case DT_STRTAB:
        tables.names = std::bit_cast<const char*>(entry->d_un.d_ptr);
        break;
      case DT_SYMTAB:
        tables.symbols = std::bit_cast<const ElfW(Sym)*>(entry->d_un.d_ptr);
        break;
      case DT_JMPREL:
        of_calls = std::bit_cast<const ElfW(Rela)*>(entry->d_un.d_ptr);
        break;
      case DT_PLTRELSZ:
        bytes_of_calls = entry->d_un.d_val;
        break;
      case DT_RELA:
        of_data = std::bit_cast<const ElfW(Rela)*>(entry->d_un.d_ptr);
        break;
      case DT_RELASZ:
        bytes_of_data = entry->d_un.d_val;
        break;
      default:
        break;
    }
  }
  tables.of_calls = {of_calls, of_calls != nullptr ? bytes_of_calls / sizeof *of_calls : 0};
  tables.of_data = {of_data, of_data != nullptr ? bytes_of_data / sizeof *of_data : 0};
  return tables;
}

struct ReadOnly {
  std::uintptr_t load_address;
  std::uintptr_t slot;
  bool has_slot = false;
};

/// Whether the loader has made the memory of an import read-only after it had found the function.
bool is_read_only(const link_map& module, std::uintptr_t slot) {
  ReadOnly wanted{.load_address = module.l_addr, .slot = slot};
  ::dl_iterate_phdr(
      [](dl_phdr_info* one, std::size_t, void* argument) {
        auto& search = *static_cast<ReadOnly*>(argument);
        if (one->dlpi_addr != search.load_address) {
          return 0;
        }
        for (const ElfW(Phdr) & part : std::span{one->dlpi_phdr, one->dlpi_phnum}) {
          const std::uintptr_t begin = one->dlpi_addr + part.p_vaddr;
          search.has_slot |= part.p_type == PT_GNU_RELRO && search.slot >= begin && search.slot < begin + part.p_memsz;
        }
        return 1;
      },
      &wanted);
  return wanted.has_slot;
}

bool store(const link_map& module, std::uintptr_t slot, void (*function)()) {
  const auto page_bytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  void* const page = std::bit_cast<void*>(slot / page_bytes * page_bytes);
  const bool is_protected = is_read_only(module, slot);
  if (is_protected && ::mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0) {
    return false;
  }
  std::atomic_ref{*std::bit_cast<std::uintptr_t*>(slot)}.store(std::bit_cast<std::uintptr_t>(function),
                                                               std::memory_order_release);  // with calls through it
  if (is_protected) {
    ::mprotect(page, page_bytes, PROT_READ);
  }
  return true;
}

bool is_import(const ElfW(Rela) & entry) {
  for (const std::uint64_t type : types_of_imports) {
    if (ELF64_R_TYPE(entry.r_info) == type) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool replace_import(const void* in_module, const char* name, void (*replacement)()) {
  Dl_info ignored{};
  link_map* module = nullptr;
  if (::dladdr1(in_module, &ignored, reinterpret_cast<void**>(&module), RTLD_DL_LINKMAP) == 0 || module == nullptr ||
      module->l_ld == nullptr) {
    return false;
  }
  const ImportTables tables = tables_of(*module);
  if (tables.names == nullptr || tables.symbols == nullptr) {
    return false;
  }
  bool is_found = false;
  for (const auto& entries : {tables.of_calls, tables.of_data}) {
    for (const ElfW(Rela) & entry : entries) {
      if (is_import(entry) &&
          std::string_view{tables.names + tables.symbols[ELF64_R_SYM(entry.r_info)].st_name} == name) {
        is_found |= store(*module, module->l_addr + entry.r_offset, replacement);
      }
    }
  }
  return is_found;
}

}  // namespace plait::record
