// SPDX-License-Identifier: Apache-2.0
#include "plait/trace/meta.hpp"

#include <cerrno>
#include <charconv>
#include <ctime>
#include <fstream>
#include <string_view>
#include <system_error>
#include <unistd.h>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace plait::trace {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr std::string_view format_name = "plait-trace";
constexpr std::uint32_t format_version = 1;

/// ISO 8601, UTC: "2026-11-24T09:30:00.250Z"
std::string to_text(Meta::Time time) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(time);
  const auto part = std::chrono::duration_cast<milliseconds>(time - whole);
  return fmt::format("{:%FT%T}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(whole)), part.count());
}

std::optional<Meta::Time> to_time(const std::string& text) {
  std::tm utc{};
  const char* rest = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &utc);
  if (rest == nullptr) {
    return std::nullopt;
  }
  const char* end = text.c_str() + text.size();
  unsigned fraction = 0;
  if (*rest == '.') {
    const auto parsed = std::from_chars(rest + 1, end, fraction);
    if (parsed.ptr != rest + 4) {
      return std::nullopt;
    }
    rest = parsed.ptr;
  }
  if (std::string_view{rest, end} != "Z") {
    return std::nullopt;
  }
  return std::chrono::system_clock::from_time_t(::timegm(&utc)) + milliseconds{fraction};
}

std::filesystem::path path_in(const std::filesystem::path& folder) {
  return folder / "meta.json";
}

[[noreturn]] void cannot_write(const std::filesystem::path& path, const std::error_code& why) {
  throw Error{ErrorCode::io, fmt::format("{}: cannot be written: {}", path.string(), why.message())};
}

/// Throws nlohmann's exceptions when a value is of another type than in docs/reference/trace-format.md.
Meta from_json(const json& object) {
  Meta meta;
  object.at("ranks").get_to(meta.ranks);
  meta.program = object.value("program", "");
  meta.command = object.value("command", meta.command);
  meta.workers = object.value("workers", 0U);
  meta.hosts = object.value("hosts", meta.hosts);
  meta.cores = object.value("cores", 0U);
  meta.mpi = object.value("mpi", "");
  meta.revision = object.value("revision", "");
  meta.options = object.value("options", meta.options);
  meta.recorder = object.value("recorder", meta.recorder);
  if (const auto started = object.find("started"); started != object.end() && started->is_string()) {
    meta.started = to_time(started->get<std::string>()).value_or(Meta::Time{});
  }
  if (const auto ended = object.find("ended"); ended != object.end() && ended->is_string()) {
    meta.ended = to_time(ended->get<std::string>());
  }
  return meta;
}

}  // namespace

void write_meta(const std::filesystem::path& folder, const Meta& meta) {
  const json object = {{"format", format_name},
                       {"version", format_version},
                       {"program", meta.program},
                       {"command", meta.command},
                       {"ranks", meta.ranks},
                       {"workers", meta.workers},
                       {"hosts", meta.hosts},
                       {"cores", meta.cores},
                       {"started", to_text(meta.started)},
                       {"ended", meta.ended ? json(to_text(*meta.ended)) : json(nullptr)},
                       {"mpi", meta.mpi},
                       {"revision", meta.revision},
                       {"options", meta.options},
                       {"recorder", meta.recorder}};
  // Arguments of a command need not be UTF-8, which JSON is.
  const std::string text = object.dump(2, ' ', false, json::error_handler_t::replace) + "\n";

  std::error_code trouble;
  std::filesystem::create_directories(folder, trouble);
  if (trouble) {
    cannot_write(folder, trouble);
  }
  const std::filesystem::path path = path_in(folder);
  std::filesystem::path unfinished = path;
  unfinished += fmt::format(".{}", ::getpid());
  errno = 0;
  std::ofstream file{unfinished, std::ios::binary | std::ios::trunc};
  file << text;
  file.close();
  if (!file) {
    trouble = {errno != 0 ? errno : EIO, std::generic_category()};
  } else {
    std::filesystem::rename(unfinished, path, trouble);
  }
  if (trouble) {
    std::error_code ignored;
    std::filesystem::remove(unfinished, ignored);
    cannot_write(path, trouble);
  }
}

Result<Meta> read_meta(const std::filesystem::path& folder) {
  const std::filesystem::path path = path_in(folder);
  const auto refuse = [&](std::string_view why) {
    return Error{ErrorCode::bad_input, fmt::format("{}: {}", path.string(), why)};
  };
  std::ifstream file{path, std::ios::binary};
  if (!file) {
    return refuse("cannot be opened; is this the folder of a trace?");
  }
  const json object = json::parse(file, nullptr, false);
  if (!object.is_object()) {
    return refuse("is no JSON object; was it edited by hand?");
  }
  try {
    if (object.value("format", "") != format_name) {
      return refuse("does not describe a plait trace");
    }
    if (const auto version = object.value("version", 0U); version != format_version) {
      return refuse(
          version > format_version
              ? fmt::format("was made by a newer plait (format {}): update plait, which reads format {} here",
                            version,
                            format_version)
              : fmt::format("is of version {} of the format; this plait reads version {}", version, format_version));
    }
    return from_json(object);
  } catch (const json::exception& trouble) {
    return refuse(fmt::format("a value is missing or of the wrong type ({})", trouble.what()));
  }
}

}  // namespace plait::trace
