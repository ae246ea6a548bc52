// SPDX-License-Identifier: Apache-2.0
#include "plait/files/hdf5/write_file.hpp"

#include <atomic>
#include <barrier>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <numeric>
#include <sys/resource.h>
#include <thread>

#include <gtest/gtest.h>

#include "plait/files/hdf5/reader.hpp"
#include "plait/files/partial_file.hpp"
#include "plait/testing/temporary_folder.hpp"

namespace plait::files::write_file_test {
namespace {

/// Threads as ranks that write in turn, as where HDF5 has no parallel I/O.
class ThreadRanks {
 public:
  explicit ThreadRanks(std::uint32_t count) : barrier_{count}, mail_(count) {}

  void run(const std::function<void(Hdf5Ranks&)>& body) {
    std::vector<std::jthread> threads;
    for (std::uint32_t self = 0; self < mail_.size(); ++self) {
      threads.emplace_back([&, self] {
        One one{*this, self};
        body(one);
      });
    }
  }

 private:
  class One final : public Hdf5Ranks {
   public:
    One(ThreadRanks& all, std::uint32_t self) : all_{all}, self_{self} {}
    [[nodiscard]] std::uint32_t self() const noexcept override { return self_; }
    [[nodiscard]] std::uint32_t count() const noexcept override {
      return static_cast<std::uint32_t>(all_.mail_.size());
    }
    [[nodiscard]] net::Exchange exchange() override {
      return [this](std::span<const std::byte> mine) {
        all_.mail_[self_] = Bytes{mine.begin(), mine.end()};
        all_.barrier_.arrive_and_wait();
        std::vector<Bytes> all = all_.mail_;
        all_.barrier_.arrive_and_wait();
        return all;
      };
    }
    void in_turn(const std::function<void()>& turn) override {
      std::unique_lock lock{all_.mutex_};
      all_.turn_ended_.wait(lock, [&] { return all_.turns_ == self_; });
      try {
        if (!all_.is_cancelled_) {
          turn();
        }
      } catch (...) {
        all_.is_cancelled_ = true;
        all_.end_turn();
        throw;
      }
      all_.end_turn();
    }

   private:
    ThreadRanks& all_;
    std::uint32_t self_;
  };

  /// With the lock held.
  void end_turn() {
    ++turns_;
    turn_ended_.notify_all();
  }

