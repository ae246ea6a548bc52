// SPDX-License-Identifier: Apache-2.0
#include "plait/trace/meta.hpp"

#include <fstream>

#include <gtest/gtest.h>

#include "plait/testing/temporary_folder.hpp"

namespace plait::trace::meta_test {
namespace {

using test::TemporaryFolder;

Meta example() {
  const Meta::Time start{std::chrono::milliseconds{1'795'000'123'456}};
  return {.program = "ring",
          .command = {"ring", "--bodies", "1000 \"quoted\""},
          .ranks = 2,
          .workers = 4,
          .hosts = {"one", "two"},
          .cores = 48,
          .started = start,
          .ended = start + std::chrono::milliseconds{1500},
          .mpi = "mpi (Open MPI 4.1.4)",
          .revision = "abc",
          .options = {{"spin", "10 us"}}};
}

void write(const std::filesystem::path& folder, const std::string& text) {
  std::ofstream{folder / "meta.json"} << text;
}

TEST(Meta, is_read_as_it_was_written) {
  const TemporaryFolder folder;
  write_meta(folder.path() / "run", example());
  Result<Meta> read = read_meta(folder.path() / "run");
  ASSERT_TRUE(read) << read.error().what();
  const Meta meta = read.value();
  const Meta wanted = example();
  EXPECT_EQ(meta.program, wanted.program);
  EXPECT_EQ(meta.command, wanted.command);
  EXPECT_EQ(meta.ranks, wanted.ranks);
  EXPECT_EQ(meta.workers, wanted.workers);
  EXPECT_EQ(meta.hosts, wanted.hosts);
  EXPECT_EQ(meta.cores, wanted.cores);
  EXPECT_EQ(meta.started, wanted.started);
  EXPECT_EQ(meta.ended, wanted.ended);
  EXPECT_EQ(meta.mpi, wanted.mpi);
  EXPECT_EQ(meta.revision, wanted.revision);
  EXPECT_EQ(meta.options, wanted.options);
}

TEST(Meta, is_replaced_and_leaves_no_other_file) {
  const TemporaryFolder folder;
  Meta meta = example();
  meta.ended.reset();
  write_meta(folder.path(), meta);
  EXPECT_FALSE(read_meta(folder.path()).value().ended);
  write_meta(folder.path(), example());
  EXPECT_TRUE(read_meta(folder.path()).value().ended);
  const std::filesystem::directory_iterator files{folder.path()};
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

TEST(Meta, holds_arguments_that_are_not_utf8) {
  const TemporaryFolder folder;
  Meta meta = example();
  meta.command = {"a\xFF"};
  write_meta(folder.path(), meta);
  EXPECT_TRUE(read_meta(folder.path()));
}

TEST(Meta, that_cannot_be_written_throws) {
  const TemporaryFolder folder;
  std::ofstream{folder.path() / "file"} << "x";
  try {
    write_meta(folder.path() / "file", example());
    FAIL() << "a file is no folder";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::io);
  }
}

TEST(Meta, that_is_not_one_is_refused_in_words) {
  const TemporaryFolder folder;
  EXPECT_FALSE(read_meta(folder.path()));
  for (const char* text : {"",
                           "[]",
                           "nonsense",
                           "{}",
                           R"({"format": "other", "version": 1, "ranks": 1})",
                           R"({"format": "plait-trace", "version": 2, "ranks": 1})",
                           R"({"format": "plait-trace", "version": 1})",
                           R"({"format": "plait-trace", "version": "1", "ranks": 1})",
                           R"({"format": "plait-trace", "version": 1, "ranks": 1, "hosts": 3})"}) {
    write(folder.path(), text);
    const Result<Meta> read = read_meta(folder.path());
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code(), ErrorCode::bad_input);
    EXPECT_NE(std::string{read.error().what()}.find("meta.json: "), std::string::npos);
  }
}

TEST(Meta, may_say_that_start_and_end_are_not_known) {
  const TemporaryFolder folder;
  write(folder.path(), R"({"format": "plait-trace", "version": 1, "ranks": 2, "started": null, "ended": null})");
  Result<Meta> read = read_meta(folder.path());
  ASSERT_TRUE(read) << read.error().what();
  EXPECT_EQ(read.value().started, Meta::Time{});
  EXPECT_FALSE(read.value().ended);
}

TEST(Meta, needs_no_more_than_the_number_of_ranks) {
  const TemporaryFolder folder;
  write(folder.path(), R"({"format": "plait-trace", "version": 1, "ranks": 3, "later": []})");
  Result<Meta> read = read_meta(folder.path());
  ASSERT_TRUE(read) << read.error().what();
  EXPECT_EQ(read.value().ranks, 3U);
}

}  // namespace
}  // namespace plait::trace::meta_test
