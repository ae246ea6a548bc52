// SPDX-License-Identifier: Apache-2.0
#include "plait/data/checkpoints/buddy_files.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <sys/resource.h>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "plait/base/error.hpp"
#include "plait/testing/local_rank.hpp"
#include "plait/testing/temporary_folder.hpp"

namespace plait::data::buddy_files_test {
namespace {

using plait::test::errors_on_ranks;
using plait::test::LocalRank;
using plait::test::run_on_ranks;
using plait::test::TemporaryFolder;

constexpr std::size_t element_bytes = 3000;

/// The elements of rank `rank` at `step`: one more than its number.
Checkpoint part_of(std::uint32_t rank, std::uint64_t step) {
  Checkpoint checkpoint{.program = "walk", .step = step, .values = {{"time", 0.5}}};
  PackedElements& mine = checkpoint.collections.emplace_back();
  mine.collection = "patches";
  mine.type = "Patch";
  for (std::uint64_t i = 0; i <= rank; ++i) {
    mine.add(ElementId{100 * rank + i}, Bytes(element_bytes, static_cast<std::byte>(rank + step)));
  }
  return checkpoint;
}

/// Hosts, each with a folder and so many ranks, placed one host after the other.
struct Hosts {
  const TemporaryFolder& place;
  std::uint32_t ranks_each = 1;