  std::barrier<> barrier_;
  std::vector<Bytes> mail_;
  std::mutex mutex_;
  std::condition_variable turn_ended_;
  std::uint32_t turns_ = 0;
  bool is_cancelled_ = false;
};

/// A list to which rank r contributes r + 1 times the number r.
WriteContents list_of(std::uint32_t self, std::uint32_t ranks) {
  return [=](Hdf5Writer& out) {
    const std::vector<std::uint64_t> mine(self + 1, self);
    out.attribute(out.group("lists"), "ranks", ranks);
    (void)out.dataset("lists/whose",
                      {{ranks * (ranks + 1) / 2}, {self * (self + 1) / 2}, {mine.size()}},
                      std::span<const std::uint64_t>{mine});
    out.link("all", "/lists/whose");
  };
}

TEST(WriteHdf5, puts_the_slabs_of_all_ranks_into_one_file) {
  const plait::test::TemporaryFolder folder;
  std::atomic<std::uint64_t> bytes = 0;
  ThreadRanks{3}.run([&](Hdf5Ranks& ranks) {
    bytes += write_hdf5(folder / "a.h5", ranks, list_of(ranks.self(), ranks.count())).value();
  });
  EXPECT_EQ(bytes, 3 * std::filesystem::file_size(folder / "a.h5"));
  const Hdf5Reader in{folder / "a.h5"};
  std::vector<std::uint64_t> whose(6);
  in.read("all", H5T_NATIVE_UINT64, whose.data());
  EXPECT_EQ(whose, (std::vector<std::uint64_t>{0, 1, 1, 2, 2, 2}));
  EXPECT_EQ(in.attributes("lists").get<std::uint32_t>("ranks"), 3U);
}

TEST(WriteHdf5, gives_the_error_of_one_rank_to_all_and_leaves_the_old_file) {
  const plait::test::TemporaryFolder folder;
  std::ofstream{folder / "a.h5"} << "old";
  std::mutex mutex;
  std::vector<std::string> texts;
  ThreadRanks{3}.run([&](Hdf5Ranks& ranks) {
    const auto written = write_hdf5(folder / "a.h5", ranks, [&](Hdf5Writer& out) {
      list_of(ranks.self(), ranks.count())(out);
      if (ranks.self() == 1) {
        throw Error{ErrorCode::bad_argument, "no such particles"};
      }
    });
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code(), ErrorCode::bad_argument);
    EXPECT_EQ(written.error().rank(), Rank{1});
    const std::lock_guard lock{mutex};
    texts.emplace_back(written.error().what());
  });
  EXPECT_EQ(texts, std::vector<std::string>(3, "no such particles"));
  EXPECT_EQ(std::filesystem::file_size(folder / "a.h5"), 3U);
  EXPECT_FALSE(std::filesystem::exists(PartialFile::path_for(folder / "a.h5")));
}

TEST(WriteHdf5, reports_a_folder_that_does_not_exist) {
  const auto written = write_hdf5("/nowhere/at/all/a.h5", list_of(0, 1));
  ASSERT_FALSE(written);
  EXPECT_NE(std::string{written.error().what()}.find("/nowhere/at/all/a.h5.partial: cannot create the file"),
            std::string::npos);
}

TEST(WriteHdf5, reports_the_first_error_and_leaves_nothing) {
  const plait::test::TemporaryFolder folder;
  const auto written = write_hdf5(folder / "a.h5", [](Hdf5Writer& out) {
    (void)out.open("weather");
    out.attribute(out.open("/"), "time", 1.0);
  });
  ASSERT_FALSE(written);
  EXPECT_NE(std::string{written.error().what()}.find("cannot write weather"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

/// What is wrong with the error of a file that meets a full disk; empty when nothing is.
std::string error_of_full_disk(const std::filesystem::path& file) {
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, SIG_IGN);  // the system then refuses to write, as on a full disk
  limit.rlim_cur = 64 * 1024;
  setrlimit(RLIMIT_FSIZE, &limit);
  const std::vector<double> large(1'000'000);
  const auto written = write_hdf5(file, [&](Hdf5Writer& out) {
    (void)out.dataset("large", {{large.size()}, {0}, {large.size()}}, std::span<const double>{large});
  });
  if (written) {
    return "no error";
  }
  const std::string sentence = written.error().what();
  return written.error().code() == ErrorCode::io && sentence.find("is the disk full?") != std::string::npos ? ""
                                                                                                            : sentence;
}

TEST(WriteHdf5, reports_a_full_disk_and_leaves_the_old_file) {
  const plait::test::TemporaryFolder folder;
  ASSERT_TRUE(write_hdf5(folder / "a.h5", list_of(0, 1)));
  const auto size = std::filesystem::file_size(folder / "a.h5");
  // In a process of its own that ends without exit handlers: the limit is one of offsets, so a file that gives up its
  // data has no more room, and HDF5 1.10 has an exit handler that fails when it could not close a file. A disk has
  // then: python/tests/commands/test_simulate_faults.py.
  EXPECT_EXIT(
      {
        const std::string wrong = error_of_full_disk(folder / "a.h5");
        std::fputs(wrong.c_str(), stderr);
        std::_Exit(wrong.empty() ? 0 : 1);
      },
      testing::ExitedWithCode(0),
      "");
  EXPECT_EQ(std::filesystem::file_size(folder / "a.h5"), size);
  EXPECT_FALSE(std::filesystem::exists(PartialFile::path_for(folder / "a.h5")));
}

}  // namespace
}  // namespace plait::files::write_file_test
