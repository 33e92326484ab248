"""The report of a check as a file: JSON for programs, or a page that stands alone, without scripts or requests."""

import base64
import hashlib
import html
import json
from collections import Counter
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from string import Template

from dify_plugin_host._checks.report import GRADES, STAGES, Report, StageReport, describe
from dify_plugin_host._checks.result import CheckResult
from dify_plugin_packager.rules import Finding

from .check_table import KINDS


_FORMS = (".json", ".html")


def is_report_name(path: Path) -> bool:
    """Tell whether a file's name says in which form a report is written."""
    return path.suffix in _FORMS


def write_report(report: Report, path: Path) -> None:
    """Write a report, in the form that the file's name says; folders are made.

    Args:
        report: The report.
        path: The file; its name ends with `.json` or `.html`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    is_page = path.suffix == ".html"
    shown = _page(report) if is_page else json.dumps(report.to_json(), indent=2, ensure_ascii=False)
    path.write_text(f"{shown.rstrip()}\n", encoding="utf-8")


def _page(report: Report) -> str:
    folder = resources.files(__package__)
    style = (folder / "report.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    package = report.package
    count = len(report.stages) - len(report.not_checked)
    template = Template((folder / "report.html").read_text(encoding="utf-8"))
    return template.substitute(
        style=style,
        style_hash=f"sha256-{digest}",
        title=html.escape(package.label or package.file),
        grade=report.grade,
        meaning=GRADES[report.grade],
        extent=f"{count} of {len(report.stages)} stages were checked.",
        facts=_facts(report),
        stages="".join(map(_stage_row, report.stages)),
        details="".join(_stage_details(stage) for stage in report.stages if stage.checks),
        grades=_definitions(GRADES.items()),
    )


def _facts(report: Report) -> str:
    package = report.package
    facts = {
        "Identifier": package.identifier,
        "File": f"{package.file}, {package.size_bytes:,} bytes",
        "SHA-256 of the file": package.sha256,
        "Kinds": ", ".join(package.kinds),
        "Plugin SDK": package.sdk,
        "Oldest Dify": package.minimum_dify_version or "not stated",
        "Checked": f"{report.date:%Y-%m-%d %H:%M} UTC by dify-plugin-host {report.host_version}",
    }
    return _definitions((name, value) for name, value in facts.items() if value)


def _definitions(pairs: Iterable[tuple[str, str]]) -> str:
    return "".join(
        f"<dt>{html.escape(name)}</dt><dd>{html.escape(text)}</dd>" for name, text in pairs
    )


def _stage_row(stage: StageReport) -> str:
    about, absent = STAGES[stage.stage]
    counts = Counter(finding.kind for check in stage.checks for finding in check.findings)
    found = "; ".join(f"{text}: {counts[kind]}" for kind, text in KINDS.items() if counts[kind])
    grade = f'<span class="grade {stage.grade}">{stage.grade}</span>'
    if not stage.grade:
        grade, found = '<span class="none">-</span>', f"not checked: {absent}"
    return f'<tr><td>{grade}</td><th scope="row">{stage.stage}</th><td>{html.escape(about)}</td><td>{html.escape(found or "nothing")}</td></tr>'


def _stage_details(stage: StageReport) -> str:
    rows = [_check_row(check) for check in stage.checks if check.findings or check.note]
    # What has nothing to tell shares a row.
    for title, is_skipped in (("Nothing was found by", False), ("Not checked", True)):
        silent = [
            check.name
            for check in stage.checks
            if not (check.findings or check.note) and check.is_skipped is is_skipped
        ]
        rows += [_row(title, html.escape(", ".join(silent)))] if silent else []
    heading = '<thead><tr><th scope="col">Check</th><th scope="col">Findings</th></tr></thead>'
    title = stage.stage.capitalize()
    return f"<section><h2>{title}</h2><table><caption>{title}</caption>{heading}<tbody>{''.join(rows)}</tbody></table></section>"


def _check_row(check: CheckResult) -> str:
    if check.findings:
        return _row(check.name, f"<ul>{''.join(map(_item, check.findings))}</ul>")
    found = "not checked" if check.is_skipped else "nothing"
    return _row(check.name, f'{found}; <span class="soft">{html.escape(check.note)}</span>')


def _row(name: str, shown: str) -> str:
    return f'<tr><th scope="row">{html.escape(name)}</th><td>{shown}</td></tr>'


def _item(finding: Finding) -> str:
    parts = {key: html.escape(value) for key, value in describe(finding).items()}
    where = " ".join(f"<code>{parts[key]}</code>" for key in ("file", "field") if key in parts)
    kind = f'<span class="kind {finding.kind}">{KINDS[finding.kind]}</span>'
    return f"<li>{kind}: {f'{where}: ' if where else ''}{parts['text']}</li>"
