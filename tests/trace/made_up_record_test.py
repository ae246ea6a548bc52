# SPDX-License-Identifier: Apache-2.0
"""made_up_record_test.py PROBE ...: a record that only a description has goes through both languages and back.

PROBE is built from the project's schema and tests/trace/made_up/records.toml, by no other edit.
"""

from __future__ import annotations

import pathlib
import subprocess
import sys
import tempfile

import polars as pl
from trace_blocks import seal

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python/src"))

from plait.readers.plait import read_run  # noqa: E402
from plait.writers.plait import write_run  # noqa: E402

from plait import _schema  # noqa: E402

PROBE = pathlib.Path(sys.argv[1])
COLUMNS = (
    *("worker", "weather", "label", "start_ns", "end_ns", "depth", "amount", "tag", "target", "is_wet"),
    *("is_deep", "level", "count", "delay_ns"),
)


def probe(action: str, folder: pathlib.Path) -> list[list[str]]:
    done = subprocess.run([PROBE, action, folder], capture_output=True, text=True, check=True)
    return sorted(line.replace("probe ", "").split() for line in done.stdout.splitlines())


def as_cpp_prints(probes: pl.DataFrame, names: tuple[str, ...]) -> list[list[str]]:
    assert set(probes.columns) == {"rank", *COLUMNS}
    rows = []
    for row in probes.select(COLUMNS).iter_rows(named=True):
        row["label"] = names[row["label"]].removeprefix("probe ")
        row["depth"] = f"{row['depth']:g}"
        rows.append([str(value).lower() for value in row.values()])
    return sorted(rows)


def main() -> None:
    schema = _schema.read_schema(PROBE.parent / "made_up_trace/schema.json")
    with tempfile.TemporaryDirectory() as place:
        recorded, copied = pathlib.Path(place) / "recorded", pathlib.Path(place) / "copied"
        probe("write", recorded)
        in_cpp = probe("read", recorded)
        assert len(in_cpp) == 400 and len({tuple(row) for row in in_cpp}) > 390
        run = read_run(recorded, schema)
        assert as_cpp_prints(run.other["probes"], run.span_kinds) == in_cpp
        write_run(run, copied, schema)
        assert probe("read", copied) == in_cpp
        # A reader that does not know the record ignores it.
        assert not read_run(recorded).other
        # What cannot be true is left out: the end of the first record, before its start.
        raw = bytearray((recorded / "rank-0000.plt").read_bytes())
        at = next(at for at in range(4096, len(raw), 64) if raw[at] == 200)
        raw[at + 16 : at + 24] = bytes(8)
        seal(raw)
        (recorded / "rank-0000.plt").write_bytes(raw)
        damaged = read_run(recorded, schema)
        assert damaged.other["probes"].height == 399
        assert any("probe ends before it starts" in notice for notice in damaged.notices)


main()
