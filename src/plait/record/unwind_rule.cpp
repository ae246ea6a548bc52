// SPDX-License-Identifier: Apache-2.0
#include "plait/record/unwind_rule.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <link.h>
#include <span>

namespace plait::record {
namespace {

/// Reads numbers as DWARF stores them. Reads past the end as zeros.
class Bytes {
 public:
  Bytes(const std::uint8_t* at, const std::uint8_t* end) : at_{at}, end_{end} {}

  [[nodiscard]] bool is_at_end() const { return at_ >= end_; }
  [[nodiscard]] const std::uint8_t* at() const { return at_; }
  void skip(std::uint64_t count) { at_ += std::min<std::uint64_t>(count, static_cast<std::uint64_t>(end_ - at_)); }

  template <class T>
  T number() {
    T value{};
    if (static_cast<std::size_t>(end_ - at_) >= sizeof value) {
      std::memcpy(&value, at_, sizeof value);
    }
    skip(sizeof value);
    return value;
  }
  std::uint64_t unsigned_leb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; !is_at_end(); shift += 7) {
      const auto byte = number<std::uint8_t>();
      value |= shift < 64 ? std::uint64_t{byte & 0x7FU} << shift : 0;
      if ((byte & 0x80U) == 0) {
        break;
      }
    }
    return value;
  }
  std::int64_t signed_leb() {
    const std::uint8_t* const start = at_;
    const std::uint64_t value = unsigned_leb();
    const auto bits = static_cast<unsigned>(7 * (at_ - start));
    const bool is_negative = bits > 0 && bits < 64 && (value >> (bits - 1) & 1U) != 0;
    return static_cast<std::int64_t>(is_negative ? value | ~std::uint64_t{0} << bits : value);
  }
  /// An address in the encoding `how`, of those that compilers write for code.
  std::uintptr_t address(std::uint8_t how) {
    const auto base = (how & 0x70U) == 0x10U ? std::bit_cast<std::uintptr_t>(at_) : std::uintptr_t{0};
    return base + length(how);
  }
  /// As `address`, of a length.
  std::uintptr_t length(std::uint8_t how) {
    switch (how & 0x0FU) {
      case 0x03:
        return number<std::uint32_t>();
      case 0x0B:
        return static_cast<std::uintptr_t>(std::int64_t{number<std::int32_t>()});
      default:
        return number<std::uint64_t>();
    }
  }

 private:
  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

#ifdef __x86_64__
constexpr bool has_return_address_on_stack = true;
constexpr std::uint64_t frame_register = 6;
constexpr std::uint64_t stack_register = 7;
constexpr std::uint64_t return_register = 16;
#else  // AArch64, whose ABI requires frame pointers
constexpr bool has_return_address_on_stack = false;
constexpr std::uint64_t frame_register = 29;
constexpr std::uint64_t stack_register = 31;
constexpr std::uint64_t return_register = 30;
#endif

/// What several functions have in common.
struct CommonEntry {
  std::uint64_t code_factor = 1;
  std::int64_t data_factor = 1;
  std::uint8_t address_encoding = 0;
  bool is_of_signals = false;  ///< The frame of a signal handler's caller.
  bool is_known = false;
  Bytes instructions{nullptr, nullptr};
};

Bytes entry_at(const std::uint8_t* at) {
  std::uint32_t length = 0;
  std::memcpy(&length, at, sizeof length);
  const bool is_plain = length != 0 && length < 0xFFFF'FFF0;  // else: the end, or an entry of more than 4 GiB
  return {at + sizeof length, at + sizeof length + (is_plain ? length : 0)};
}

CommonEntry read_common(const std::uint8_t* at) {
  Bytes entry = entry_at(at);
  CommonEntry common;
  entry.skip(sizeof(std::uint32_t));
  const auto version = entry.number<std::uint8_t>();
  std::array<char, 8> letters{};
  for (char& letter : letters) {
    letter = entry.number<char>();
    if (letter == '\0') {
      break;
    }
  }
  common.code_factor = entry.unsigned_leb();
  common.data_factor = entry.signed_leb();
  version == 1 ? static_cast<void>(entry.number<std::uint8_t>()) : static_cast<void>(entry.unsigned_leb());
  if (letters[0] != 'z' || letters.back() != '\0') {
    return common;
  }
  const std::uint64_t length = entry.unsigned_leb();
  Bytes more{entry.at(), entry.at() + length};
  for (const char letter : letters) {
    if (letter == 'R') {
      common.address_encoding = more.number<std::uint8_t>();
    } else if (letter == 'P') {
      const auto how = more.number<std::uint8_t>();
      more.address(how);
    } else if (letter == 'L') {
      more.number<std::uint8_t>();
    }
    common.is_of_signals |= letter == 'S';
  }
  entry.skip(length);
  common.instructions = entry;
  common.is_known = true;
  return common;
}

/// The row of a function's table that belongs to an instruction.
class Row {
 public:
  Row(const CommonEntry& common, std::uintptr_t start, std::uintptr_t wanted)
      : common_{common}, location_{start}, wanted_{wanted} {}

