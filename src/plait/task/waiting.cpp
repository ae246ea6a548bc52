// SPDX-License-Identifier: Apache-2.0
#include "plait/task/waiting.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include "plait/task/detail/node.hpp"

namespace plait::task {

namespace {

using detail::Node;

constexpr std::size_t described_max = 20;
constexpr std::size_t drawn_max = 500;

bool has_ended(const Node& node) {
  return node.unfinished.load(std::memory_order_relaxed) == 0;
}

/// How many others it waits for.
std::uint32_t waits(const Node& node) {
  const std::uint32_t count = node.waits.load(std::memory_order_relaxed);
  return count == detail::is_ready ? 0 : count;
}

/// What keeps it, in words; nothing for a task that could run.
std::string reason(const Node& node) {
  if (waits(node) > 0) {
    return fmt::format("for {} others", waits(node));
  }
  if (node.role->waits_for != nullptr) {
    return node.role->waits_for(node);
  }
  if (node.unfinished.load(std::memory_order_relaxed) > 1) {
    return "for what it has spawned";
  }
  return node.has_claims ? "for its locks" : "";
}

}  // namespace

bool is_stall(const Error& error) {
  return std::string_view{error.what()}.find(stall_sentence) != std::string_view::npos;
}

std::string describe_waiting(std::span<const Task> active, std::span<const std::string> kinds) {
  std::string text;
  std::size_t count = 0;
  for (const Task& task : active) {
    const Node& node = task.node();
    if (has_ended(node)) {
      continue;
    }
    if (++count > described_max) {
      return text + ", ...";
    }
    const std::string why = reason(node);
    text += count > 1 ? ", " : "";
    text += kinds[node.kind.value()];
    text += why.empty() ? "" : fmt::format(" ({})", why);
  }
  return text.empty() ? "no tasks" : text;
}

std::string waiting_graph(std::span<const Task> active, std::span<const std::string> kinds) {
  std::vector<const Node*> drawn;
  for (const Task& task : active) {
    if (!has_ended(task.node())) {
      drawn.push_back(&task.node());
    }
  }
  // First what could go on but does not; then what waits for least.
  std::ranges::stable_sort(drawn, {}, [](const Node* node) { return waits(*node); });
  const std::size_t all = drawn.size();
  drawn.resize(std::min(all, drawn_max));
  const std::unordered_set<const Node*> is_drawn{drawn.begin(), drawn.end()};
  std::string text = "digraph waiting {\n  rankdir=LR;\n  node [shape=box, style=filled, fontname=\"sans-serif\"];\n";
  text += fmt::format("  label=\"{} tasks have not ended{}; orange: messages under way, green: ready, grey: waits\";\n",
                      all,
                      all > drawn_max ? fmt::format(", {} of them are shown", drawn_max) : "");
  for (const Node* const node : drawn) {
    const char* const colour = waits(*node) > 0 ? "#e8e8e8" : node->role->is_message ? "#f4b183" : "#a9d18e";
    text += fmt::format("  t{} [label=\"{} {}\\n{}\", fillcolor=\"{}\"];\n",
                        node->number,
                        kinds[node->kind.value()],
                        node->number,
                        reason(*node),
                        colour);
    for (const Node* const successor : std::span{node->successors, node->successor_count}) {
      if (is_drawn.contains(successor)) {
        text += fmt::format("  t{} -> t{};\n", node->number, successor->number);
      }
    }
  }
  return text + "}\n";
}

void write_waiting_graph(const std::filesystem::path& folder,
                         Rank self,
                         std::span<const Task> active,
                         std::span<const std::string> kinds) noexcept {
  try {
    const std::filesystem::path file = folder / fmt::format("plait-waiting-rank-{:04}.dot", self.value());
    std::ofstream out{file};
    out << waiting_graph(active, kinds);
    out.flush();
    std::fprintf(stderr,
                 out ? "plait: rank %u: what waits for what is drawn in %s (dot -Tsvg)\n"
                     : "plait: rank %u: could not write %s, the graph of what waits\n",
                 self.value(),
                 file.c_str());
  } catch (const std::exception&) {  // out of memory: the error that brought us here matters more
    std::fprintf(stderr, "plait: rank %u: could not draw what waits\n", self.value());
  }
}

}  // namespace plait::task
