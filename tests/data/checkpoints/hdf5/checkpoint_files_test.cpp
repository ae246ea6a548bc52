// SPDX-License-Identifier: Apache-2.0
#include "plait/data/checkpoints/hdf5/checkpoint_files.hpp"

#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <sys/mount.h>
#include <sys/resource.h>

#include <gtest/gtest.h>
#include <hdf5.h>

#include "plait/base/error.hpp"
#include "plait/testing/run_program.hpp"
#include "plait/testing/temporary_folder.hpp"

namespace plait::data::hdf5::checkpoint_files_test {
namespace {

using Folder = std::filesystem::path;

/// What element `id` holds after `step`: some are empty, one is much larger than all others.
std::string text_of(std::uint64_t id, std::uint64_t step) {
  return std::string(id == 3 ? 5000 : id % 4, static_cast<char>('a' + (id + step) % 26));
}

/// This rank's part of `elements`, of which the ranks have unequal numbers.
Checkpoint part_of(const Runtime& runtime, std::uint64_t step, std::uint64_t elements) {
  PackedElements mine;
  mine.collection = "patches";
  mine.type = "Patch";
  mine.shape = Shape{static_cast<std::uint32_t>(elements)};
  const std::uint64_t ranks = runtime.rank_count();
  for (std::uint64_t id = 0; id < elements; ++id) {
    if (Rank{static_cast<std::uint32_t>(id * id % ranks)} == runtime.self()) {
      const std::string text = text_of(id, step);
      mine.add(ElementId{id}, std::as_bytes(std::span{text}));
    }
  }
  PackedElements empty;
  empty.collection = "others";
  empty.type = "int";
  return {.program = "walk",
          .step = step,
          .values = {{"time", 0.25}, {"title", std::string{"A walk"}}, {"random", Bytes(70'000, std::byte{7})}},
          .collections = {std::move(mine), std::move(empty)}};
}

void on_ranks(std::uint32_t ranks, const std::function<void(Runtime&)>& body) {
  plait::test::run_program({.ranks = ranks}, {}, body);
}

void write(const Folder& folder, std::uint32_t ranks, std::uint64_t step, std::uint64_t elements = 11) {
  on_ranks(ranks, [&](Runtime& runtime) {
    CheckpointFiles files{runtime.messages(), {folder}};
    files.write(part_of(runtime, step, elements));
  });
}

/// Where each element is and what it holds, of all ranks together.
struct Gathered {
  std::mutex mutex;
  std::map<std::uint64_t, std::pair<std::uint32_t, std::string>> elements;
  std::size_t count = 0;

  void add(Rank rank, const PackedElements& pack) {
    const std::lock_guard lock{mutex};
    for (std::size_t place = 0; place < pack.count(); ++place) {
      const auto bytes = pack.element(place);
      elements[pack.ids[place].value()] = {rank.value(), {reinterpret_cast<const char*>(bytes.data()), bytes.size()}};
      ++count;
    }
  }
  void expect_all(std::uint64_t expected, std::uint64_t step) const {
    EXPECT_EQ(count, expected);
    for (std::uint64_t id = 0; id < expected; ++id) {
      ASSERT_TRUE(elements.contains(id)) << id;
      EXPECT_EQ(elements.at(id).second, text_of(id, step)) << id;
    }
  }
};

/// The sentence that all ranks throw, which must be one.
std::string refusal(std::uint32_t ranks, const std::function<void(Runtime&)>& body) {
  std::mutex mutex;
  std::vector<std::string> sentences;
  on_ranks(ranks, [&](Runtime& runtime) {
    try {
      body(runtime);
    } catch (const Error& error) {
      const std::lock_guard lock{mutex};
      sentences.emplace_back(error.what());
    }
  });
  EXPECT_EQ(sentences.size(), ranks);
  for (const std::string& sentence : sentences) {
    EXPECT_EQ(sentence, sentences.front());
  }
  return sentences.empty() ? "" : sentences.front();
}

std::vector<std::string> names_in(const Folder& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator{folder}) {
    names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

std::string contents(const Folder& file) {
  std::ifstream in{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

void expect_words(const std::string& sentence, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    EXPECT_NE(sentence.find(word), std::string::npos) << "'" << word << "' is not in: " << sentence;
  }
}

TEST(CheckpointFiles, give_every_element_to_one_rank_whatever_the_numbers_of_ranks) {
  for (const std::uint64_t elements : {1U, 11U}) {
    for (const std::uint32_t writers : {1U, 3U, 4U}) {
      const plait::test::TemporaryFolder folder;
      write(folder.path(), writers, 12, elements);
      for (const std::uint32_t readers : {1U, 2U, 3U, 5U}) {
        Gathered gathered;
        on_ranks(readers, [&](Runtime& runtime) {
          CheckpointFiles files{runtime.messages(), {folder.path()}};
          const auto newest = files.read_newest("walk", {});
          ASSERT_TRUE(newest);
          EXPECT_TRUE(newest->refused.empty());
          EXPECT_EQ(newest->checkpoint.step, 12U);
          EXPECT_EQ(newest->checkpoint.values, part_of(runtime, 12, 1).values);
          const Shape shape{static_cast<std::uint32_t>(elements)};
          const PackedElements& mine = newest->checkpoint.elements("patches", "Patch", shape);
          EXPECT_EQ(newest->checkpoint.elements("others", "int", {}).count(), 0U);
          if (readers == writers) {
            EXPECT_EQ(mine.ids, part_of(runtime, 12, elements).collections[0].ids) << "the placement is kept";
          }
          gathered.add(runtime.self(), mine);
        });
        gathered.expect_all(elements, 12);
      }
    }
  }
}

TEST(CheckpointFiles, spread_elements_of_equal_size_evenly_over_another_number_of_ranks) {
  const plait::test::TemporaryFolder folder;
  const auto hundred = [](Runtime& runtime) {
    Checkpoint checkpoint{.program = "walk"};
    PackedElements& mine = checkpoint.collections.emplace_back();
    mine.collection = "patches";
    for (std::uint64_t id = 0; id < 100 && runtime.self() == Rank{0}; ++id) {
      mine.add(ElementId{id}, Bytes(10));
    }
    return checkpoint;
  };
  on_ranks(1, [&](Runtime& runtime) { CheckpointFiles{runtime.messages(), {folder.path()}}.write(hundred(runtime)); });
  on_ranks(3, [&](Runtime& runtime) {
    CheckpointFiles files{runtime.messages(), {folder.path()}};
    const std::size_t count = files.read_newest("walk", {})->checkpoint.collections[0].count();
    EXPECT_TRUE(count == 33 || count == 34) << count;
  });
}

TEST(CheckpointFiles, put_elements_where_the_program_wants_them) {
  const plait::test::TemporaryFolder folder;
  write(folder.path(), 2, 5);
  Gathered gathered;
  const auto cyclic = [](ElementId id) { return Rank{static_cast<std::uint32_t>(id.value() % 3)}; };
  on_ranks(3, [&](Runtime& runtime) {
    CheckpointFiles files{runtime.messages(), {folder.path()}};
    gathered.add(runtime.self(),
                 files.read_newest("walk", {cyclic})->checkpoint.elements("patches", "Patch", Shape{11}));
  });
  gathered.expect_all(11, 5);
  for (const auto& [id, element] : gathered.elements) {
    EXPECT_EQ(Rank{element.first}, cyclic(ElementId{id}));
  }
}

TEST(CheckpointFiles, find_nothing_in_a_folder_that_is_empty_or_not_there) {
  const plait::test::TemporaryFolder folder;
  std::ofstream{folder.path() / "checkpoint-notes.h5"} << "not a step";
  for (const Folder& place : {folder.path(), folder.path() / "nowhere"}) {
    on_ranks(2, [&](Runtime& runtime) {
      CheckpointFiles files{runtime.messages(), {place}};
      EXPECT_FALSE(files.read_newest("walk", {}));
    });
  }
}

TEST(CheckpointFiles, keep_as_many_as_they_should) {
  const plait::test::TemporaryFolder folder;
  on_ranks(2, [&](Runtime& runtime) {
    CheckpointFiles files{runtime.messages(), {.folder = folder.path() / "new", .name = "ring", .keep = 3}};
    for (const std::uint64_t step : {1U, 2U, 3U, 4U, 5U}) {
      const WrittenCheckpoint written = files.write(part_of(runtime, step, 11));
      EXPECT_EQ(written.elements, 11U);
      EXPECT_EQ(written.bytes, 5012U) << "of elements";
    }
  });
  EXPECT_EQ(names_in(folder.path() / "new"),
            (std::vector<std::string>{"ring-0000000003.h5", "ring-0000000004.h5", "ring-0000000005.h5"}));
}

TEST(CheckpointFiles, of_another_run_are_not_overwritten_and_those_of_steps_given_up_go) {
  const plait::test::TemporaryFolder folder;
  for (const std::uint64_t step : {10U, 20U}) {
    write(folder.path(), 1, step);
  }
  const std::vector<std::string> before = names_in(folder.path());
  expect_words(refusal(2,
                       [&](Runtime& runtime) {
                         CheckpointFiles{runtime.messages(), {folder.path()}}.write(part_of(runtime, 5, 11));
                       }),
               {"another run", "step 5", "checkpoint-0000000020.h5"});
  EXPECT_EQ(names_in(folder.path()), before);
  on_ranks(2, [&](Runtime& runtime) {
    CheckpointFiles files{runtime.messages(), {folder.path()}};
    (void)files.read(folder.path() / "checkpoint-0000000010.h5", "walk", {});
    (void)files.write(part_of(runtime, 15, 11));
  });
  EXPECT_EQ(names_in(folder.path()),
            (std::vector<std::string>{"checkpoint-0000000010.h5", "checkpoint-0000000015.h5"}));
}

/// What can have happened to a file, and words of its error message.
struct Harm {
  const char* what;
  std::function<void(const Folder&)> work;
  std::vector<std::string> words;
};

/// Opens a file for changes by HDF5's own calls.
void change(const Folder& file, const std::function<void(hid_t)>& work) {
  const hid_t id = H5Fopen(file.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  ASSERT_GE(id, 0);
  work(id);
  ASSERT_GE(H5Fclose(id), 0);
}

std::vector<Harm> harms() {
  const auto cut = [](std::uintmax_t per_mille) {
    return [per_mille](const Folder& file) {
      std::filesystem::resize_file(file, std::filesystem::file_size(file) * per_mille / 1000);
    };
  };
  const auto version_two = [](hid_t file) {
    const hid_t attribute = H5Aopen(file, "format_version", H5P_DEFAULT);
    const std::uint64_t two = 2;
    H5Awrite(attribute, H5T_NATIVE_UINT64, &two);
    H5Aclose(attribute);
  };
  const auto flip = [](const Folder& file) {
    std::string bytes = contents(file);
    bytes[bytes.find("dddd") + 1000] = 'e';  // in the large element, number 3, of step 20: (3 + 20) % 26 is 'x'
    std::ofstream{file, std::ios::binary} << bytes;
  };
  return {
      {"nothing left", cut(0), {"cut short"}},
      {"half of it", cut(500), {"cut short"}},
      {"all but the end", cut(999), {"cut short"}},
      {"text", [](const Folder& file) { std::ofstream{file} << "no HDF5 at all"; }, {"not an HDF5 file"}},
      {"another HDF5 file",
       [](const Folder& file) { H5Fclose(H5Fcreate(file.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)); },
       {"no checkpoint"}},
      {"a later version", [=](const Folder& file) { change(file, version_two); }, {"version 2", "version 1"}},
      {"never completed",
       [](const Folder& file) { change(file, [](hid_t id) { H5Adelete(id, "complete"); }); },
       {"never completed"}},
      {"a table gone",
       [](const Folder& file) {
         change(file, [](hid_t id) { H5Ldelete(id, "/collections/patches/id", H5P_DEFAULT); });
       },
       {"/collections/patches/id"}},
      {"one byte changed", flip, {"element 3", "'patches'", "checksum"}},
  };
}

TEST(CheckpointFiles, that_are_not_whole_are_refused_and_the_older_one_is_used) {
  for (const Harm& harm : harms()) {
    SCOPED_TRACE(harm.what);
    const plait::test::TemporaryFolder folder;
    on_ranks(1, [&](Runtime& runtime) {
      CheckpointFiles files{runtime.messages(), {folder.path()}};
      for (const std::uint64_t step : {10U, 26U}) {
        (void)files.write(part_of(runtime, step, 11));
      }
    });
    const Folder newer = folder.path() / "checkpoint-0000000026.h5";
    harm.work(newer);
    std::vector<std::string> words = harm.words;
    words.emplace_back("checkpoint-0000000026.h5");
    expect_words(refusal(2,
                         [&](Runtime& runtime) {
                           (void)CheckpointFiles{runtime.messages(), {folder.path()}}.read(newer, "walk", {});
                         }),
                 words);
    on_ranks(2, [&](Runtime& runtime) {
      const auto newest = CheckpointFiles{runtime.messages(), {folder.path()}}.read_newest("walk", {});
      ASSERT_TRUE(newest);
      EXPECT_EQ(newest->checkpoint.step, 10U);
      ASSERT_EQ(newest->refused.size(), 1U);
      expect_words(newest->refused.front(), words);
    });
    std::filesystem::remove(folder.path() / "checkpoint-0000000010.h5");
    expect_words(refusal(2,
                         [&](Runtime& runtime) {
                           (void)CheckpointFiles{runtime.messages(), {folder.path()}}.read_newest("walk", {});
                         }),
                 words);
  }
}

TEST(CheckpointFiles, of_another_program_are_refused) {
  const plait::test::TemporaryFolder folder;
  write(folder.path(), 1, 3);
  expect_words(refusal(2,
                       [&](Runtime& runtime) {
                         (void)CheckpointFiles{runtime.messages(), {folder.path()}}.read_newest("ring", {});
                       }),
               {"'walk'", "'ring'"});
}

/// Writes a part of what it should, and then fails on the last rank as a full disk does.
class HalfWriter final : public SlabWriter {
 public:
  void write(const comm::Group& ranks, const std::filesystem::path& file, std::span<const Slab> slabs) override {
    make_direct_slab_writer()->write(ranks, file, slabs.first(1));
    if (ranks.self() + 1 == ranks.size()) {
      throw Error{ErrorCode::io, file.string() + ": cannot be written: No space left on device"};
    }
  }
};

TEST(CheckpointFiles, that_cannot_be_written_leave_the_older_ones_as_they_are) {
  const plait::test::TemporaryFolder folder;
  write(folder.path(), 1, 10);
  const std::vector<std::string> names = names_in(folder.path());
  const std::string older = contents(folder.path() / names.front());
  const auto expect_untouched = [&](const std::string& sentence, const std::vector<std::string>& words) {
    expect_words(sentence, words);
    EXPECT_EQ(names_in(folder.path()), names);
    EXPECT_EQ(contents(folder.path() / names.front()), older);
  };
  const std::string full = refusal(2, [&](Runtime& runtime) {
    CheckpointFiles{runtime.messages(), {folder.path()}, std::make_unique<HalfWriter>()}.write(
        part_of(runtime, 20, 11));
  });
  expect_untouched(full, {"step 20", "not written", "No space left"});

  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit small{.rlim_cur = 60'000, .rlim_max = limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string refused = refusal(2, [&](Runtime& runtime) {
    Checkpoint large = part_of(runtime, 20, 11);
    large.values.clear();
    large.collections[0].add(ElementId{100 + runtime.self().value()}, Bytes(40'000, std::byte{1}));
    CheckpointFiles{runtime.messages(), {folder.path()}}.write(large);
  });
  setrlimit(RLIMIT_FSIZE, &limit);
  expect_untouched(refused, {"step 20", "not written", "60000"});
}

/// A disk of a mebibyte, if that is permitted.
struct SmallDisk {
  explicit SmallDisk(const Folder& its_place)
      : place{its_place}, is_there{mount("plait-test", place.c_str(), "tmpfs", 0, "size=1m") == 0} {}
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk() {
    if (is_there) {
      umount(place.c_str());
    }
  }
  Folder place;
  bool is_there;
};

TEST(CheckpointFiles, that_fill_the_disk_leave_the_older_one_to_be_read) {
  const plait::test::TemporaryFolder folder;
  const SmallDisk disk{folder.path()};
  if (!disk.is_there) {
    GTEST_SKIP() << "a small disk needs the right to mount one";
  }
  write(folder.path(), 2, 10);
  const std::string sentence = refusal(2, [&](Runtime& runtime) {
    Checkpoint large = part_of(runtime, 20, 11);
    large.collections[0].add(ElementId{100 + runtime.self().value()}, Bytes(2'000'000, std::byte{1}));
    CheckpointFiles{runtime.messages(), {folder.path()}}.write(large);
  });
  on_ranks(2, [&](Runtime& runtime) {
    const auto newest = CheckpointFiles{runtime.messages(), {folder.path()}}.read_newest("walk", {});
    EXPECT_TRUE(newest && newest->checkpoint.step == 10);
  });
  expect_words(sentence, {"step 20", "not written", "No space left"});
}

TEST(CheckpointFiles, in_a_folder_that_cannot_be_made_are_refused) {
  expect_words(refusal(2,
                       [&](Runtime& runtime) {
                         CheckpointFiles{runtime.messages(), {"/proc/nowhere"}}.write(part_of(runtime, 1, 3));
                       }),
               {"/proc/nowhere"});
}

TEST(CheckpointFiles, are_not_written_by_ranks_that_do_not_agree) {
  const plait::test::TemporaryFolder folder;
  const std::vector<std::pair<std::function<void(Checkpoint&)>, std::string>> cases{
      {[](Checkpoint& one) { one.step = 2; }, "rank 1"},
      {[](Checkpoint& one) { one.values["time"] = 0.5; }, "rank 1"},
      {[](Checkpoint& one) { one.collections[0].type = "Other"; }, "rank 1"},
      {[](Checkpoint& one) { one.collections.pop_back(); }, "rank 1"},
      {[](Checkpoint& one) { one.collections[0].collection = "a/b"; }, "'a/b'"},
      {[](Checkpoint& one) { one.collections[0].collection = "others"; }, "'others'"},
  };
  for (const auto& [make_other, word] : cases) {
    expect_words(refusal(2,
                         [&](Runtime& runtime) {
                           Checkpoint checkpoint = part_of(runtime, 1, 3);
                           if (runtime.self() == Rank{1}) {
                             make_other(checkpoint);
                           }
                           CheckpointFiles{runtime.messages(), {folder.path()}}.write(checkpoint);
                         }),
                 {word});
  }
  EXPECT_TRUE(names_in(folder.path()).empty());
}

}  // namespace
}  // namespace plait::data::hdf5::checkpoint_files_test
