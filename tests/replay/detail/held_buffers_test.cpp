// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/detail/held_buffers.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "plait/replay/detail/buffer_pool.hpp"

namespace plait::replay::held_buffers_test {
namespace {

using detail::BufferPool;
using detail::held_buffers;
using detail::HeldBuffers;

Operation message(Action action, std::uint64_t bytes) {
  Operation operation;
  operation.action = action;
  operation.bytes = bytes;
  return operation;
}

Operation wait(std::uint32_t first, std::uint32_t count) {
  Operation operation;
  operation.action = Action::wait;
  operation.first = first;
  operation.count = count;
  return operation;
}

TEST(HeldBuffers, counts_messages_until_the_wait_for_them) {
  Stream stream;
  stream.operations = {message(Action::receive, 1000),
                       message(Action::receive, 1024),
                       wait(0, 2),
                       message(Action::receive, 700),
                       wait(2, 1)};
  stream.waited = {0, 1, 3};
  const std::vector<HeldBuffers> expected{{.is_sent = false, .bytes = 1024, .count = 2}};
  EXPECT_EQ(held_buffers(stream), expected);
}

TEST(HeldBuffers, holds_to_the_end_what_is_never_waited_for) {
  Stream stream;
  stream.operations = {message(Action::send, 64), message(Action::send, 64), message(Action::send, 128)};
  const std::vector<HeldBuffers> expected{{.is_sent = true, .bytes = 64, .count = 2},
                                          {.is_sent = true, .bytes = 128, .count = 1}};
  EXPECT_EQ(held_buffers(stream), expected);
}

TEST(HeldBuffers, an_operation_that_is_waited_for_twice_counts_once) {
  Stream stream;
  stream.operations = {message(Action::send, 1), wait(0, 1), wait(0, 1), message(Action::send, 1)};
  stream.waited = {0};
  const std::vector<HeldBuffers> expected{{.is_sent = true, .bytes = 1, .count = 1}};
  EXPECT_EQ(held_buffers(stream), expected);
}

TEST(BufferPool, reserved_buffers_need_no_new_memory) {
  BufferPool pool;
  pool.reserve(1000, 2);
  EXPECT_EQ(pool.created(), 2);
  std::byte* const first = pool.take(1000);
  EXPECT_NE(first, pool.take(600));
  EXPECT_EQ(pool.created(), 2);
  EXPECT_NE(first, pool.take(1000));
  EXPECT_EQ(pool.created(), 3);
}

}  // namespace
}  // namespace plait::replay::held_buffers_test
