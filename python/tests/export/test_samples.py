# SPDX-License-Identifier: Apache-2.0
"""Samples, call paths and counts in both formats, written both ways."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from both_ways import OTF2, PERFETTO, read_perfetto
from sampled_run import MS, PATHS, sampled_run

from plait.writers.plait import write_run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_run(sampled_run(), tmp_path / "run")
    return tmp_path / "run"


@pytest.mark.parametrize("way", PERFETTO)
def test_perfetto_has_each_sample_with_its_call_path(way: str, folder: Path, tmp_path: Path) -> None:
    PERFETTO[way](folder, tmp_path / "run.pftrace")
    found = read_perfetto(tmp_path / "run.pftrace")
    of_rank = [sample for sample in found.samples if sample[1] == 1]
    assert Counter(path for *_, path in of_rank) == dict.fromkeys(PATHS, 8)
    assert {interval for _, _, _, interval, _ in of_rank} == {MS}
    assert len({tid for _, pid, tid, _, _ in found.samples if pid == 2}) == 2
    assert "other thread 1" in found.threads
    counters = {(event.track[-1], event.value) for event in found.events if event.value}
    assert ("cycles in step, thread 0", 12e6) in counters
    assert ("cycles in the thread, thread 0", 8e6) in counters


@pytest.mark.parametrize("way", OTF2)
def test_otf2_print_shows_calling_contexts_and_metrics(way: str, folder: Path, tmp_path: Path) -> None:
    if shutil.which("otf2-print") is None:
        pytest.skip("no otf2-print here: apt-get install otf2-tools")
    OTF2[way](folder, tmp_path / "archive")
    path = tmp_path / "archive" / "traces.otf2"
    events = subprocess.run(["otf2-print", path], capture_output=True, text=True, check=False)
    assert (events.returncode, events.stderr) == (0, "")
    samples = re.findall(r"^CALLING_CONTEXT_SAMPLE .*", events.stdout, re.M)
    assert len(samples) == 3 * 40
    assert len(re.findall(r"^METRIC .*", events.stdout, re.M)) == 4
    told = subprocess.run(["otf2-print", "-G", path], capture_output=True, text=True, check=False)
    assert (told.returncode, told.stderr) == (0, "")
    assert len(re.findall(r"^CALLING_CONTEXT ", told.stdout, re.M)) == len(PATHS)
    assert re.search(r"^INTERRUPT_GENERATOR .*processor time.*TIME", told.stdout, re.M)
    assert re.search(r"^METRIC_MEMBER .*cycles in step.*RELATIVE_LAST", told.stdout, re.M)
