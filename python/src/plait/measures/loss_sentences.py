# SPDX-License-Identifier: Apache-2.0
"""Losses in the words of the author of a program: what happens, what it costs, where, what to do."""

from __future__ import annotations

from dataclasses import dataclass

from plait._events import Run
from plait._units import format_count, format_time
from plait.measures import losses as names
from plait.measures.losses import NAMED_MAX, WORTH, Loss, Losses, is_uneven
from plait.measures.savings import SMALL_BYTES

#: A gain below this share of the run is described as small.
_SMALL = 0.005


@dataclass(frozen=True)
class LossText:
    """Each is a sentence or two."""

    what: str
    cost: str
    gain: str
    where: str  # "" where the place is not known
    remedy: str

    def __str__(self) -> str:
        return " ".join(
            part for part in (self.what, self.cost, self.gain, self.where, self.remedy) if part
        )


def describe_loss(run: Run, losses: Losses, loss: Loss) -> LossText:
    return LossText(
        f"{_what(run, loss)}.",
        _cost(losses, loss),
        _gain(run, losses, loss),
        _where(run, loss),
        _remedy(run, loss),
    )


def nothing_lost(losses: Losses) -> str:
    """In the place of the largest losses, where none is large enough; "" where nothing is known."""
    if losses.whole_ns <= 0 or losses.largest:
        return ""
    most = f"; the largest takes {_percent(losses.found[0].share)}" if losses.found else ""
    return (
        f"No loss takes more than {100 * WORTH:.0f} % of the run{most}: the ranks compute nearly always."
    )


def largest_losses(run: Run, losses: Losses) -> list[str]:
    """For the terminal: NAMED_MAX numbered paragraphs at most, or that nothing is lost."""
    texts = [describe_loss(run, losses, loss) for loss in losses.largest]
    found = [f"{number}. {text}" for number, text in enumerate(texts, 1)]
    nothing = nothing_lost(losses)
    return found or ([nothing] if nothing else [])


def heading(losses: Losses) -> str:
    count = len(losses.largest)
    if count == 0:
        return "Where time is lost"
    return "The largest loss" if count == 1 else f"The {('two', 'three')[count - 2]} largest losses"


assert NAMED_MAX == 3, "heading() has words for three"


def _what(run: Run, loss: Loss) -> str:
    if loss.name == names.UNPOLLED and run.tasks.height:
        return "Workers wait, and no thread of their rank polls the network meanwhile"
    if loss.name == names.UNEVEN_WORK:
        return f"Workers have no task at the start or the end of steps{_longest(loss, ', as ')}"
    if loss.name in _WAITS:
        waits, one, many = _WAITS[loss.name]
        if loss.rank < 0:
            return f"{waits} {many}"
        return f"{waits} {one.format(rank=loss.rank)}{_longest(loss)}"
    return _WHAT[loss.name]


#: What the ranks do; for one rank; for several in turns.
_WAITS = {
    names.LATE_SENDERS: (
        "Ranks wait for messages",
        "that rank {rank} sends late",
        "that different ranks send late, in turns",
    ),
    names.LATE_RECEIVERS: (
        "Ranks wait to send",
        "until rank {rank} is ready to receive",
        "until other ranks are ready to receive",
    ),
    names.LATE_AT_COLLECTIVES: (
        "Ranks wait in collective operations",
        "for rank {rank}, which comes last",
        "for the last rank to come, which is not always the same",
    ),
}
_WHAT = {
    names.UNPOLLED: "Data is ready to move, but does not: no rank calls MPI while it computes",
    names.SMALL_MESSAGES: "Many small messages to the same rank are sent one by one",
    names.COLLECTIVES: "Collective operations take time even when all ranks are there",
    names.TRANSFERS: "Ranks wait while their data moves",
    names.FILES: "Ranks wait for files",
    names.OTHER_CALLS: "Ranks are in calls of MPI that move no data, such as creating communicators",
    names.STARVED: "Workers have no task that is ready: each waits for messages or for tasks elsewhere",
    names.HELD: "Tasks are ready, but do not start: they wait for a lock, or the scheduler is busy",
    names.NO_GRAPH: "No graph of tasks is running: the program works between its steps",
    names.CROWDED: "More threads compute at once than the machine has cores",
    names.RECORDING: "The recording itself takes time",
}


def _longest(loss: Loss, link: str = ", ") -> str:
    if not is_uneven(loss):
        return ""
    who = f"rank {loss.rank}" if link == ", as " else "and it"
    return f"{link}{who} computes {loss.computes:.2f} times as long as the mean"


def _cost(losses: Losses, loss: Loss) -> str:
    each = format_time(loss.lost_ns / max(1, losses.threads))
    whole = format_time(losses.length_ns)
    return f"That takes {_percent(loss.share)} of the run: {each} of {whole} for the mean thread."


