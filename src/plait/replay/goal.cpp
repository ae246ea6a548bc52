// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/goal.hpp"

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/replay/detail/places.hpp"
#include "plait/replay/expand.hpp"

namespace plait::replay {
namespace {

/// Writes one stream. The streams of a rank share the counter `label`.
class StreamWriter {
 public:
  StreamWriter(const Stream& stream, std::size_t cpu, std::uint64_t& label, std::string& text)
      : stream_{stream}, cpu_{cpu == 0 ? std::string{} : fmt::format(" cpu {}", cpu)}, label_{label}, text_{text} {}

  void write() {
    labels_.resize(stream_.operations.size());
    for (std::size_t i = 0; i < stream_.operations.size(); ++i) {
      const Operation& operation = stream_.operations[i];
      passed_.push_back(gate_);
      switch (operation.action) {
        case Action::poll:
        case Action::collective:
          break;
        case Action::send:
          begin(i, add("send {}b to {} tag {}", operation.bytes, operation.peer, operation.tag));
          break;
        case Action::receive:
          begin(i, add("recv {}b from {} tag {}", operation.bytes, operation.peer, operation.tag));
          break;
        case Action::compute:
          gate(add("calc {}", operation.took.count()));
          passed_.back() = gate_;
          break;
        case Action::after: {
          const std::uint64_t label = add("calc 0");
          for (const StreamPoint& point : std::span{stream_.others}.subspan(operation.first, operation.count)) {
            follows_.emplace_back(label, point);
          }
          gate(label);
          passed_.back() = gate_;
          break;
        }
        case Action::wait: {
          const std::uint64_t label = add("calc 0");
          for (std::uint32_t n = 0; n < operation.count; ++n) {
            require(label, "requires", labels_[stream_.waited[operation.first + n]]);
          }
          gate(label);
          passed_.back() = gate_;
          break;
        }
      }
    }
  }
  /// Writes what it waits for in the others, which are all written.
  void write_follows(const std::vector<StreamWriter>& all) {
    for (const auto& [label, point] : follows_) {
      require(label, "requires", all[point.stream].passed_[point.operation]);
    }
  }

 private:
  template <class... Arguments>
  std::uint64_t add(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    const std::uint64_t label = ++label_;
    auto out = std::back_inserter(text_);
    fmt::format_to(out, "l{}: ", label);
    fmt::format_to(out, format, std::forward<Arguments>(arguments)...);
    fmt::format_to(out, "{}\n", cpu_);
    return label;
  }

  void require(std::uint64_t label, const char* how, std::optional<std::uint64_t> earlier) {
    if (earlier) {
      fmt::format_to(std::back_inserter(text_), "l{} {} l{}\n", label, how, *earlier);
    }
  }

  void begin(std::size_t index, std::uint64_t label) {
    labels_[index] = label;
    require(label, "requires", gate_);
    require(label, "irequires", begun_);  // posted in this order, but may end in any
    begun_ = label;
  }

  /// Whatever follows requires it.
  void gate(std::uint64_t label) {
    require(label, "requires", gate_);
    require(label, "irequires", begun_);
    gate_ = label;
    begun_.reset();
  }

  const Stream& stream_;
  std::string cpu_;
  std::uint64_t& label_;
  std::string& text_;
  std::vector<std::uint64_t> labels_;
  std::optional<std::uint64_t> gate_;
  std::optional<std::uint64_t> begun_;
  std::vector<std::optional<std::uint64_t>> passed_;  ///< Of each operation: what has ended when it is passed.
  std::vector<std::pair<std::uint64_t, StreamPoint>> follows_;
};

}  // namespace

void write_goal(const Schedule& schedule, std::ostream& out) {
  Schedule messages = without_collectives(schedule);
  detail::number_messages(messages, detail::pair_operations(messages));
  out << "num_ranks " << messages.ranks.size() << "\n";
  for (std::size_t rank = 0; rank < messages.ranks.size(); ++rank) {
    std::string text = fmt::format("\nrank {} {{\n", rank);
    std::uint64_t label = 0;
    std::vector<StreamWriter> writers;
    for (std::size_t stream = 0; stream < messages.ranks[rank].streams.size(); ++stream) {
      writers.emplace_back(messages.ranks[rank].streams[stream], stream, label, text).write();
    }
    for (StreamWriter& writer : writers) {
      writer.write_follows(writers);
    }
    out << text << "}\n";
  }
  if (!out) {
    throw Error{ErrorCode::io, "the GOAL text cannot be written; check the space on the disk"};
  }
}

void write_goal(const Schedule& schedule, const std::filesystem::path& file) {
  std::ofstream out{file};
  if (!out) {
    throw Error{ErrorCode::io, fmt::format("{} cannot be written; check that its folder exists", file.string())};
  }
  write_goal(schedule, out);
}

}  // namespace plait::replay
