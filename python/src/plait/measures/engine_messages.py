# SPDX-License-Identifier: Apache-2.0
"""What plait's engine did for a program that `plait accelerate` ran."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from plait._events import Run
from plait.measures.calls import computing_between
from plait.measures.message_sides import RENDEZVOUS


@dataclass(frozen=True)
class EngineMeasures:
    messages: int  # of the program
    size_bytes: int
    after_rendezvous: int  # of the messages
    moving_ns: int  # sum over the program's receives: from the match to the last byte
    hidden_ns: int  # the part of that in which the receiving rank computed
    own_messages: int  # blocks of collectives, agreement on communicators
    own_bytes: int


def measure_engine(run: Run) -> EngineMeasures | None:
    """None: no engine ran. A message counts once, on the side that sent it."""
    if not run.engine_messages.height:
        return None
    of_program = pl.col("number") > 0
    sent = run.engine_messages.filter(~pl.col("received"))
    routed, own = sent.filter(of_program), sent.filter(~of_program)
    got = run.engine_messages.filter(pl.col("received") & of_program)
    begin, end = got["handed_ns"], got["arrived_ns"]
    return EngineMeasures(
        messages=routed.height,
        size_bytes=int(routed["size_bytes"].sum()),
        after_rendezvous=routed.filter(pl.col("protocol") == RENDEZVOUS).height,
        moving_ns=int((end - begin).clip(0).sum()),  # what came unexpected was there before
        hidden_ns=int(computing_between(run.calls, got["rank"], begin, end).sum()),
        own_messages=own.height,
        own_bytes=int(own["size_bytes"].sum()),
    )