def is_gain_known(losses: Losses, loss: Loss) -> bool:
    """Whether the record shows that mending it would make the run noticeably shorter."""
    return loss.gain_ns >= _SMALL * losses.length_ns


def _gain(run: Run, losses: Losses, loss: Loss) -> str:
    shorter = format_time(losses.length_ns - loss.gain_ns)
    if loss.name in (*_WAITS, names.UNEVEN_WORK):
        if not is_gain_known(losses, loss):
            return (
                "Over the whole run all ranks compute about equally long: another distribution of the "
                "work gains little, earlier sends and fewer points where all meet gain more."
            )
        return f"If all ranks computed equally long, the run would take about {shorter}."
    if not is_gain_known(losses, loss):
        return "How much shorter the run would be without it does not follow from the record."
    how = _IF[loss.name]
    if loss.name == names.UNPOLLED and run.tasks.height:
        how = "If a thread polled the network all the time"
    return f"{how}, the run would take about {shorter}."


_IF = {
    names.UNPOLLED: "If data moved while the ranks compute",
    names.SMALL_MESSAGES: "If they were packed",
    names.COLLECTIVES: "If each took as long as the quickest tenth of its kind",
    names.TRANSFERS: "If data moved while the ranks compute",
    names.FILES: "If files were written while the ranks compute",
    names.OTHER_CALLS: "Without these calls",
    names.STARVED: "If other tasks were ready meanwhile",
    names.HELD: "If they started at once",
    names.NO_GRAPH: "If that work were tasks, too",
    names.CROWDED: "If each thread had a core of its own",
    names.RECORDING: "Without the recorder",
}


def _where(run: Run, loss: Loss) -> str:
    if loss.function < 0:
        return ""
    place = f"Where: {run.functions[loss.function]}"
    place += f" at {run.sites[loss.site]}" if loss.site >= 0 else ""
    return f"{place} ({_percent(loss.place_share)} of it)."


def _remedy(run: Run, loss: Loss) -> str:
    if loss.name in (*_WAITS, names.UNEVEN_WORK):
        if is_uneven(loss):
            return f"What to do: give rank {loss.rank} less of the work, and the others more."
        return _IN_TURNS[loss.name]
    if loss.name == names.UNPOLLED:
        return _POLLING_TASKS if run.tasks.height else _POLLING_CALLS
    return _REMEDIES[loss.name]


_IN_TURNS = {
    names.LATE_SENDERS: "What to do: send as soon as the data is there, before other work.",
    names.LATE_RECEIVERS: "What to do: post receives (MPI_Irecv) before other work, not after it.",
    names.LATE_AT_COLLECTIVES: (
        "What to do: leave out barriers that nothing needs; begin the collective earlier and wait for "
        "it later (MPI_Iallreduce and its like)."
    ),
    names.UNEVEN_WORK: "What to do: let steps overlap, so that a rank need not wait for the end of one.",
}
_POLLING_CALLS = (
    "What to do: try `plait record --progress`, where a thread of its own polls the network; or call "
    "MPI_Test between parts of the computing."
)
_POLLING_TASKS = (
    "What to do: divide long tasks, so that workers poll the network more often; or give progression a "
    "thread of its own."
)
_REMEDIES = {
    names.SMALL_MESSAGES: (
        f"What to do: copy those of up to {SMALL_BYTES} bytes to one rank together, and send one."
    ),
    names.COLLECTIVES: (
        "What to do: combine several into one; or begin them earlier and compute meanwhile "
        "(MPI_Iallreduce and its like)."
    ),
    names.TRANSFERS: (
        "What to do: start the messages earlier (MPI_Isend, MPI_Irecv), compute what does not need "
        "them, and wait afterwards."
    ),
    names.FILES: "What to do: write less often, or larger parts at once, or from fewer ranks.",
    names.OTHER_CALLS: "What to do: create communicators, data types and windows once, and keep them.",
    names.STARVED: (
        "What to do: give each rank more and smaller tasks; give those that send a higher priority."
    ),
    names.HELD: "What to do: see which tasks share a lock; make very short tasks longer.",
    names.NO_GRAPH: "What to do: put that work into tasks, or start the next step before it.",
    names.CROWDED: "What to do: start fewer ranks, or take more hosts.",
    names.RECORDING: (
        "What to do: mind that runs without the recorder are that much quicker; calls come very often "
        "here, so fewer and larger ones help both."
    ),
}


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.0995 else f"{100 * share:.1f} %"


def count_text(losses: Losses) -> str:
    """What shares are of: "of 4 threads x 20 s"."""
    return f"{format_count(losses.threads, 'thread')} × {format_time(losses.length_ns)}"