  /// Executes instructions up to the wanted location.
  void run(Bytes code) {
    while (!code.is_at_end() && location_ <= wanted_ && is_known_) {
      const auto instruction = code.number<std::uint8_t>();
      const auto low = static_cast<std::uint8_t>(instruction & 0x3FU);
      switch (instruction >> 6U) {
        case 1:
          advance(low);
          break;
        case 2:
          saved(low, static_cast<std::int64_t>(code.unsigned_leb()) * common_.data_factor);
          break;
        case 3:
          restored(low);
          break;
        default:
          run_one(low, code);
      }
    }
  }
  /// The row so far is what entries that restore registers go back to.
  void begin_function() { initial_ = rule_; }
  [[nodiscard]] UnwindRule rule() const { return is_known_ && !has_no_caller_ ? rule_ : UnwindRule{}; }

 private:
  using Base = UnwindRule::Base;

  void run_one(std::uint8_t instruction, Bytes& code) {
    switch (instruction) {
      case 0x00:  // nothing
        break;
      case 0x01:
        location_ = code.address(common_.address_encoding);
        break;
      case 0x02:
        advance(code.number<std::uint8_t>());
        break;
      case 0x03:
        advance(code.number<std::uint16_t>());
        break;
      case 0x04:
        advance(code.number<std::uint32_t>());
        break;
      case 0x0A:
        remembered_[depth_++ % remembered_.size()] = rule_;
        break;
      case 0x0B:
        rule_ = remembered_[--depth_ % remembered_.size()];
        break;
      case 0x2E:  // size of arguments
        code.unsigned_leb();
        break;
      default:
        instruction >= 0x0C && instruction <= 0x0F ? define_base(instruction, code)
                                                   : define_register(instruction, code);
    }
  }
  void define_base(std::uint8_t instruction, Bytes& code) {
    if (instruction == 0x0F) {
      define_base_by_expression(code);
      return;
    }
    if (instruction != 0x0E) {
      const std::uint64_t base = code.unsigned_leb();
      rule_.base = base == stack_register ? Base::stack : base == frame_register ? Base::frame : Base::none;
    }
    if (instruction != 0x0D) {
      rule_.offset = static_cast<std::int32_t>(code.unsigned_leb());
    }
  }
  /// The two expressions that compilers and linkers write: of a function that aligns its stack, and of stubs for calls
  /// into other modules. Any other ends the call path.
  void define_base_by_expression(Bytes& code) {
    const std::uint64_t length = code.unsigned_leb();
    Bytes expression{code.at(), code.at() + length};
    code.skip(length);
    const auto first = expression.number<std::uint8_t>();
    rule_.offset = static_cast<std::int32_t>(expression.signed_leb());
    const auto second = expression.number<std::uint8_t>();
    if (first == 0x70 + frame_register && second == 0x06 && expression.is_at_end()) {
      rule_.base = Base::stored_near_frame;
    } else if (first == 0x77 && second == 0x80 && length >= 4) {  // x86-64: 8 more once the stub has pushed its number
      constexpr std::uintptr_t pushed_from = 11;
      rule_.base = Base::stack;
      rule_.offset += (wanted_ & 15U) >= pushed_from ? 8 : 0;
    } else {
      rule_.base = Base::none;
    }
  }
  void define_register(std::uint8_t instruction, Bytes& code) {
    const std::uint64_t which = code.unsigned_leb();
    switch (instruction) {
      case 0x05:
        saved(which, static_cast<std::int64_t>(code.unsigned_leb()) * common_.data_factor);
        break;
      case 0x06:
        restored(which);
        break;
      case 0x07:
        has_no_caller_ |= which == return_register;
        break;
      case 0x08:
        rule_.frame_saved_at = which == frame_register ? 0 : rule_.frame_saved_at;
        break;
      case 0x11:
        saved(which, code.signed_leb() * common_.data_factor);
        break;
      case 0x09:
      case 0x14:
        code.unsigned_leb();
        break;
      case 0x10:
      case 0x16:
        skip_expression(which, code);
        break;
      default:  // an instruction that is not known, nor how long it is
        is_known_ = false;
    }
  }
  void skip_expression(std::uint64_t which, Bytes& code) {
    const std::uint64_t length = code.unsigned_leb();
    Bytes expression{code.at(), code.at() + length};
    code.skip(length);
    // A function that aligns its stack: stored at the frame pointer plus an offset, which is where it points to.
    if (which == frame_register && expression.number<std::uint8_t>() == 0x70 + frame_register) {
      rule_.is_frame_saved_at_frame = expression.signed_leb() == 0;
    }
  }
  void advance(std::uint64_t count) { location_ += count * common_.code_factor; }
  void saved(std::uint64_t which, std::int64_t at) {
    if (which == frame_register) {
      rule_.frame_saved_at = static_cast<std::int32_t>(at);
      rule_.is_frame_saved_at_frame = false;
    }
  }
  void restored(std::uint64_t which) {
    if (which == frame_register) {
      rule_.frame_saved_at = initial_.frame_saved_at;
      rule_.is_frame_saved_at_frame = initial_.is_frame_saved_at_frame;
    }
  }

