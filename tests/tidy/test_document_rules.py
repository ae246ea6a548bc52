# SPDX-License-Identifier: Apache-2.0
"""Each rule on shapes, words and documents, on made-up input: what it must refuse, and what it must let pass."""

from __future__ import annotations

import documents
import pytest
import shapes
import words

HPP = "src/plait/comm/engine.hpp"

CLASS = """
namespace plait::comm {
/// class NotOne { int a; };
class Engine final : public Base<int> {
 public:
  explicit Engine(std::function<void(int)> hook = {}) : hook_{std::move(hook)} {}
  Engine(const Engine&) = delete;
  [[nodiscard]] int count() const noexcept { return count_ + call({1, 2}); }
  template <typename T>
    requires std::integral<T>
  void set(T value, int other = f(3));
  bool operator==(const Engine&) const = default;
  friend class Peer;
  using Map = std::map<int, std::function<int(int)>>;
  enum class State { idle, busy };
  struct Inner {
    int a, b;
  };
  static constexpr int limit = 3;

 private:
  std::function<void(int)> hook_;
  int count_ = f(4);
  std::vector<int> list_{1, 2};
  Inner inner_[4];
};
}  // namespace plait::comm
"""


def test_members_are_counted() -> None:
    types = {t.name: t for t in shapes.types_in(CLASS)}
    assert set(types) == {f"plait::comm::Engine{end}" for end in ("", "::State", "::Inner")}
    engine = types["plait::comm::Engine"]
    assert (engine.methods, engine.fields, engine.line) == (3, 4, 4)
    assert types["plait::comm::Engine::Inner"].fields == 2
    assert types["plait::comm::Engine::Inner"].is_nested


def test_large_classes() -> None:
    methods = "class A {\n" + "".join(f"  int f{i}();\n" for i in range(26)) + "};\n"
    fields = "struct B {\n" + "".join(f"  int f{i} = 0;\n" for i in range(16)) + "};\n"
    assert "26 member functions, limit 25" in shapes.classes_stay_small(HPP, methods, {})[0]
    assert "16 data members, limit 15" in shapes.classes_stay_small(HPP, fields, {})[0]
    assert shapes.classes_stay_small(HPP, methods, {f"{HPP}:A": {"methods": 26, "why": "one idea"}}) == []
    assert shapes.classes_stay_small(HPP, methods.replace("f25", "f24") + "\n", {}) != []
    assert shapes.classes_stay_small(HPP, CLASS, {}) == []


def test_detail_in_public_headers() -> None:
    include = '#include "plait/comm/detail/a.hpp"\n'
    assert "comm/detail/a.hpp" in shapes.public_headers_include_no_detail(HPP, include)[0]
    assert shapes.public_headers_include_no_detail(HPP.replace(".hpp", ".cpp"), include) == []
    assert shapes.public_headers_include_no_detail("src/plait/comm/detail/b.hpp", include) == []


def test_names_of_several_types() -> None:
    header = "namespace plait::{} {{\nclass Box {{}};\n}}\n"
    two = {f"src/plait/{folder}/box.hpp": header.format(folder) for folder in ("fft", "particles")}
    assert "plait::fft::Box shares its name with plait::particles::Box" in shapes.repeated_type_names(two, {})[0]
    assert shapes.repeated_type_names(two, {"Box": "one concept"}) == []
    assert "delete its line" in shapes.repeated_type_names({}, {"Box": "one concept"})[0]
    del two["src/plait/fft/box.hpp"]
    assert shapes.repeated_type_names(two, {}) == []
    assert "delete its line" in shapes.repeated_type_names(two, {"Box": "one concept"})[0]


@pytest.mark.parametrize("text", ["CommId comm{0x5000'0000};", "f(CommId{7});", "constexpr auto first_comm = 16;"])
def test_literal_communicators(text: str) -> None:
    assert "claim one" in shapes.communicators_are_claimed("src/plait/data/a.cpp", text)[0]
    assert shapes.communicators_are_claimed("tests/data/a.cpp", text) == []


def test_claimed_communicators() -> None:
    text = "// CommId{7}\nconst CommId comm{header.comm};\nCommId comm = endpoint.claim_comms(2)[0];\n"
    assert shapes.communicators_are_claimed("src/plait/data/a.cpp", text) == []


def test_words() -> None:
    text = '// nobody is here\nint stands = 0;\nf("it tells the caller", "tells");\n'
    assert [line.split(": ")[1] for line in words.words_that_are_out("src/plait/comm/a.cpp", text)] == [
        "'nobody' is out",
        "'tells' is out",
    ]
    assert words.words_that_are_out("src/plait/comm/a.cpp", "int a;  // an abbreviation stands for a lane\n") == []
    assert words.words_that_are_out("src/plait/comm/a.cpp", "// nobody\n", {"src/plait/comm/a.cpp:nobody"}) == []
    assert "contiguous()" in words.words_that_are_out("src/plait/comm/a.hpp", "bool together() const;\n")[0]
    assert "stream" in words.words_that_are_out("src/plait/replay/a.hpp", "// a lane of the schedule\n")[0]


