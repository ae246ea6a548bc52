// SPDX-License-Identifier: Apache-2.0
#include "plait/exports/detail/perfetto_packets.hpp"

namespace plait::exports::detail {
namespace {

constexpr std::uint64_t sequence = 1;
/// Whose packets refer to interned call paths.
constexpr std::uint64_t samples_sequence = 2;
constexpr std::uint64_t state_cleared = 1;
constexpr std::uint64_t state_needed = 2;
constexpr std::uint64_t slice_begin = 1;
constexpr std::uint64_t slice_end = 2;
constexpr std::uint64_t counter_value = 4;
constexpr std::size_t flush_bytes = std::size_t{1} << 20U;

namespace trace_field {
constexpr std::uint32_t packet = 1;
}
namespace packet_field {
constexpr std::uint32_t timestamp = 8;
constexpr std::uint32_t sequence = 10;
constexpr std::uint32_t track_event = 11;
constexpr std::uint32_t interned_data = 12;
constexpr std::uint32_t sequence_flags = 13;
constexpr std::uint32_t defaults = 59;
constexpr std::uint32_t track_descriptor = 60;
constexpr std::uint32_t perf_sample = 66;
}  // namespace packet_field
namespace event_field {
constexpr std::uint32_t annotations = 4;
constexpr std::uint32_t type = 9;
constexpr std::uint32_t name = 10;
constexpr std::uint32_t track = 11;
constexpr std::uint32_t real_value = 44;
constexpr std::uint32_t flows = 47;
constexpr std::uint32_t flows_ended = 48;
}  // namespace event_field
namespace annotation_field {
constexpr std::uint32_t name = 1;
constexpr std::uint32_t number = 3;
constexpr std::uint32_t text = 17;
}  // namespace annotation_field
namespace interned_field {
constexpr std::uint32_t event_names = 2;
constexpr std::uint32_t annotation_names = 3;
constexpr std::uint32_t annotation_texts = 29;
constexpr std::uint32_t functions = 5;
constexpr std::uint32_t frames = 6;
constexpr std::uint32_t callstacks = 7;
constexpr std::uint32_t mapping_paths = 17;
constexpr std::uint32_t mappings = 19;
}  // namespace interned_field
namespace sample_field {
constexpr std::uint32_t pid = 2;
constexpr std::uint32_t tid = 3;
constexpr std::uint32_t path = 4;
constexpr std::uint32_t interval = 6;
}  // namespace sample_field
namespace descriptor_field {
constexpr std::uint32_t track = 1;
constexpr std::uint32_t name = 2;
constexpr std::uint32_t process = 3;
constexpr std::uint32_t thread = 4;
constexpr std::uint32_t parent = 5;
constexpr std::uint32_t counter = 8;
}  // namespace descriptor_field

/// In the order of `Fact`.
constexpr std::array fact_names{
    "step",
    "object",
    "waited_ns",
    "peer",
    "bytes",
    "tag",
    "communicator",
    "took_ns",
    "site",
    "bytes given",
    "bytes got",
    "completed",
};

/// Numbers of interned texts begin at 1.
constexpr std::uint64_t interned(std::uint32_t number) noexcept {
  return std::uint64_t{number} + 1;
}

bool note(std::vector<bool>& written, std::uint32_t number) {
  if (number >= written.size()) {
    written.resize(number + std::size_t{1});
  }
  const bool is_new = !written[number];
  written[number] = true;
  return is_new;
}

}  // namespace

PerfettoPackets::PerfettoPackets(const std::filesystem::path& file)
    : file_{file}, system_file_{file_.path(), files::SystemFile::Mode::create} {
  packet([&] {
    out_.number(packet_field::sequence, sequence);
    out_.number(packet_field::sequence_flags, state_cleared | state_needed);
    out_.message(packet_field::interned_data, [&] {
      for (std::uint32_t fact = 0; fact < fact_names.size(); ++fact) {
        intern(interned_field::annotation_names, fact, fact_names[fact]);
      }
    });
  });
}

template <class Fill>
void PerfettoPackets::packet(Fill&& fill) {
  out_.message(trace_field::packet, fill);
  ++packets_;
  if (out_.bytes().size() >= flush_bytes) {
    flush();
  }
}

template <class Fill>
void PerfettoPackets::event(std::uint64_t time, Fill&& fill) {
  packet([&] {
    out_.number(packet_field::timestamp, time);
    out_.number(packet_field::sequence, sequence);
    out_.number(packet_field::sequence_flags, state_needed);
    out_.message<2>(packet_field::track_event, fill);
  });
}

template <class Fill>
void PerfettoPackets::describe(std::uint64_t track, std::uint64_t parent, Fill&& fill) {
  packet([&] {
    out_.message(packet_field::track_descriptor, [&] {
      out_.number(descriptor_field::track, track);
      if (parent != 0) {
        out_.number(descriptor_field::parent, parent);
      }
      fill();
    });
  });
}

void PerfettoPackets::process(std::uint64_t track, std::uint32_t pid, std::string_view name) {
  describe(track, 0, [&] {
    out_.message(descriptor_field::process, [&] {
      out_.number(1, pid);
      out_.text(6, name);
    });
  });
}

void PerfettoPackets::thread(
    std::uint64_t track, std::uint64_t parent, std::uint32_t pid, std::uint32_t tid, std::string_view name) {
  describe(track, parent, [&] {
    out_.message(descriptor_field::thread, [&] {
      out_.number(1, pid);
      out_.number(2, tid);
      out_.text(5, name);
    });
  });
}

void PerfettoPackets::row(std::uint64_t track, std::uint64_t parent, std::string_view name) {
  describe(track, parent, [&] { out_.text(descriptor_field::name, name); });
}

void PerfettoPackets::counter(std::uint64_t track, std::uint64_t parent, std::string_view name) {
  describe(track, parent, [&] {
    out_.text(descriptor_field::name, name);
    out_.message(descriptor_field::counter, [] {});
  });
}

void PerfettoPackets::intern(std::uint32_t field, std::uint32_t number, std::string_view text) {
  out_.message(field, [&] {
    out_.number(1, interned(number));
    out_.text(2, text);
  });
}

void PerfettoPackets::intern_once(std::vector<bool>& written,
                                  std::uint32_t field,
                                  std::uint32_t number,
                                  std::string_view text) {
  if (note(written, number)) {
    packet([&] {
      out_.number(packet_field::sequence, sequence);
      out_.number(packet_field::sequence_flags, state_needed);
      out_.message(packet_field::interned_data, [&] { intern(field, number, text); });
    });
  }
}

void PerfettoPackets::intern_name(std::uint32_t name, std::string_view text) {
  intern_once(names_, interned_field::event_names, name, text);
}

void PerfettoPackets::intern_site(std::uint32_t site, std::string_view text) {
  intern_once(sites_, interned_field::annotation_texts, site, text);
}

template <class Fill>
void PerfettoPackets::intern_of_samples(Fill&& fill) {
  packet([&] {
    out_.number(packet_field::sequence, samples_sequence);
    out_.number(packet_field::sequence_flags, state_needed);
    out_.message(packet_field::interned_data, fill);
  });
}

/// Samples are by processor time; all functions are of one program.
void PerfettoPackets::begin_samples(std::uint64_t interval_ns) {
  constexpr std::uint64_t cpu_clock = 1;
  packet([&] {
    out_.number(packet_field::sequence, samples_sequence);
    out_.number(packet_field::sequence_flags, state_cleared);
    out_.message(packet_field::defaults, [&] {
      out_.message(12, [&] {  // of samples
        out_.message(1, [&] {
          out_.number(1, interval_ns);
          out_.number(4, cpu_clock);
        });
      });
    });
    out_.message(packet_field::interned_data, [&] {
      out_.message(interned_field::mapping_paths, [&] {
        out_.number(1, 1);
        out_.text(2, "program");
      });
      out_.message(interned_field::mappings, [&] {
        out_.number(1, 1);
        out_.number(7, 1);
      });
    });
  });
}

void PerfettoPackets::intern_function(std::uint32_t function, std::string_view text) {
  if (note(functions_, function)) {
    intern_of_samples([&] {
      intern(interned_field::functions, function, text);
      out_.message(interned_field::frames, [&] {
        out_.number(1, interned(function));
        out_.number(2, interned(function));
        out_.number(3, 1);
      });
    });
  }
}

void PerfettoPackets::intern_path(std::uint32_t path, std::span<const std::uint32_t> functions) {
  intern_of_samples([&] {
    out_.message(interned_field::callstacks, [&] {
      out_.number(1, interned(path));
      for (const std::uint32_t function : functions) {
        out_.number(2, interned(function));
      }
    });
  });
}

void PerfettoPackets::sample(const SampleOfThread& sample) {
  packet([&] {
    out_.number(packet_field::timestamp, sample.time);
    out_.number(packet_field::sequence, samples_sequence);
    out_.number(packet_field::sequence_flags, state_needed);
    out_.message<2>(packet_field::perf_sample, [&] {
      out_.number(sample_field::pid, sample.pid);
      out_.number(sample_field::tid, sample.tid);
      out_.number(sample_field::path, interned(sample.path));
      out_.number(sample_field::interval, sample.interval_ns);
    });
  });
}

void PerfettoPackets::begin(const SliceBegin& slice) {
  event(slice.time, [&] {
    out_.number(event_field::type, slice_begin);
    out_.number(event_field::track, slice.track);
    out_.number(event_field::name, interned(slice.name));
    for (const FactValue& one : slice.facts) {
      const bool is_site = one.fact == Fact::site;
      out_.message<1>(event_field::annotations, [&] {
        out_.number(annotation_field::name, interned(static_cast<std::uint32_t>(one.fact)));
        out_.number(is_site ? annotation_field::text : annotation_field::number,
                    is_site ? interned(static_cast<std::uint32_t>(one.value)) : one.value);
      });
    }
    for (const std::uint64_t flow : slice.flows) {
      out_.fixed(event_field::flows, flow);
    }
    for (const std::uint64_t flow : slice.flows_ended) {
      out_.fixed(event_field::flows_ended, flow);
    }
  });
}

void PerfettoPackets::end(std::uint64_t track, std::uint64_t time) {
  event(time, [&] {
    out_.number(event_field::type, slice_end);
    out_.number(event_field::track, track);
  });
}

void PerfettoPackets::count(std::uint64_t track, std::uint64_t time, double value) {
  event(time, [&] {
    out_.number(event_field::type, counter_value);
    out_.number(event_field::track, track);
    out_.real(event_field::real_value, value);
  });
}

void PerfettoPackets::flush() {
  system_file_.write(written_, std::as_bytes(std::span{out_.bytes()}));
  written_ += out_.bytes().size();
  out_.clear();
}

void PerfettoPackets::complete() {
  flush();
  file_.complete();
}

}  // namespace plait::exports::detail
