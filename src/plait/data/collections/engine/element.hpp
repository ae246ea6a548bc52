// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/base/clock.hpp"
#include "plait/data/collections/element.hpp"
#include "plait/data/collections/engine/mail.hpp"
#include "plait/data/collections/report.hpp"
#include "plait/task/detail/node.hpp"

namespace plait::data::detail {

/// The bytes that an element has sent since the last reset, by receiver.
struct SentBytes {
  std::vector<PeerBytes> to;
  std::size_t last = 0;  ///< Place in `to`.
};

/// An element on its rank: a task that runs when the element has a step or a message.
///
/// Short elements are executed in batches: the task of the first one runs all of them. Each of the others is idle, or
/// free for another worker, as soon as it has run.
struct Element : task::detail::Node {
  static constexpr std::uint64_t not_asked = static_cast<std::uint64_t>(-1);

  Element() noexcept : Node{task::TaskKind{0}} {}
  Element(const Element&) = delete;
  Element& operator=(const Element&) = delete;
  ~Element() {
    for (Mail* const input : inputs) {
      input->kind->drop(input);
    }
  }

  // Every call touches this cache line; of the task, only the first element of a batch is touched.
  ElementId id;
  void* value = nullptr;
  Mailbox mailbox;
  Element* next_in_batch = nullptr;  ///< Or in the list of those that will be in one.
  std::uint64_t next_step = 0;       ///< Of `phase`: what it runs next.
  nanoseconds busy{};                ///< Since the last reset.
  std::uint32_t phase = 0;           ///< The last in which it ran.
  float step_ns = 0;                 ///< Moving average of its steps' times; 0: not known.
  float mail_ns = 0;                 ///< The same of messages, when they came without a step.
  bool has_more = false;             ///< Its next step may begin.
  bool is_waking = false;            ///< What ends next is an event that starts the task, not the task.
  bool is_erased = false;

  std::uint64_t needed = not_asked;  ///< Inputs of the next step.
  std::vector<Mail*> inputs;         ///< That have come, of this step and later ones.
  SentBytes sent;
  std::uint64_t recorded_as = 0;  ///< Task of its last execution in `phase`, in traces.
};

/// The destination of a message to an element.
struct Route {
  Element* local = nullptr;
  Rank rank;  ///< No rank when this rank is the home, and knows no such element.
  [[nodiscard]] bool is_elsewhere() const noexcept { return local == nullptr && rank; }
};

/// The operations on elements for code that does not know their type.
struct ElementKind {
  void (*destroy)(Element* element) noexcept;
  Bytes (*pack)(const Element& element);
  Element* (*unpack)(std::span<const std::byte> packed);
};

}  // namespace plait::data::detail
