# SPDX-License-Identifier: Apache-2.0
"""Notebooks as Markdown, with the output that is stored in them. Nothing is run."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from typing import Any

import markup


def page(notebook: str, store: Callable[[str, bytes], str]) -> str:
    """`notebook` is the file's text. `store(name, data)` keeps a picture, and returns the link to it."""
    content = json.loads(notebook)
    language = content.get("metadata", {}).get("language_info", {}).get("name", "python")
    parts = []
    for number, cell in enumerate(content["cells"]):
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(text)
        elif cell["cell_type"] == "code" and text.strip():
            parts.append(markup.fenced(text, language))
            for place, output in enumerate(cell.get("outputs", [])):
                parts.append(_output(output, lambda end, data, n=f"{number}-{place}": store(f"{n}.{end}", data)))
    return "\n\n".join(part for part in parts if part) + "\n"


def _output(output: dict[str, Any], store: Callable[[str, bytes], str]) -> str:
    if output["output_type"] == "stream":
        return markup.fenced("".join(output["text"]), "text")
    data = output.get("data", {})
    if "image/svg+xml" in data:
        return f"![output]({store('svg', ''.join(data['image/svg+xml']).encode())})"
    if "image/png" in data:
        return f"![output]({store('png', base64.b64decode(''.join(data['image/png'])))})"
    if "text/html" in data:
        # Scripts and styles of a notebook's page have no use here.
        html = re.sub(r"<(script|style)\b.*?</\1>", "", "".join(data["text/html"]), flags=re.DOTALL)
        html = re.sub(r"\n\s*\n", "\n", html)
        return f'<div class="output">{html}</div>'
    if "text/markdown" in data:
        return "".join(data["text/markdown"])
    if "text/plain" in data:
        return markup.fenced("".join(data["text/plain"]), "text")
    return markup.fenced("\n".join(output["traceback"]), "text") if output.get("traceback") else ""