  [[nodiscard]] std::filesystem::path folder(std::uint32_t host) const {
    return place.path() / fmt::format("host-{}", host);
  }
  [[nodiscard]] BuddyFolder of(std::uint32_t rank) const {
    return {.path = folder(rank / ranks_each), .self = rank % ranks_each, .sharers = ranks_each};
  }
};

void write_steps(const Hosts& hosts, std::uint32_t ranks, const std::vector<std::uint64_t>& steps) {
  run_on_ranks({.ranks = ranks}, {}, [&](LocalRank& rank) {
    BuddyFiles files{rank.messages(), hosts.of(rank.self().value())};
    for (const std::uint64_t step : steps) {
      const WrittenCheckpoint written = files.write(part_of(rank.self().value(), step));
      EXPECT_EQ(written.elements, ranks * (ranks + 1) / 2);
      EXPECT_EQ(written.bytes, written.elements * element_bytes);
    }
  });
}

/// The elements that a new job reads, by number: the rank that has each, and its first byte less the step.
using Elements = std::map<std::uint64_t, std::pair<std::uint32_t, std::uint64_t>>;

Elements read_all(const Hosts& hosts, std::uint32_t ranks, std::uint64_t step) {
  Elements elements;
  std::mutex mutex;
  run_on_ranks({.ranks = ranks}, {}, [&](LocalRank& rank) {
    BuddyFiles files{rank.messages(), hosts.of(rank.self().value())};
    const std::optional<NewestCheckpoint> newest = files.read_newest("walk", {});
    ASSERT_TRUE(newest);
    EXPECT_EQ(newest->checkpoint.step, step);
    EXPECT_EQ(newest->checkpoint.value<double>("time"), 0.5);
    const PackedElements& mine = newest->checkpoint.elements("patches", "Patch", {});
    const std::lock_guard lock{mutex};
    for (std::size_t place = 0; place < mine.count(); ++place) {
      const auto value = std::to_integer<std::uint64_t>(mine.element(place).front()) - step;
      EXPECT_TRUE(elements.try_emplace(mine.ids[place].value(), rank.self().value(), value).second);
    }
  });
  return elements;
}

void expect_whole(const Elements& elements, std::uint32_t ranks) {
  EXPECT_EQ(elements.size(), ranks * (ranks + 1) / 2);
  for (const auto& [id, element] : elements) {
    EXPECT_EQ(element.second, id / 100) << "the bytes of element " << id;
  }
}

std::size_t count_files(const Hosts& hosts, std::uint32_t host) {
  const std::filesystem::directory_iterator files{hosts.folder(host)};
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

TEST(BuddyFiles, come_back_to_a_new_job_of_as_many_ranks) {
  const TemporaryFolder place;
  const Hosts hosts{place};
  write_steps(hosts, 3, {4, 5, 6});
  EXPECT_EQ(count_files(hosts, 0), 2U) << "of rank 0 and of its partner, the newest only";
  const Elements elements = read_all(hosts, 3, 6);
  expect_whole(elements, 3);
  for (const auto& [id, element] : elements) {
    EXPECT_EQ(element.first, id / 100) << "on its rank";
  }
}

TEST(BuddyFiles, of_a_lost_host_come_from_its_partners) {
  for (const std::uint32_t lost : {0U, 1U, 2U, 3U}) {
    const TemporaryFolder place;
    const Hosts hosts{place};
    write_steps(hosts, 4, {7});
    std::filesystem::remove_all(hosts.folder(lost));
    expect_whole(read_all(hosts, 4, 7), 4);              // a new host in its place
    for (std::uint32_t host = lost; host < 3; ++host) {  // the others move up
      std::filesystem::remove_all(hosts.folder(host));
      std::filesystem::rename(hosts.folder(host + 1), hosts.folder(host));
    }
    expect_whole(read_all(hosts, 3, 7), 4);
  }
}

TEST(BuddyFiles, of_ranks_that_share_a_host_come_back_to_any_number_of_ranks) {
  for (const std::uint32_t ranks : {1U, 2U, 3U, 5U}) {
    const TemporaryFolder place;
    write_steps({place, 4}, 4, {3});
    expect_whole(read_all({place, ranks}, ranks, 3), 4);
  }
}

TEST(BuddyFiles, of_a_new_job_replace_those_of_the_old_one) {
  const TemporaryFolder place;
  const Hosts hosts{place, 4};
  write_steps(hosts, 4, {8, 9});
  write_steps({place, 3}, 3, {2});  // as a job that began from a file of step 1
  EXPECT_EQ(count_files(hosts, 0), 6U);
  expect_whole(read_all({place, 2}, 2, 2), 3);
}

TEST(BuddyFiles, that_a_killed_rank_left_incomplete_are_not_read) {
  const TemporaryFolder place;
  const Hosts hosts{place};
  write_steps(hosts, 3, {5});
  // Rank 2 and its partner have the next generation, rank 1 was killed while it wrote.
  std::ofstream{hosts.folder(1) / "9-of-1-on-1.copy.partial"} << std::string(4000, 'x');
  std::ofstream{hosts.folder(2) / "9-of-2-on-2.copy"} << std::string(4000, 'x');
  expect_whole(read_all(hosts, 3, 5), 3);
  EXPECT_EQ(count_files(hosts, 1), 2U) << "the rest of the write is removed";
}

TEST(BuddyFiles, without_room_leave_the_older_ones) {
  const TemporaryFolder place;
  const Hosts hosts{place};
  write_steps(hosts, 2, {5});
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit small{.rlim_cur = 2 * element_bytes, .rlim_max = limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const std::vector<std::string> errors = errors_on_ranks({.ranks = 2}, {}, [&](LocalRank& rank) {
    BuddyFiles{rank.messages(), hosts.of(rank.self().value())}.write(part_of(rank.self().value(), 6));
  });
  setrlimit(RLIMIT_FSIZE, &limit);
  for (const std::string& error : errors) {
    EXPECT_NE(error.find("the copies in memory of step 6 were not stored"), std::string::npos) << error;
  }
  expect_whole(read_all(hosts, 2, 5), 2);
}

TEST(BuddyFiles, that_are_missing_are_reported_on_all_ranks) {
  const TemporaryFolder place;
  const Hosts hosts{place};
  const auto read = [&](const std::string& program) {
    return errors_on_ranks({.ranks = 2}, {}, [&](LocalRank& rank) {
      EXPECT_FALSE(BuddyFiles(rank.messages(), hosts.of(rank.self().value())).read_newest(program, {}));
    });
  };
  EXPECT_EQ(read("walk"), std::vector<std::string>(2)) << "there are none";
  write_steps(hosts, 4, {5});
  for (const std::string& error : read("run")) {
    EXPECT_NE(error.find("are of walk, not of run"), std::string::npos) << error;
  }
  std::filesystem::remove_all(hosts.folder(0));
  std::filesystem::remove_all(hosts.folder(2));
  for (const std::string& error : read("walk")) {
    EXPECT_NE(error.find("the copy of rank 0 is lost"), std::string::npos) << error;
  }
}

TEST(BuddyFiles, are_removed_at_the_end) {
  const TemporaryFolder place;
  const Hosts hosts{place, 2};
  run_on_ranks({.ranks = 2}, {}, [&](LocalRank& rank) {
    BuddyFiles files{rank.messages(), hosts.of(rank.self().value())};
    files.write(part_of(rank.self().value(), 1));
    files.remove();
  });
  EXPECT_TRUE(!std::filesystem::exists(hosts.folder(0)) || std::filesystem::is_empty(hosts.folder(0)));
}

}  // namespace
}  // namespace plait::data::buddy_files_test