  const CommonEntry& common_;
  std::uintptr_t location_;
  std::uintptr_t wanted_;
  UnwindRule rule_;
  UnwindRule initial_;
  std::array<UnwindRule, 8> remembered_;
  std::size_t depth_ = 0;
  bool has_no_caller_ = false;
  bool is_known_ = true;
};

/// Reads the rule from a function's entry; unknown if the instruction is not in it.
UnwindRule rule_in(const std::uint8_t* function, std::uintptr_t instruction) {
  Bytes entry = entry_at(function);
  const std::uint8_t* const id = entry.at();
  const auto distance = entry.number<std::uint32_t>();
  if (entry.is_at_end() || distance == 0) {
    return {};
  }
  const CommonEntry common = read_common(id - distance);
  const std::uintptr_t start = entry.address(common.address_encoding);
  const std::uintptr_t length = entry.length(common.address_encoding);
  if (!common.is_known || instruction < start || instruction - start >= length) {
    return {};
  }
  entry.skip(entry.unsigned_leb());
  Row row{common, start, instruction};
  row.run(common.instructions);
  row.begin_function();
  row.run(entry);
  UnwindRule rule = common.is_of_signals ? UnwindRule{} : row.rule();
  rule.function_start = start;
  return rule;
}

/// The sorted table of functions in .eh_frame_hdr, as linkers write it.
const std::uint8_t* function_entry(const std::uint8_t* header, std::uintptr_t instruction) {
  struct Entry {
    std::int32_t start;
    std::int32_t function;
  };
  constexpr std::uint8_t as_written[] = {1, 0x1B, 0x03, 0x3B};  // the version, and the encodings of what follows
  if (!std::equal(std::begin(as_written), std::end(as_written), header)) {
    return nullptr;
  }
  std::uint32_t count = 0;
  std::memcpy(&count, header + 8, sizeof count);
  const auto* const table = reinterpret_cast<const Entry*>(header + 12);
  const auto offset = static_cast<std::int64_t>(instruction - std::bit_cast<std::uintptr_t>(header));
  const Entry* const next =
      std::upper_bound(table, table + count, offset, [](std::int64_t at, const Entry& one) { return at < one.start; });
  return next == table ? nullptr : header + (next - 1)->function;
}

struct Search {
  std::uintptr_t instruction;
  UnwindRule rule;
};

bool contains(const dl_phdr_info& module, const ElfW(Phdr) & part, std::uintptr_t address) {
  const std::uintptr_t start = module.dlpi_addr + part.p_vaddr;
  return address >= start && address - start < part.p_memsz;
}

/// Of `dl_iterate_phdr`: returns 1, which ends the search, for the module of the instruction.
int search_module(dl_phdr_info* module, std::size_t /*size*/, void* argument) {
  auto& search = *static_cast<Search*>(argument);
  const std::span parts{module->dlpi_phdr, module->dlpi_phnum};
  const bool is_here = std::ranges::any_of(
      parts, [&](const auto& part) { return part.p_type == PT_LOAD && contains(*module, part, search.instruction); });
  if (!is_here) {
    return 0;
  }
  const auto table = std::ranges::find(parts, static_cast<ElfW(Word)>(PT_GNU_EH_FRAME), &ElfW(Phdr)::p_type);
  if (table != parts.end()) {
    const auto* const header = std::bit_cast<const std::uint8_t*>(module->dlpi_addr + table->p_vaddr);
    if (const std::uint8_t* const function = function_entry(header, search.instruction)) {
      search.rule = rule_in(function, search.instruction);
    }
  }
  return 1;
}

}  // namespace

UnwindRule find_unwind_rule(std::uintptr_t instruction) {
  Search search{.instruction = instruction, .rule = {}};
  ::dl_iterate_phdr(search_module, &search);
  if (search.rule.function_start == 0 || !has_return_address_on_stack) {
    search.rule.base = UnwindRule::Base::frame_pointers;
  }
  search.rule.instruction = instruction;
  return search.rule;
}

}  // namespace plait::record
