// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/exports/detail/protobuf.hpp"
#include "plait/files/partial_file.hpp"
#include "plait/files/system_file.hpp"

namespace plait::exports::detail {

/// What may be written beside a bar.
enum class Fact : std::uint8_t {
  step,
  object,
  waited_ns,
  peer,
  bytes,
  tag,
  communicator,
  took_ns,
  site,
  bytes_given,
  bytes_got,
  completed,
};

struct FactValue {
  Fact fact = Fact::step;
  std::uint64_t value = 0;  ///< Of a site: its number in `Names`.
};

/// A bar's beginning.
struct SliceBegin {
  std::uint64_t track = 0;
  std::uint64_t time = 0;
  std::uint32_t name = 0;  ///< Interned.
  std::span<const FactValue> facts;
  std::span<const std::uint64_t> flows;        ///< That leave from it.
  std::span<const std::uint64_t> flows_ended;  ///< That arrive at it.
};

/// A sample of a thread, with an interned call path.
struct SampleOfThread {
  std::uint64_t time = 0;
  std::uint32_t pid = 0;
  std::uint32_t tid = 0;
  std::uint64_t interval_ns = 0;
  std::uint32_t path = 0;
};

/// The packets of a Perfetto trace, in a file. Names are interned: each text is written once. Numbers of fields:
/// protos/perfetto/trace/perfetto_trace.proto of https://github.com/google/perfetto.
class PerfettoPackets {
 public:
  explicit PerfettoPackets(const std::filesystem::path& file);

  void process(std::uint64_t track, std::uint32_t pid, std::string_view name);
  void thread(std::uint64_t track, std::uint64_t parent, std::uint32_t pid, std::uint32_t tid, std::string_view name);
  void row(std::uint64_t track, std::uint64_t parent, std::string_view name);
  void counter(std::uint64_t track, std::uint64_t parent, std::string_view name);

  /// Writes the text of a name, or of a site, unless it was written before.
  void intern_name(std::uint32_t name, std::string_view text);
  void intern_site(std::uint32_t site, std::string_view text);
  [[nodiscard]] bool has_name(std::uint32_t name) const noexcept { return name < names_.size() && names_[name]; }
  [[nodiscard]] bool has_site(std::uint32_t site) const noexcept { return site < sites_.size() && sites_[site]; }

  /// Writes a function's name, unless it was written before; and the functions of a call path, the outermost first.
  void intern_function(std::uint32_t function, std::string_view text);
  void intern_path(std::uint32_t path, std::span<const std::uint32_t> functions);
  void sample(const SampleOfThread& sample);
  /// Before the first of them: the usual interval between samples, and that they are by processor time.
  void begin_samples(std::uint64_t interval_ns);

  void begin(const SliceBegin& slice);
  void end(std::uint64_t track, std::uint64_t time);
  void count(std::uint64_t track, std::uint64_t time, double value);

  [[nodiscard]] std::uint64_t size() const noexcept { return packets_; }
  void complete();

 private:
  template <class Fill>
  void packet(Fill&& fill);
  template <class Fill>
  void event(std::uint64_t time, Fill&& fill);
  template <class Fill>
  void describe(std::uint64_t track, std::uint64_t parent, Fill&& fill);
  void intern(std::uint32_t field, std::uint32_t number, std::string_view text);
  void intern_once(std::vector<bool>& written, std::uint32_t field, std::uint32_t number, std::string_view text);
  template <class Fill>
  void intern_of_samples(Fill&& fill);
  void flush();

  ProtobufWriter out_;
  files::PartialFile file_;
  files::SystemFile system_file_;
  std::uint64_t written_ = 0;
  std::uint64_t packets_ = 0;
  std::vector<bool> names_;
  std::vector<bool> sites_;
  std::vector<bool> functions_;
};

}  // namespace plait::exports::detail
