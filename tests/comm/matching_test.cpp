// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/matching.hpp"

#include <algorithm>
#include <deque>
#include <list>
#include <memory>
#include <random>
#include <unordered_map>
#include <vector>

#include <gtest/gtest.h>

namespace plait::comm::matching_test {
namespace {

bool fits(const MessageEnvelope& receive, const MessageEnvelope& message) {
  return receive.comm == message.comm && (receive.source == any_source || receive.source == message.source) &&
         (receive.tag == any_tag || receive.tag == message.tag);
}

/// The definition of matching, searched one by one: what `Matcher` is held against.
class LinearMatcher {
 public:
  UnexpectedMessage* post(PostedReceive& receive) {
    const auto found = std::ranges::find_if(unexpected_, [&](auto* m) { return fits(receive.envelope, m->envelope); });
    if (found == unexpected_.end()) {
      posted_.push_back(&receive);
      return nullptr;
    }
    UnexpectedMessage* const message = *found;
    unexpected_.erase(found);
    return message;
  }

  PostedReceive* arrive(UnexpectedMessage& message) {
    const auto found = std::ranges::find_if(posted_, [&](auto* r) { return fits(r->envelope, message.envelope); });
    if (found == posted_.end()) {
      unexpected_.push_back(&message);
      return nullptr;
    }
    PostedReceive* const receive = *found;
    posted_.erase(found);
    return receive;
  }

  UnexpectedMessage* probe(const MessageEnvelope& receive) {
    const auto found = std::ranges::find_if(unexpected_, [&](auto* m) { return fits(receive, m->envelope); });
    return found == unexpected_.end() ? nullptr : *found;
  }

  UnexpectedMessage* claim(const MessageEnvelope& receive) {
    UnexpectedMessage* const message = probe(receive);
    std::erase(unexpected_, message);
    return message;
  }

  bool cancel(PostedReceive& receive) { return std::erase(posted_, &receive) == 1; }

