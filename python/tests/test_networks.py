# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from plait import _networks as networks
from plait.commands import doctor


def test_what_is_chosen_follows_the_variable() -> None:
    assert networks.chosen({})["here"] == "shm"
    assert networks.chosen({})["elsewhere"] == "mpi"
    assert networks.chosen({"PLAIT_NETWORK": "mpi"})["here"] == "mpi"
    assert networks.chosen({"PLAIT_NETWORK": "shm"})["elsewhere"] == "none"


def test_addresses_of_libfabric_are_named_as_rails() -> None:
    ofi = {"PLAIT_NETWORK": "ofi", "PLAIT_OFI_ADDRESS": "eth0,eth1"}
    assert networks.chosen(ofi)["why"] == "PLAIT_NETWORK is ofi on 2 rails: eth0, eth1"
    assert networks.chosen({**ofi, "PLAIT_OFI_ADDRESS": "eth0"})["why"] == "PLAIT_NETWORK is ofi"


def test_single_copy_is_tried_for_real() -> None:
    assert isinstance(networks.single_copy_trouble(), str)


def test_the_reason_without_single_copy_names_what_forbids_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope = tmp_path / "ptrace_scope"
    monkeypatch.setattr(networks, "_SCOPE", scope)
    assert "SYS_PTRACE" in networks._why(errno.EPERM)
    assert "no cross-memory attach" in networks._why(errno.ENOSYS)
    scope.write_text("2\n")
    assert "ptrace_scope is 2" in networks._why(errno.EPERM)


def test_providers_come_from_fi_info(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "fi_info"
    program.write_text(
        "#!/bin/sh\nprintf 'provider: tcp\\n  fabric: a\\nprovider: shm\\nprovider: tcp\\n'\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert networks.fabric_providers() == ["tcp", "shm"]
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    assert networks.fabric_providers() is None


@pytest.mark.parametrize(
    ("shared", "state", "words"),
    [
        (None, "missing", "no /dev/shm"),
        (networks.SharedMemory(1 << 20, 1 << 20, True, ""), "missing", "free"),
        (networks.SharedMemory(1 << 30, 1 << 30, True, ""), "good", "copied once"),
        (networks.SharedMemory(1 << 30, 1 << 30, False, "ptrace_scope is 3"), "good", "copied twice"),
    ],
)
def test_doctor_tells_what_shared_memory_there_is(
    shared: networks.SharedMemory | None, state: str, words: str
) -> None:
    finding = doctor._shared_memory(shared)
    assert (finding.state, words in finding.detail) == (state, True)
