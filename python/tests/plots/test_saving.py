# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from plait._errors import PlaitError
from plait.plots import saving, style
from plait.plots.saving import PictureSaver

MANY = 10**9


@pytest.fixture
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saving.os, "cpu_count", lambda: 2)


def line(name: str = "a line") -> Figure:
    figure = style.new_figure(3, 2)
    axes = style.add_axes(figure)[0]
    axes.plot([0, 1, 2], [1, 0, 1])
    style.title(axes, name)
    return figure


@pytest.mark.usefixtures("two_cores")
def test_another_process_saves_the_same_bytes(tmp_path: Path) -> None:
    with PictureSaver(1) as here:
        here.save(tmp_path / "here.png", line())
    with PictureSaver(MANY) as there:
        for number in range(3):
            there.save(tmp_path / f"there-{number}.png", line())
    expected = (tmp_path / "here.png").read_bytes()
    assert expected.startswith(b"\x89PNG")
    for number in range(3):
        assert (tmp_path / f"there-{number}.png").read_bytes() == expected
    assert not list(tmp_path.glob(".*"))


@pytest.mark.usefixtures("two_cores")
def test_a_figure_that_cannot_be_packed_is_saved_here(tmp_path: Path) -> None:
    figure = line()
    figure.axes[0].yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} m"))
    with PictureSaver(MANY) as saver:
        saver.save(tmp_path / "here.png", figure)
        assert (tmp_path / "here.png").is_file()
        saver.save(tmp_path / "there.png", line())
    assert (tmp_path / "there.png").is_file()


@pytest.mark.usefixtures("two_cores")
@pytest.mark.parametrize("events", [1, MANY])
def test_a_picture_that_cannot_be_written_is_named(tmp_path: Path, events: int) -> None:
    with (
        pytest.raises(PlaitError, match=r"picture\.png cannot be written"),
        PictureSaver(events) as saver,
    ):
        saver.save(tmp_path / "missing" / "picture.png", line())


@pytest.mark.usefixtures("two_cores")
def test_an_ended_process_is_an_error_and_no_hang(tmp_path: Path) -> None:
    with pytest.raises(PlaitError, match="ended with status -9"), PictureSaver(MANY) as saver:
        assert saver._other is not None
        saver._other._process.kill()
        for number in range(20):
            saver.save(tmp_path / f"{number}.png", line("x" * 10_000))


@pytest.mark.usefixtures("two_cores")
def test_after_an_error_of_the_report_the_process_ends(tmp_path: Path) -> None:
    saver = PictureSaver(MANY)
    with pytest.raises(ZeroDivisionError), saver:
        saver.save(tmp_path / "there.png", line())
        _ = 1 / 0
    assert saver._other is not None
    assert saver._other._process.poll() is not None
    assert not list(tmp_path.glob(".*"))
