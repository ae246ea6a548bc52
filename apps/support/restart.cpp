// SPDX-License-Identifier: Apache-2.0
#include "support/restart.hpp"

#include <cstdio>

#include <fmt/format.h>

#include "support/agree.hpp"

namespace app {

void throw_unless_same(const plait::data::Checkpoint& checkpoint, const Description& description) {
  for (const auto& [key, text] : description) {
    const auto found = checkpoint.values.find(key);
    const auto* const saved = found == checkpoint.values.end() ? nullptr : std::get_if<std::string>(&found->second);
    if (saved == nullptr || *saved != text) {
      throw plait::Error{
          plait::ErrorCode::bad_argument,
          fmt::format("the checkpoint is of another run: its {} is '{}', not '{}'; restart with the options of that "
                      "run, or choose another folder with --checkpoint-folder",
                      key,
                      saved == nullptr ? "" : *saved,
                      text)};
    }
  }
}

std::optional<plait::data::NewestCheckpoint> find_checkpoint(plait::data::CheckpointStore& store,
                                                             const std::string& program,
                                                             const plait::data::ReadCheckpointOptions& options,
                                                             const std::string& folder,
                                                             bool is_first) {
  std::optional<plait::data::NewestCheckpoint> newest = as_agreed([&] { return store.read_newest(program, options); });
  if (is_first && !newest) {
    fmt::print("no checkpoint in {}: begins with step 0\n", folder);
  }
  if (is_first && newest) {
    for (const std::string& why : newest->refused) {
      fmt::print(stderr, "{}: {}\n", program, why);
    }
  }
  return newest;
}

std::optional<plait::data::NewestCheckpoint> find_readable(plait::data::CheckpointStore& store,
                                                           const std::string& program,
                                                           bool is_first) {
  try {
    return as_agreed([&] { return store.read_newest(program, {}); });
  } catch (const AgreedError& error) {
    if (error.code() != plait::ErrorCode::bad_input) {
      throw;
    }
    if (is_first) {
      fmt::print(stderr, "{}: {}\n", program, error.what());
    }
    return std::nullopt;
  }
}

void CheckpointWriter::write(const plait::data::Checkpoint& checkpoint) {
  try {
    store_.write(checkpoint);
    ++written_;
    was_refused_ = false;
  } catch (const plait::Error& error) {
    if (error.code() != plait::ErrorCode::io) {
      throw AgreedError{error};
    }
    ++refused_;
    if (is_first_ && !was_refused_) {
      fmt::print(stderr, "{}: {}; the run continues, and a restart uses the one before\n", program_, error.what());
    }
    was_refused_ = true;
  }
}

void CheckpointWriter::report() const {
  if (is_first_ && refused_ > 0) {
    fmt::print(stderr, "{}: {} of {} checkpoints were not written\n", program_, refused_, refused_ + written_);
  }
}

}  // namespace app
