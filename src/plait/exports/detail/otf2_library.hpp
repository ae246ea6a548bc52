// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdarg>
#include <cstdint>
#include <filesystem>
#include <memory>

/// The functions of OTF2 3 that an export calls, found in the library when the program runs: no header and no library
/// of OTF2 is needed to build. Signatures: OTF2_Archive.h, OTF2_EvtWriter.h and OTF2_GlobalDefWriter.h of OTF2 3.0,
/// which keeps them within a major version (https://perftools.pages.jsc.fz-juelich.de/cicd/otf2/tags/latest/html).
namespace plait::exports::detail {

/// Handles that OTF2 owns.
struct Otf2Archive;
struct Otf2Events;
struct Otf2Definitions;
struct Otf2GlobalDefinitions;
struct Otf2Attributes;

using Otf2Time = std::uint64_t;
using Otf2Location = std::uint64_t;
using Otf2Reference = std::uint32_t;  ///< Of a string, region, group, communicator, and so on.
using Otf2Enum = std::uint8_t;
using Otf2Flags = std::uint32_t;
using Otf2Status = std::int32_t;  ///< 0: success.

inline constexpr Otf2Reference otf2_nothing = 0xffff'ffff;

struct Otf2FlushCallbacks {
  Otf2Enum (*before)(void* data, Otf2Enum file, Otf2Location location, void* caller, bool is_final);
  Otf2Time (*after)(void* data, Otf2Enum file, Otf2Location location);
};

/// Called for each error, also for those that no function returns: of data that is written when a file is closed.
using Otf2ErrorCallback = Otf2Status(void* data,
                                     const char* file,
                                     std::uint64_t line,
                                     const char* function,
                                     Otf2Status code,
                                     const char* format,
                                     va_list);

/// A function of the library: its type is its signature, its value where it is.
template <class Signature>
using Otf2Function = Signature*;

struct Otf2Functions {
  /// Returns the callback before.
  Otf2Function<Otf2ErrorCallback*(Otf2ErrorCallback*, void*)> set_error_callback;
  Otf2Function<const char*(Otf2Status)> error_text;
  // Of an archive.
  Otf2Function<Otf2Archive*(const char*, const char*, Otf2Enum, std::uint64_t, std::uint64_t, Otf2Enum, Otf2Enum)> open;
  Otf2Function<Otf2Status(Otf2Archive*)> close;
  Otf2Function<Otf2Status(Otf2Archive*, const Otf2FlushCallbacks*, void*)> set_flush_callbacks;
  Otf2Function<Otf2Status(Otf2Archive*)> set_serial;
  Otf2Function<Otf2Status(Otf2Archive*, const char*)> set_creator;
  Otf2Function<Otf2Status(Otf2Archive*, const char*)> set_description;
  Otf2Function<Otf2Status(Otf2Archive*)> open_events;
  Otf2Function<Otf2Status(Otf2Archive*)> close_events;
  Otf2Function<Otf2Status(Otf2Archive*)> open_definitions;
  Otf2Function<Otf2Status(Otf2Archive*)> close_definitions;
  Otf2Function<Otf2Events*(Otf2Archive*, Otf2Location)> events_of;
  Otf2Function<Otf2Status(Otf2Archive*, Otf2Events*)> close_events_of;
  Otf2Function<Otf2Definitions*(Otf2Archive*, Otf2Location)> definitions_of;
  Otf2Function<Otf2Status(Otf2Archive*, Otf2Definitions*)> close_definitions_of;
  Otf2Function<Otf2GlobalDefinitions*(Otf2Archive*)> global_definitions;
  // Attributes of the next event, whose writing empties the list.
  Otf2Function<Otf2Attributes*()> new_attributes;
  Otf2Function<Otf2Status(Otf2Attributes*)> delete_attributes;
  Otf2Function<Otf2Status(Otf2Attributes*, Otf2Reference, Otf2Reference)> add_source_location;
  // Events; the second argument is a list of attributes.
  Otf2Function<Otf2Status(Otf2Events*, Otf2Attributes*, Otf2Time, Otf2Reference)> enter;
  Otf2Function<Otf2Status(Otf2Events*, void*, Otf2Time, Otf2Reference)> leave;
  Otf2Function<Otf2Status(Otf2Events*, void*, Otf2Time, std::uint32_t, Otf2Reference, std::uint32_t, std::uint64_t)>
      send;
  Otf2Function<Otf2Status(Otf2Events*, void*, Otf2Time, std::uint32_t, Otf2Reference, std::uint32_t, std::uint64_t)>
      receive;
  Otf2Function<Otf2Status(
      Otf2Events*, void*, Otf2Time, std::uint32_t, Otf2Reference, std::uint32_t, std::uint64_t, std::uint64_t)>
      send_begun;
  Otf2Function<Otf2Status(Otf2Events*, void*, Otf2Time, std::uint64_t)> send_complete;
  Otf2Function<Otf2Status(Otf2Events*, void*, Otf2Time, std::uint64_t)> receive_begun;
  Otf2Function<Otf2Status(
      Otf2Events*, void*, Otf2Time, std::uint32_t, Otf2Reference, std::uint32_t, std::uint64_t, std::uint64_t)>
      receive_complete;
  Otf2Function<Otf2Status(Otf2Events*, void*, Otf2Time)> collective_begin;
  Otf2Function<Otf2Status(
      Otf2Events*, void*, Otf2Time, Otf2Enum, Otf2Reference, std::uint32_t, std::uint64_t, std::uint64_t)>
      collective_end;
  Otf2Function<Otf2Status(Otf2Events*, void*, Otf2Time, std::uint64_t)> collective_begun;
  Otf2Function<Otf2Status(Otf2Events*,
                          void*,
                          Otf2Time,
                          Otf2Enum,
                          Otf2Reference,
                          std::uint32_t,
                          std::uint64_t,
                          std::uint64_t,
                          std::uint64_t)>
      collective_complete;
  /// `values`: each 8 bytes.
  Otf2Function<Otf2Status(Otf2Events*, void*, Otf2Time, Otf2Reference, std::uint8_t, const Otf2Enum*, const double*)>
      metric;
  /// A sample: calling context, how many callers returned since the one before, interrupt generator.
  Otf2Function<Otf2Status(Otf2Events*, void*, Otf2Time, Otf2Reference, std::uint32_t, Otf2Reference)> sample;
  // Definitions; the second argument is the number of what is defined.
  Otf2Function<Otf2Status(Otf2GlobalDefinitions*, std::uint64_t, Otf2Time, std::uint64_t, std::uint64_t)> clock;
  Otf2Function<Otf2Status(Otf2GlobalDefinitions*, Otf2Reference, const char*)> string;
  Otf2Function<Otf2Status(Otf2GlobalDefinitions*, Otf2Reference, Otf2Reference, Otf2Reference, Otf2Reference)>
      tree_node;
  Otf2Function<Otf2Status(Otf2GlobalDefinitions*, Otf2Reference, Otf2Reference, Otf2Enum, Otf2Reference, Otf2Reference)>
      location_group;
  Otf2Function<Otf2Status(Otf2GlobalDefinitions*, Otf2Location, Otf2Reference, Otf2Enum, std::uint64_t, Otf2Reference)>
      location;
  Otf2Function<Otf2Status(Otf2GlobalDefinitions*,
                          Otf2Reference,
                          Otf2Reference,
                          Otf2Reference,
                          Otf2Reference,
                          Otf2Enum,
                          Otf2Enum,
                          Otf2Flags,
                          Otf2Reference,
                          std::uint32_t,
                          std::uint32_t)>
      region;
  Otf2Function<Otf2Status(Otf2GlobalDefinitions*,
                          Otf2Reference,
                          Otf2Reference,
                          Otf2Enum,
                          Otf2Enum,
                          Otf2Flags,
                          std::uint32_t,
                          const std::uint64_t*)>
      group;
  Otf2Function<Otf2Status(
      Otf2GlobalDefinitions*, Otf2Reference, Otf2Reference, Otf2Reference, Otf2Reference, Otf2Flags)>
      communicator;
  Otf2Function<Otf2Status(Otf2GlobalDefinitions*,
                          Otf2Reference,
                          Otf2Reference,
                          Otf2Reference,
                          Otf2Enum,
                          Otf2Enum,
                          Otf2Enum,
                          Otf2Enum,
                          std::int64_t,
                          Otf2Reference)>
      metric_member;
  Otf2Function<Otf2Status(
      Otf2GlobalDefinitions*, Otf2Reference, std::uint8_t, const Otf2Reference*, Otf2Enum, Otf2Enum)>
      metric_class;
  /// Name, description, type.
  Otf2Function<Otf2Status(Otf2GlobalDefinitions*, Otf2Reference, Otf2Reference, Otf2Reference, Otf2Enum)> attribute;
  /// File, line.
  Otf2Function<Otf2Status(Otf2GlobalDefinitions*, Otf2Reference, Otf2Reference, std::uint32_t)> source_location;
  /// Region, place in the source, calling context of the caller.
  Otf2Function<Otf2Status(Otf2GlobalDefinitions*, Otf2Reference, Otf2Reference, Otf2Reference, Otf2Reference)>
      calling_context;
  Otf2Function<Otf2Status(
      Otf2GlobalDefinitions*, Otf2Reference, Otf2Reference, Otf2Enum, Otf2Enum, std::int64_t, std::uint64_t)>
      interrupt_generator;
};

/// The loaded library, which stays loaded as long as this exists.
class Otf2Library {
 public:
  /// `file`: the shared library, or a name that the system's loader finds. Throws: `Error` with `bad_input` when it
  /// cannot be loaded, or is no OTF2 3.
  explicit Otf2Library(const std::filesystem::path& file);

  [[nodiscard]] const Otf2Functions& functions() const noexcept { return functions_; }

 private:
  struct Closes {
    void operator()(void* handle) const noexcept;
  };
  std::unique_ptr<void, Closes> handle_;
  Otf2Functions functions_{};
};

}  // namespace plait::exports::detail