 private:
  std::deque<PostedReceive*> posted_;
  std::deque<UnexpectedMessage*> unexpected_;
};

MessageEnvelope envelope(unsigned source, std::uint64_t tag, unsigned comm = 0) {
  return {CommId{comm}, Rank{source}, Tag{tag}};
}

PostedReceive* arrive(Matcher& matcher, UnexpectedMessage& message) {
  PostedReceive* const receive = matcher.match(message.envelope);
  if (receive == nullptr) {
    matcher.keep(message);
  }
  return receive;
}

TEST(Matcher, gives_a_message_to_the_receive_that_was_posted_first_whatever_its_class) {
  Matcher matcher;
  PostedReceive any{.envelope = {world, any_source, any_tag}};
  PostedReceive exact{.envelope = envelope(1, 7)};
  ASSERT_EQ(matcher.post(any), nullptr);
  ASSERT_EQ(matcher.post(exact), nullptr);
  UnexpectedMessage first{.envelope = envelope(1, 7)};
  UnexpectedMessage second{.envelope = envelope(1, 7)};
  EXPECT_EQ(arrive(matcher, first), &any);
  EXPECT_EQ(arrive(matcher, second), &exact);
}

TEST(Matcher, takes_an_unexpected_message_out_of_all_classes) {
  Matcher matcher;
  UnexpectedMessage message{.envelope = envelope(1, 7)};
  ASSERT_EQ(arrive(matcher, message), nullptr);
  PostedReceive exact{.envelope = envelope(1, 7)};
  EXPECT_EQ(matcher.post(exact), &message);
  for (const MessageEnvelope wildcard : {MessageEnvelope{world, any_source, Tag{7}},
                                         MessageEnvelope{world, Rank{1}, any_tag},
                                         MessageEnvelope{world, any_source, any_tag}}) {
    EXPECT_EQ(matcher.probe(wildcard), nullptr);
  }
}

TEST(Matcher, keeps_communicators_apart) {
  Matcher matcher;
  UnexpectedMessage message{.envelope = envelope(1, 7, 2)};
  ASSERT_EQ(arrive(matcher, message), nullptr);
  PostedReceive other{.envelope = {CommId{3}, any_source, any_tag}};
  EXPECT_EQ(matcher.post(other), nullptr);
  PostedReceive same{.envelope = {CommId{2}, any_source, any_tag}};
  EXPECT_EQ(matcher.post(same), &message);
}

TEST(Matcher, frees_its_bins_when_nothing_is_outstanding) {
  Matcher matcher;
  for (std::uint64_t tag = 0; tag < 1000; ++tag) {
    UnexpectedMessage message{.envelope = envelope(1, tag)};
    ASSERT_EQ(arrive(matcher, message), nullptr);
    PostedReceive receive{.envelope = {world, Rank{1}, any_tag}};
    ASSERT_EQ(matcher.post(receive), &message);
    PostedReceive cancelled{.envelope = envelope(2, tag)};
    ASSERT_EQ(matcher.post(cancelled), nullptr);
    ASSERT_TRUE(matcher.cancel(cancelled));
  }
  EXPECT_EQ(matcher.bin_count(), 0U);
}

TEST(Matcher, a_matched_receive_cannot_be_cancelled) {
  Matcher matcher;
  PostedReceive receive{.envelope = envelope(1, 7)};
  ASSERT_EQ(matcher.post(receive), nullptr);
  UnexpectedMessage message{.envelope = envelope(1, 7)};
  ASSERT_EQ(arrive(matcher, message), &receive);
  EXPECT_FALSE(matcher.cancel(receive));
}

class RandomOperations : public testing::TestWithParam<unsigned> {};

TEST_P(RandomOperations, agree_with_the_linear_matcher) {
  std::mt19937 random{GetParam()};
  const auto below = [&](unsigned n) { return std::uniform_int_distribution<unsigned>{0, n - 1}(random); };
  Matcher matcher;
  LinearMatcher linear;
  // Each operation has one object in each world; they are compared by number.
  std::unordered_map<const void*, unsigned> number;
  std::vector<std::pair<std::unique_ptr<PostedReceive>, std::unique_ptr<PostedReceive>>> receives;
  std::vector<std::pair<std::unique_ptr<UnexpectedMessage>, std::unique_ptr<UnexpectedMessage>>> messages;
  const auto number_of = [&](const void* object) { return object == nullptr ? 0U : number.at(object); };
  const unsigned sources = 1 + below(4);
  const unsigned tags = 1 + below(6);
  unsigned next = 1;
  for (int step = 0; step < 20000; ++step) {
    MessageEnvelope e = envelope(below(sources), below(tags), below(2));
    const unsigned action = below(10);
    if (action < 4) {
      const auto& [a, b] = messages.emplace_back(std::make_unique<UnexpectedMessage>(UnexpectedMessage{.envelope = e}),
                                                 std::make_unique<UnexpectedMessage>(UnexpectedMessage{.envelope = e}));
      number[a.get()] = number[b.get()] = next++;
      ASSERT_EQ(number_of(arrive(matcher, *a)), number_of(linear.arrive(*b)));
      continue;
    }
    e.source = below(3) == 0 ? any_source : e.source;
    e.tag = below(3) == 0 ? any_tag : e.tag;
    if (action < 8) {
      const auto& [a, b] = receives.emplace_back(std::make_unique<PostedReceive>(PostedReceive{.envelope = e}),
                                                 std::make_unique<PostedReceive>(PostedReceive{.envelope = e}));
      number[a.get()] = number[b.get()] = next++;
      ASSERT_EQ(number_of(matcher.post(*a)), number_of(linear.post(*b)));
    } else if (action < 9) {
      ASSERT_EQ(number_of(matcher.probe(e)), number_of(linear.probe(e)));
      if (below(2) == 0) {
        ASSERT_EQ(number_of(matcher.claim(e)), number_of(linear.claim(e)));
      }
    } else if (!receives.empty()) {
      const auto& [a, b] = receives[below(static_cast<unsigned>(receives.size()))];
      ASSERT_EQ(matcher.cancel(*a), linear.cancel(*b));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomOperations, testing::Range(0U, 150U));

}  // namespace
}  // namespace plait::comm::matching_test
