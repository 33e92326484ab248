"""What a release says: the notes, which are the changelog's section, and for a plugin the pull request to Dify's marketplace.

Run as `submission.py notes FOLDER` it prints the notes of the version that stands in the changelog; as `submission.py fill FOLDER PACKAGE OUT
[--update]` it fills a folder with the pull request: the package at `author/name/`, `title.txt` and `body.md`.

Source: the pull request template and the submission requirements of https://github.com/langgenius/dify-plugins, read 2026-11:
one package in one pull request, whose section "What changed" becomes the version's changelog.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import yaml


_SECTION = re.compile(
    r"^## (?P<title>\S+)[^\n]*\n(?P<entry>.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL
)
_RISKS = ("low", "medium", "high")


def read_notes(changelog: Path, version: str) -> str:
    """Return what a changelog says of a version.

    Raises:
        ValueError: If it has no section for it.
    """
    for section in _SECTION.finditer(changelog.read_text(encoding="utf-8")):
        if section["title"].strip("[]") == version:
            return section["entry"].strip() + "\n"
    raise ValueError(f"{changelog}: expected a section '## {version}'")


def fill_submission(folder: Path, package: Path, out: Path, *, is_update: bool) -> str:
    """Write the pull request for a plugin's package; return what still stands in its way, or nothing.

    Args:
        folder: The plugin's folder, with its changelog and, in its pyproject.toml, `[tool.marketplace]`.
        package: The package.
        out: The folder to fill.
        is_update: Whether an earlier version was submitted.

    Raises:
        ValueError: If the changelog has no section for the version, or `[tool.marketplace]` does not say what is asked for.
    """
    with zipfile.ZipFile(package) as archive:
        manifest = yaml.safe_load(archive.read("manifest.yaml"))
    author, name, version = (str(manifest[key]) for key in ("author", "name", "version"))
    declared, notes = _declared(folder), read_notes(folder / "CHANGELOG.md", version)
    refusals = _refusals(package)
    body = _body(manifest, declared, notes=notes, refusals=refusals, is_update=is_update)
    (out / author / name).mkdir(parents=True)
    shutil.copy(package, out / author / name / f"{name}-{version}.difypkg")
    (out / "title.txt").write_text(f"{author}/{name} {version}\n", encoding="utf-8")
    (out / "body.md").write_text(body, encoding="utf-8")
    return "; ".join(refusals)


def _declared(folder: Path) -> dict[str, str]:
    """Read what a plugin's maintainers declare to the marketplace's reviewers."""
    path = folder / "pyproject.toml"
    table = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {}).get("marketplace", {})
    if table.get("risk") not in _RISKS or not table.get("security"):
        expected = f"risk, one of {', '.join(_RISKS)}, and security, some sentences"
        raise ValueError(f"{path}: tool.marketplace: expected {expected}")
    return table


def _refusals(package: Path) -> list[str]:
    """Return why the platform or the marketplace would refuse a package."""
    checked = subprocess.run(
        ["uv", "run", "--quiet", "dify-host", "check", "--marketplace", "--quick", "--json", str(package)],
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    results = [json.loads(line) for line in checked.stdout.splitlines()]
    if not results:
        raise ValueError(f"dify-host check failed: {checked.stderr.strip()}")
    found = [finding for result in results for finding in result["findings"]]
    return [finding["text"] for finding in found if finding["kind"] != "advice"]


def _body(
    manifest: dict[str, Any],
    declared: dict[str, str],
    *,
    notes: str,
    refusals: list[str],
    is_update: bool,
) -> str:
    """Return the pull request's text, with the sections of the marketplace's template.

    What was checked is ticked; what only a person can say is left open.
    """
    checked = "x" if not refusals else " "
    parts = {
        "Plugin information": [
            f"- **Author**: {manifest['author']}",
            f"- **Plugin name**: {manifest['name']}",
            f"- **Version**: {manifest['version']}",
            f"- **Source repository**: {manifest.get('repo', '')}",
            f"- **Contact**: {manifest.get('contact', '')}",
        ],
        "Submission type": [
            _box("New plugin", not is_update),
            _box("Version update", is_update),
        ],
        "What changed": [notes.strip()],
        "Risk level": [
            _box(f"{risk.capitalize()} risk", risk == declared["risk"]) for risk in _RISKS
        ],
        "Required checks": [
            f"- [{checked}] Contents, secrets, README, privacy policy, dependencies and English texts: `dify-host check --marketplace`",
            "- [ ] Submission requirements and Plugin Developer Agreement: read and followed",
            "- [ ] Tried on Dify Community Edition and on Dify Cloud",
        ],
        "Security and privacy notes": [declared["security"].strip()],
        "Local validation": [
            "```text",
            f"dify-host check --marketplace {manifest['name']}-{manifest['version']}.difypkg",
            *(refusals or ["nothing refused"]),
            "```",
        ],
        "Reviewer notes": [declared.get("reviewers", "None.").strip()],
    }
    sections = [f"## {title}\n\n{'\n'.join(lines)}\n" for title, lines in parts.items()]
    return "\n".join(["# Plugin submission\n", *sections])


def _box(text: str, is_ticked: bool) -> str:  # noqa: FBT001 - a box is ticked or not
    return f"- [{'x' if is_ticked else ' '}] {text}"


def main() -> int:
    """Do what the command line asks; 1 if something is missing."""
    parser = argparse.ArgumentParser(prog="submission", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    notes = commands.add_parser("notes")
    fill = commands.add_parser("fill")
    for command in (notes, fill):
        command.add_argument("folder", type=Path, help="packages/NAME or plugins/NAME")
    fill.add_argument("package", type=Path)
    fill.add_argument("out", type=Path)
    fill.add_argument("--update", action="store_true", help="an earlier version was submitted")
    options = parser.parse_args()
    try:
        if options.command == "notes":
            project = tomllib.loads((options.folder / "pyproject.toml").read_text(encoding="utf-8"))
            version = project["project"]["version"]
            sys.stdout.write(read_notes(options.folder / "CHANGELOG.md", version))
            return 0
        refused = fill_submission(
            options.folder, options.package, options.out, is_update=options.update
        )
    except (OSError, ValueError) as error:
        print(f"not filled: {error}", file=sys.stderr)  # noqa: T201 - the answer
        return 1
    if refused:
        print(f"the marketplace would refuse it: {refused}", file=sys.stderr)  # noqa: T201 - the answer
    return 0


if __name__ == "__main__":
    sys.exit(main())
