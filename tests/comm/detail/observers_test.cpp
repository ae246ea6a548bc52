// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/detail/observers.hpp"

#include <string>

#include <gtest/gtest.h>

namespace plait::comm::detail::observers_test {
namespace {

class Noting final : public Completion {
 public:
  explicit Noting(std::string& notes, char name) : notes_{notes}, name_{name} {}
  ~Noting() override { notes_ += '~'; }
  void completed(const Status& /*status*/) noexcept override { notes_ += name_; }
  void released(const Status& /*status*/) noexcept override { notes_ += 'r'; }

 private:
  std::string& notes_;
  char name_;
};

TEST(Observers, are_notified_in_the_order_in_which_they_were_attached) {
  std::string notes;
  Noting a{notes, 'a'};
  Noting b{notes, 'b'};
  Noting c{notes, 'c'};
  Observers observers;
  EXPECT_TRUE(observers.attach(a, Interest::until_released));
  EXPECT_TRUE(observers.attach(b, Interest::until_completed));
  EXPECT_TRUE(observers.attach(c, Interest::until_released));
  EXPECT_FALSE(observers.has_completed());
  observers.complete({});
  EXPECT_TRUE(observers.has_completed());
  EXPECT_EQ(notes, "abc");
  observers.release({});
  EXPECT_EQ(notes, "abcrr") << "the second wants no release";
}

TEST(Observers, are_refused_after_completion) {
  std::string notes;
  Noting late{notes, 'l'};
  Observers observers;
  observers.complete({});
  EXPECT_FALSE(observers.attach(late, Interest::until_released));
  EXPECT_FALSE(observers.attach(late, Interest::until_released));
  observers.release({});
  EXPECT_EQ(notes, "");
}

TEST(Observers, delete_what_they_own_after_its_release_or_with_themselves) {
  std::string notes;
  {
    Observers observers;
    ASSERT_TRUE(observers.attach(*new Noting{notes, 'a'}, Interest::owned));
    observers.complete({});
    EXPECT_EQ(notes, "a");
    observers.release({});
    EXPECT_EQ(notes, "ar~");
    notes.clear();
  }
  Noting programs{notes, 'p'};
  {
    Observers never;
    ASSERT_TRUE(never.attach(programs, Interest::until_released));
    ASSERT_TRUE(never.attach(*new Noting{notes, 'o'}, Interest::owned));
  }
  EXPECT_EQ(notes, "~") << "only the owned one";
}

TEST(Observers, may_share_a_completion_with_others) {
  std::string notes;
  Noting shared{notes, 's'};
  Observers one;
  Observers other;
  ASSERT_TRUE(one.attach(shared, Interest::until_released));
  ASSERT_TRUE(other.attach(shared, Interest::until_released));
  one.complete({});
  other.complete({});
  EXPECT_EQ(notes, "ss");
}

}  // namespace
}  // namespace plait::comm::detail::observers_test
