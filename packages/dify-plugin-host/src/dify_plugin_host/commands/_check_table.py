"""The findings of `dify-host check` as a table."""

from collections.abc import Iterable

from rich.console import Console
from rich.table import Table

from dify_plugin_host.checks import CheckResult


def show_results(results: Iterable[CheckResult], console: Console) -> bool:
    """Show a table of checks; return whether all went well."""
    table = Table("", "check", "", box=None, pad_edge=False)
    is_good = True
    for result in results:
        is_good = is_good and not result.problems and not result.is_skipped
        table.add_row(_mark(result), result.name, "\n".join(result.problems) or result.note)
    console.print(table, markup=False)
    return is_good


def _mark(result: CheckResult) -> str:
    if result.is_skipped:
        return "-"
    return "✗" if result.problems else "✓"
