// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "plait/comm/envelope.hpp"

namespace plait::comm {

/// The links of an element in `Bins`.
template <class Node>
struct BinLink {
  Node* previous = nullptr;  ///< In its bin; of the first element, the last one.
  Node* next = nullptr;      ///< In its bin.
  Node* next_bin = nullptr;  ///< Of a first element: the first one of another bin with an equal part of the hash.
};

/// Lists of elements with equal keys, first in, first out, in a hash table that is linked through the elements: a bin
/// begins with its first element, takes no memory of its own and ends with its last one.
///
/// `Node` has an `envelope`, from which `Key` makes the key, and `Key::link(node)`. Borrows the elements. Threads: one
/// at a time. Cost: constant; adding allocates when there are more bins than ever before.
template <class Node>
class Bins {
 public:
  /// The place in the table of a bin, or where it would be: valid until `add`.
  using Place = Node**;

  [[nodiscard]] bool is_empty() const noexcept { return count_ == 0; }
  [[nodiscard]] std::size_t bin_count() const noexcept { return bin_count_; }

  /// The first element is `*place`, null when the bin is empty. Expects: not `is_empty()`.
  template <class Key>
  [[nodiscard]] Place find(const Key& key) noexcept {
    Place place = &table_[key.hash() & (table_.size() - 1)];
    while (*place != nullptr && !key.is_of(**place)) {
      place = &key.link(**place).next_bin;
    }
    return place;
  }

  template <class Key>
  void add(const Key& key, Node& node) {
    if (bin_count_ == table_.size()) {
      grow<Key>();
    }
    ++count_;
    const Place place = find(key);
    BinLink<Node>& link = key.link(node);
    Node* const first = *place;
    if (first == nullptr) {
      ++bin_count_;
      link = {.previous = &node};
      *place = &node;
    } else {
      Node*& last = key.link(*first).previous;
      link = {.previous = last};
      key.link(*last).next = &node;
      last = &node;
    }
  }

  /// `place`: of the bin of `node`.
  template <class Key>
  void remove(const Key& key, Place place, Node& node) noexcept {
    --count_;
    Node& first = **place;
    const auto [previous, next, next_bin] = key.link(node);
    if (&node != &first) {
      key.link(*previous).next = next;
      key.link(next != nullptr ? *next : first).previous = previous;
    } else if (next != nullptr) {
      key.link(*next).previous = previous;
      key.link(*next).next_bin = next_bin;
      *place = next;
    } else {
      *place = next_bin;
      --bin_count_;
    }
  }

  /// Calls `visit` with each element, in no order but that of each bin. `visit` may free it if these bins are not used
  /// afterwards.
  template <class Key, class Visit>
  void for_each(Visit&& visit) const {
    for (const Node* first : table_) {
      while (first != nullptr) {
        const Node* node = std::exchange(first, Key::link(*first).next_bin);
        while (node != nullptr) {
          visit(*std::exchange(node, Key::link(*node).next));
        }
      }
    }
  }

 private:
  static constexpr std::size_t size_min = 64;

  template <class Key>
  void grow() {
    std::vector<Node*> old = std::exchange(table_, std::vector<Node*>(table_.empty() ? size_min : 2 * table_.size()));
    for (Node* first : old) {
      while (first != nullptr) {
        Node& moved = *std::exchange(first, Key::link(*first).next_bin);
        Node*& place = table_[Key{moved.envelope}.hash() & (table_.size() - 1)];
        Key::link(moved).next_bin = std::exchange(place, &moved);
      }
    }
  }

  std::vector<Node*> table_;  ///< First elements of bins; its size is a power of two.
  std::size_t count_ = 0;
  std::size_t bin_count_ = 0;
};

}  // namespace plait::comm
