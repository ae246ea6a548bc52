// SPDX-License-Identifier: Apache-2.0
/// plait-export: writes a recorded run as an OTF2 archive or a Perfetto trace, rank by rank.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "plait/base/command_line.hpp"
#include "plait/exports/otf2.hpp"
#include "plait/exports/perfetto.hpp"
#include "plait/exports/run_files.hpp"
#include "plait/version.hpp"

namespace {

using namespace plait;
using namespace plait::exports;

struct Arguments {
  std::string folder;
  std::string perfetto;
  std::string otf2;
  std::string library = "libotf2.so";
  std::string labels;
};

/// An object with `label`, `path`, a list of functions, and, if they are known, `file` and `line` for each place.
SiteTexts read_texts(const std::string& file) {
  SiteTexts texts;
  if (!file.empty()) {
    std::ifstream in{file};
    const auto told = nlohmann::json::parse(in, nullptr, false);
    if (!told.is_object()) {
      throw Error{ErrorCode::bad_input, fmt::format("{}: is no JSON object of labels and paths", file)};
    }
    for (const auto& [place, text] : told.items()) {
      if (text.contains("label") && text.contains("path")) {
        texts.labels.emplace(place, text["label"].get<std::string>());
        texts.paths.emplace(place, text["path"].get<std::vector<std::string>>());
        if (text.contains("file")) {
          texts.sources.emplace(place, SourceLine{text["file"].get<std::string>(), text.value("line", 0U)});
        }
      }
    }
  }
  return texts;
}

/// Prints how far it is, for the program that started this one.
void report_progress(const RankOfRun& rank, std::uint64_t events) {
  fmt::print("rank {} of {}: {}\n", rank.trace.rank.value(), rank.trace.rank_count, events);
  std::fflush(stdout);
}

void run(const Arguments& arguments) {
  RunFiles files{arguments.folder};
  if (!arguments.perfetto.empty()) {
    PerfettoFile file{arguments.perfetto, read_texts(arguments.labels)};
    files.for_each_rank([&](const RankOfRun& rank) {
      file.add(rank);
      report_progress(rank, file.packet_count());
    });
    file.complete();
  }
  if (!arguments.otf2.empty()) {
    Otf2Archive archive{arguments.otf2, arguments.library, files.meta(), read_texts(arguments.labels)};
    files.for_each_rank([&](const RankOfRun& rank) {
      archive.add(rank);
      report_progress(rank, archive.event_count());
    });
    archive.complete(files.rank_count());
  }
  for (const std::string& notice : files.notices()) {
    fmt::print(stderr, "plait-export: {}\n", notice);
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "plait-export: writes a recorded run as an OTF2 archive or a Perfetto trace.\n"
      "`plait export` starts it for long runs, and has more formats.\n\n"
      "  plait-export runs/first --otf2 archive\n",
      "plait-export"};
  app.set_version_flag("--version", version_line("plait-export"));
  Arguments arguments;
  app.add_option("RUN", arguments.folder, "Folder of the recorded run")->required();
  CLI::Option* const perfetto = app.add_option("--perfetto", arguments.perfetto, "Write it to this file, for Perfetto");
  CLI::Option* const otf2 =
      app.add_option("--otf2", arguments.otf2, "Write it to this folder, as an OTF2 archive")->excludes(perfetto);
  app.add_option("--otf2-library", arguments.library, "The shared library of OTF2 3 [libotf2.so]")->needs(otf2);
  app.add_option("--labels", arguments.labels, "JSON object: label and path of the places in the program");
  if (const auto status = plait::end_after_parsing<CLI::ParseError>(app, argc, argv)) {
    return *status;
  }
  if (arguments.perfetto.empty() && arguments.otf2.empty()) {
    fmt::print(stderr, "plait-export: give --perfetto FILE or --otf2 FOLDER\n");
    return 2;
  }
  try {
    run(arguments);
  } catch (const std::exception& error) {
    fmt::print(stderr, "plait-export: {}\n", error.what());
    return 1;
  }
  return 0;
}
