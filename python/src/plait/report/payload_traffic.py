# SPDX-License-Identifier: Apache-2.0
"""What the page's scripts draw of matrices and of the balance over time."""

from __future__ import annotations

from typing import Any

import numpy as np

from plait.measures.balance import waiting_shares
from plait.measures.balancings import balancings
from plait.measures.rank_groups import Matrix, group_matrix, group_rows, group_size
from plait.plots import palette
from plait.report.analysis import Analysis
from plait.report.columns import pack_increasing, pack_u32

#: Rows and columns of a matrix on the page, unless more cells than CELLS_MAX would hold something.
GROUPS_MAX = 1024
CELLS_MAX = 400_000
#: Rows of the balance over time.
BALANCE_ROWS_MAX = 128
_GROUPS_MIN = 256
_FINE = 1000  # shares are given in thousandths


def traffic_data(analysis: Analysis) -> tuple[dict[str, Any], dict[str, str]]:
    """Entries of the page's data, and columns."""
    matrix, columns = _matrices(analysis)
    balance, more = _balance(analysis)
    return {"matrix": matrix, "balance": balance}, columns | more


def _matrices(analysis: Analysis) -> tuple[dict[str, Any] | None, dict[str, str]]:
    ranks = analysis.run.ranks
    messages, collectives = _grouped(analysis, ranks)
    shown = []
    columns: dict[str, str] = {}
    for name, title, matrix, is_bytes in (
        ("bytes", "Bytes in messages", messages, True),
        ("count", "Messages", messages, False),
        ("collective", "Bytes in collectives", collectives, True),
    ):
        found, packed = _pack(name, matrix, is_bytes)
        if found:
            shown.append({"name": name, "title": title, "is_bytes": is_bytes})
            columns |= packed
    if not shown or ranks < 2:
        return None, {}
    data = {
        "ranks": ranks,
        "each": messages.each,
        "groups": messages.groups,
        "shown": shown,
        "colours": [list(palette.AMOUNTS), list(palette.AMOUNTS_DARK)],
    }
    return data, columns


def _grouped(analysis: Analysis, ranks: int) -> tuple[Matrix, Matrix]:
    """Messages and collectives, by groups of ranks that are as small as the page has room for."""
    most = GROUPS_MAX
    while True:
        found = [
            group_matrix(pairs, ranks, most)
            for pairs in (analysis.traffic.matrix, analysis.traffic.collectives)
        ]
        if most <= _GROUPS_MIN or max(np.count_nonzero(one.messages) for one in found) <= CELLS_MAX:
            return found[0], found[1]
        most //= 2


def _pack(name: str, matrix: Matrix, is_bytes: bool) -> tuple[bool, dict[str, str]]:
    """The cells that are not empty, in order, and their values."""
    values = (matrix.bytes if is_bytes else matrix.messages).reshape(-1)
    cells = np.flatnonzero(matrix.messages.reshape(-1))
    if not cells.size or not values.any():
        return False, {}
    amounts = np.rint(values[cells]).astype(np.int64)
    packed = {
        f"matrix_{name}_cell": pack_increasing(cells.astype(np.int64)),
        f"matrix_{name}_low": pack_u32(amounts & 0xFFFFFFFF),
    }
    if (amounts >> 32).any():
        packed[f"matrix_{name}_high"] = pack_u32(amounts >> 32)
    return True, packed


def _balance(analysis: Analysis) -> tuple[dict[str, Any] | None, dict[str, str]]:
    balance = analysis.traffic.balance
    if analysis.run.is_profile or len(balance.ranks) < 2 or not balance.computing_ns.any():
        return None, {}
    shares = waiting_shares(balance)
    each = group_size(len(balance.ranks), BALANCE_ROWS_MAX)
    rows = group_rows(shares, each)
    low = analysis.window_ns[0]
    data = {
        "ranks": list(balance.ranks),
        "each": each,
        "rows": rows.shape[0],
        "edges_ns": (balance.edges_ns - low).tolist(),
        "imbalance": np.round(balance.imbalance, 4).tolist(),
        "balancings_ns": (balancings(analysis.run)["time_ns"] - low).to_list(),
        "name": "in calls" if analysis.run.calls.height else "idle",
        "colours": [list(palette.WAITING), list(palette.WAITING_DARK)],
    }
    return data, {"balance_share": pack_u32(np.rint(_FINE * rows).reshape(-1))}
