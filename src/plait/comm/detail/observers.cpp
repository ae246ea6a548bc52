// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/detail/observers.hpp"

#include <utility>

namespace plait::comm::detail {

Observers::Node Observers::completed_mark;

Observers::Node* Observers::reversed(Node* list) noexcept {
  Node* result = nullptr;
  while (list != nullptr) {
    Node* const node = std::exchange(list, list->next);
    node->next = std::exchange(result, node);
  }
  return result;
}

void Observers::end(Node* node) noexcept {
  if (node->interest == Interest::owned) {
    delete node->completion;
  }
  if (node != &first_) {
    delete node;
  }
}

Observers::~Observers() {
  Node* left = has_completed() ? to_release_ : head_.load(std::memory_order_relaxed);  // no other thread is left
  while (left != nullptr) {
    end(std::exchange(left, left->next));
  }
}

bool Observers::attach(Completion& completion, Interest interest) {
  Node* const node = is_first_used_.exchange(true, std::memory_order_relaxed) ? new Node : &first_;
  *node = {&completion, head_.load(std::memory_order_acquire), interest};
  do {
    if (node->next == &completed_mark) {
      if (node != &first_) {
        delete node;
      }
      return false;
    }
    // Releases the node to complete(), or acquires from it what is published there.
  } while (!head_.compare_exchange_weak(node->next, node, std::memory_order_acq_rel, std::memory_order_acquire));
  return true;
}

void Observers::notify_completion(Node* list, const Status& status) noexcept {
  list = reversed(list);
  Node** last = &to_release_;
  while (list != nullptr) {
    Node* const node = std::exchange(list, list->next);
    Completion* const completion = node->completion;
    if (node->interest == Interest::until_completed) {
      end(node);
    } else {
      node->next = nullptr;
      *last = node;
      last = &node->next;
    }
    completion->completed(status);
  }
}

void Observers::notify_release(const Status& status) noexcept {
  for (Node* list = std::exchange(to_release_, nullptr); list != nullptr;) {
    Node* const node = std::exchange(list, list->next);
    Completion* const completion = node->completion;
    if (node->interest == Interest::owned) {
      completion->released(status);
      end(node);
    } else {
      end(node);  // before: the completion may end the operation's last handle
      completion->released(status);
    }
  }
}

}  // namespace plait::comm::detail
