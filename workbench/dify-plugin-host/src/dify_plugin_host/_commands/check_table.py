"""The results of `dify-host check`: as a table for people, or line by line for programs."""

import dataclasses
import json
from collections import Counter
from collections.abc import Iterable
from typing import TextIO

from rich.console import Console
from rich.table import Table

from dify_plugin_host._checks.result import CheckResult
from dify_plugin_packager.commands import escape_hidden
from dify_plugin_packager.rules import Finding


KINDS = {
    "refused": "the platform refuses",
    "broken": "would break when used",
    "rejected": "the marketplace refuses",
    "advice": "we advise",
}


def show_results(results: Iterable[CheckResult], out: TextIO, *, as_json: bool) -> Counter[str]:
    """Show the results of checks; return the number of findings of each kind."""
    counts: Counter[str] = Counter()
    table = Table("", "check", "", box=None, pad_edge=False)
    for result in results:
        counts.update(finding.kind for finding in result.findings)
        if as_json:
            line = json.dumps(dataclasses.asdict(result), ensure_ascii=False)
            # Names of files and values of a package are a stranger's.
            is_seen = escape_hidden(line) == line
            out.write((line if is_seen else json.dumps(dataclasses.asdict(result))) + "\n")
            out.flush()
        else:
            shown = "\n".join(map(_sentence, result.findings))
            table.add_row(_mark(result), result.name, escape_hidden(shown or result.note))
    if not as_json:
        console = Console(file=out)
        console.print(table, markup=False)
        if counts:
            counted = (f"{text}: {counts[kind]}" for kind, text in KINDS.items() if counts[kind])
            console.print(f"\n{'; '.join(counted)}", markup=False, highlight=False)
    return counts


def _sentence(finding: Finding) -> str:
    return f"{KINDS[finding.kind]}: {finding.text}"


def _mark(result: CheckResult) -> str:
    if result.is_skipped:
        return "-"
    kinds = {finding.kind for finding in result.findings}
    if kinds - {"advice"}:
        return "✗"
    return "!" if kinds else "✓"
