# SPDX-License-Identifier: Apache-2.0
"""Which row of a report ends which, and which receive on another rank belongs to which send."""

from __future__ import annotations

import polars as pl

from plait._units import format_count
from plait.readers._swift_files import Texts

_REQUEST = ["rank", "received", "otherrank", "isubtype", "tag", "size"]
_MESSAGE = ["step", "source", "destination", "isubtype", "tag", "size"]
_CHANNEL = ["source", "destination", "isubtype"]
_COLUMNS = [*_REQUEST, "step", "stic", "etic", "row", "end_step", "end_stic", "thread"]


def pair_requests(texts: Texts) -> pl.DataFrame:
    """One row for each request: where it began, and end_step, end_stic and thread of the row that ends
    it (null where there is none). `row` is the place of its beginning in the reports.

    A row that ends a request has the time that it was active, so what it ends is the equal request that
    began at that tick; where the tick does not fit, the first of the step that nothing else ended. An
    end without a beginning is taken to have begun when it claims.
    """
    rows = texts.rows.with_columns(pl.col("size").abs()).with_row_index("row")
    begins = rows.filter(pl.col("activation") == 1).with_columns(pl.col("etic").alias("tick"))
    ends = rows.filter(pl.col("activation") == 0)
    ends = ends.with_columns((pl.col("etic") - pl.col("dtic")).alias("tick"))
    parts = []
    for key in ([*_REQUEST, "tick"], [*_REQUEST, "step"]):
        pairs = _join(_numbered(begins, key), _numbered(ends, key), [*key, "again"])
        begins = begins.join(pairs, on="row", how="anti")
        ends = ends.join(pairs, left_on="row", right_on="end_row", how="anti")
        parts.append(pairs)
    _note_alone(texts, ends)
    nothing = pl.lit(None, dtype=pl.Int64())
    parts.append(
        begins.with_columns(
            nothing.alias("end_step"), nothing.alias("end_stic"), nothing.alias("thread")
        )
    )
    parts.append(
        ends.with_columns(
            (pl.col("stic") - pl.col("dtic")).alias("stic"),
            pl.col("tick").alias("etic"),
            pl.col("step").alias("end_step"),
            pl.col("stic").alias("end_stic"),
            pl.col("rid").alias("thread"),
        )
    )
    return pl.concat([part.select(_COLUMNS) for part in parts]).sort("row")


def _numbered(rows: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """With `again`: how many rows of equal key came before, in order of time."""
    return rows.sort("etic", "row").with_columns(
        pl.int_range(pl.len(), dtype=pl.Int64()).over(key).alias("again")
    )


def _join(begins: pl.DataFrame, ends: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    told = ends.select(
        *key,
        pl.col("row").alias("end_row"),
        pl.col("step").alias("end_step"),
        pl.col("stic").alias("end_stic"),
        pl.col("etic").alias("end_etic"),
        pl.col("rid").alias("thread"),
    )
    return begins.join(told, on=key, how="inner").filter(pl.col("end_etic") >= pl.col("etic"))


def _note_alone(texts: Texts, ends: pl.DataFrame) -> None:
    if ends.height:
        file, line = ends.sort("row").select("file", "line").row(0)
        texts.notices.append(
            f"{format_count(ends.height, 'request')} ended without having begun in these files, first "
            f"in line {line} of {texts.files[file]}: they are taken to have begun when they claim; is "
            "the report of an earlier step missing?"
        )


def number_messages(requests: pl.DataFrame) -> pl.DataFrame:
    """With `sequence`: the same for both sides of a message and for no other, within (source,
    destination, subtype).

    A send and a receive are one message when step, ranks, subtype, tag and size agree; of several such
    the n-th posted is the n-th posted, as in MPI.
    """
    rank, other = pl.col("rank"), pl.col("otherrank")
    received = pl.col("received")
    sides = requests.with_columns(
        pl.when(received).then(other).otherwise(rank).alias("source"),
        pl.when(received).then(rank).otherwise(other).alias("destination"),
    )
    sides = _numbered(sides, [*_MESSAGE, "received"])
    key = [*_MESSAGE, "again"]
    # The sender's order numbers a message; where there is no sender, the receiver's after those.
    messages = sides.sort("received", "etic", "row").unique(key, keep="first", maintain_order=True)
    messages = messages.select(
        *key, (pl.int_range(pl.len(), dtype=pl.Int64()).over(_CHANNEL) + 1).alias("sequence")
    )
    return sides.join(messages, on=key, how="left").sort("row")
