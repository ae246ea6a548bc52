// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plait/exports/detail/otf2_library.hpp"
#include "plait/exports/names.hpp"
#include "plait/exports/samples.hpp"
#include "plait/exports/site_texts.hpp"
#include "plait/trace/meta.hpp"

namespace plait::exports::detail {

/// A collective operation as OTF2 numbers them; nothing for a function that is none of them.
[[nodiscard]] std::optional<Otf2Enum> collective_operation(std::string_view function);

/// What the events of an archive refer to, gathered while they are written, and written after them. Numbers have no
/// gaps, as some readers want it.
struct Otf2Referred {
  struct Location {
    std::string name;
    std::uint32_t rank = 0;
    std::uint64_t events = 0;
  };
  struct Communicator {
    Otf2Reference reference = 0;
    std::vector<std::uint32_t> members;  ///< As ranks of the run.
  };

  Names regions;
  Names metrics;
  std::vector<SourceLine> sources;                       ///< Of call sites, each once.
  std::vector<PathTree::Node> contexts;                  ///< Calling contexts of samples.
  std::optional<std::uint64_t> interval_ns;              ///< The shortest between samples; nothing without samples.
  std::vector<Location> locations;                       ///< By number.
  std::map<std::uint32_t, Otf2Location> main_locations;  ///< Of ranks: whose number in MPI it has.
  std::map<std::uint32_t, Communicator> communicators;   ///< By number in the run; without that of all ranks.
  std::optional<Otf2Time> first_event;
  Otf2Time last_event = 0;
};

/// That of all ranks.
inline constexpr Otf2Reference otf2_world = 0;
/// The attribute of calls that has their call site.
inline constexpr Otf2Reference otf2_call_site = 0;
/// What samples are taken by.
inline constexpr Otf2Reference otf2_interrupts = 0;
static_assert(PathTree::none == otf2_nothing, "the outermost function has no caller in both");

/// Writes the definitions of a run. Each rank has a main location.
class Otf2DefinitionWriter {
 public:
  Otf2DefinitionWriter(const Otf2Functions& functions, Otf2GlobalDefinitions* out) : otf2_{functions}, out_{out} {}

  /// Returns 0, or the first status that is an error.
  [[nodiscard]] Otf2Status write(const Otf2Referred& definitions, const trace::Meta& meta, std::uint32_t ranks);

 private:
  Otf2Reference string(const std::string& text);
  void check(Otf2Status status) noexcept { status_ = status_ == 0 ? status : status_; }
  void write_locations(const Otf2Referred& definitions, const trace::Meta& meta, std::uint32_t ranks);
  void write_regions(const Names& names);
  void write_communicators(const Otf2Referred& definitions, std::uint32_t ranks);
  void write_communicator(const std::string& name, const Otf2Referred::Communicator& communicator, std::uint32_t ranks);
  void write_metrics(const Names& names);
  void write_sources(const std::vector<SourceLine>& sources);
  void write_contexts(const Otf2Referred& referred);

  const Otf2Functions& otf2_;
  Otf2GlobalDefinitions* out_;
  std::unordered_map<std::string, Otf2Reference> strings_;
  Otf2Status status_ = 0;
};

}  // namespace plait::exports::detail