def test_words_of_scripts_and_documents() -> None:
    python = 'def told(stand):\n    """Says nothing."""\n    return "stand", stand  # nobody\n'
    assert len(words.words_that_are_out("python/a.py", python)) == 2
    markdown = "Nobody `stands`\n```cpp\n// tells\n```\n[a](tells.md)\n"
    assert [line.partition(": ")[0] for line in words.words_that_are_out("docs/a.md", markdown)] == ["docs/a.md:1"]
    assert len(words.words_that_are_out("cmake/a.cmake", "# told\nset(told 1)\n")) == 1


def test_words_are_counted_by_folder() -> None:
    complaints = {"bench": ["bench/a.cpp:1: x", "bench/b.cpp:1: y"]}
    assert words.words_over_limits(complaints, {"bench": 2}) == []
    assert "limit 1" in words.words_over_limits(complaints, {"bench": 1})[0]
    assert words.words_over_limits(complaints, {}) == complaints["bench"]
    assert "is clean" in words.words_over_limits({"bench": []}, {"bench": 2})[0]
    folders = [
        words.folder_of(p) for p in ("src/plait/comm/detail/a.hpp", "bench/a.cpp", "README.md", "python/tests/x/a.py")
    ]
    assert folders == ["src/plait/comm", "bench", ".", "python/tests"]


def test_lines_of_documents() -> None:
    long = "a " * 61
    assert "limit 120" in documents.lines_fit("docs/a.md", f"{long}\n")[0]
    assert documents.lines_fit("docs/a.md", f"```\n{long}\n```\n| {long} |\n[a]({'x' * 200})\n") == []
    assert "limit 220" in documents.lines_fit("docs/a.md", f"| {long}{long} |\n")[0]


def test_names_on_the_map() -> None:
    there = {"src/plait/comm/endpoint.hpp", "src/plait/comm", "src/plait/comm/detail/engine.hpp", "tests/tidy"}
    text = "### `comm/`\n`endpoint.hpp`, `detail/engine.hpp`, `tests/tidy/`\n\n- `comm/detail/`: `engine.hpp`\n"
    assert documents.map_names_exist(text, lambda p: p in there | {"src/plait/comm/detail"}) == []
    assert (
        "ARCHITECTURE.md:2: there is no endpoint.hpp" in documents.map_names_exist(text, lambda p: "point" not in p)[0]
    )


def test_layers_on_the_map() -> None:
    text = "## The layers\n\n```text\napps/  programs\ncomm/   messages\nbase/\nfft/ side/   beside\n```\n"
    assert documents.layers_agree(text, ["base", "comm"], {"fft": [], "side": []}) == []
    assert "layers are base, comm" in documents.layers_agree(text, ["comm", "base"], {})[0]
    assert "lacks more/" in documents.layers_agree(text, ["base", "comm"], {"more": []})[0]
    assert "no section" in documents.layers_agree("# A\n", [], {})[0]


def test_commands() -> None:
    known = {"plait": {"run", "bench"}, "plait bench": {"grain"}, "make": {"test"}, "tools/": {"setup"}}
    good = (
        "`plait run a`, `plait bench grain`, `make test`, `tools/setup`; plait moves\n```sh\nplait bench grain\n```\n"
    )
    assert documents.unknown_commands("docs/a.md", good, known) == []
    bad = "\n`plait walk`, `plait bench gone`, `make gone`, `tools/gone`\n```sh\nplait talk\n```\n"
    found = documents.unknown_commands("docs/a.md", bad, known)
    assert sorted(re_name(line) for line in found) == [
        "make gone",
        "plait bench gone",
        "plait talk",
        "plait walk",
        "tools/gone",
    ]
    assert "docs/a.md:2: there is no `plait walk`: name one that exists" in found


def re_name(line: str) -> str:
    return line.split("`")[1]


def test_options() -> None:
    assert documents.unknown_options("docs/a.md", "`PLAIT_TRACE`", 'getenv("PLAIT_TRACE")') == []
    assert "nothing reads PLAIT_GONE" in documents.unknown_options("docs/a.md", "PLAIT_GONE=1", "PLAIT_TRACE")[0]


def test_decisions() -> None:
    path = "docs/decisions/0001-a-choice.md"
    good = "# 0001: A choice\n\nDate: 2026-11-22. Status: accepted.\n\n## Alternatives\n"
    assert documents.decisions_are_complete(path, good) == []
    assert documents.decisions_are_complete("docs/decisions/README.md", "") == []
    assert "begin with '# 0001: " in documents.decisions_are_complete(path, good.replace("0001", "1"))[0]
    assert "no date" in documents.decisions_are_complete(path, good.replace("Date: 2026", "2026"))[0]
    assert "no section" in documents.decisions_are_complete(path, good.replace("Alternatives", "Choice"))[0]


def test_index() -> None:
    index = {"docs/README.md": "[a](how-to/a.md)", "docs/decisions/README.md": "[1](0001-a.md)"}
    paths = ["docs/how-to/a.md", "docs/decisions/0001-a.md", *index]
    assert documents.documents_are_in_the_index(paths, index.__getitem__) == []
    assert "has no link" in documents.documents_are_in_the_index(["docs/how-to/b.md"], index.__getitem__)[0]
    assert "not in a folder" in documents.documents_are_in_the_index(["docs/b.md"], index.__getitem__)[0]
    twice = {**index, "docs/decisions/README.md": "[1](0001-a.md) [1](0001-b.md)"}
    found = documents.documents_are_in_the_index([*paths, "docs/decisions/0001-b.md"], twice.__getitem__)
    assert "several decisions have the number 0001" in found[0]
