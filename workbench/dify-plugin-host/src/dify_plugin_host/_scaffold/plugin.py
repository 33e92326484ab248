"""A new plugin: the files that all have, and those of its kind.

A file of `templates/` is written under its own name; `$author` and its like in it are replaced. Python files and
pictures have none, so that they are what they look like.
"""

import re
import tomllib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from string import Template

from dify_plugin_packager.json_access import JsonObject
from dify_plugin_packager.yaml_documents import load_yaml

from .origin import host_requirement


_TEMPLATES = Path(__file__).parent / "templates"
_SDK = "dify-plugin>=0.10.1,<0.11"


def write_plugin(folder: Path, *, kind: str, name: str, author: str) -> tuple[Path, ...]:
    """Write a plugin, and return the paths of its files.

    Args:
        folder: The folder to write to, which is made if it is not there.
        kind: One of the tables in kinds.toml.
        name: The plugin's name, by the daemon's rules.
        author: Its author, by the rules of the daemon and the marketplace.
    """
    kinds = tomllib.loads(Path(__file__).with_name("kinds.toml").read_text(encoding="utf-8"))
    values = _values(kinds[kind], name=name, author=author)
    written: list[Path] = []
    for root in (_TEMPLATES / "common", _TEMPLATES / kind):
        for source in sorted(root.rglob("*")):
            # An installer compiles the Python files among them.
            if source.is_dir() or source.suffix == ".pyc":
                continue
            target = folder / source.relative_to(root)
            target.parent.mkdir(parents=True, exist_ok=True)
            text = Template(source.read_text(encoding="utf-8")).substitute(values)
            target.write_text(text, encoding="utf-8", newline="\n")
            written.append(target)
    return tuple(written)


def _values(kind: JsonObject, *, name: str, author: str) -> Mapping[str, str]:
    words = re.findall(r"[a-z0-9]+", name)
    return {
        **kind,
        "name": name,
        "title": " ".join(words).capitalize() or name,
        # Never that of the SDK or of another dependency.
        "project": "-".join([*words, "for-dify"]),
        "yaml_author": _yaml_text(author),
        "yaml_name": _yaml_text(name),
        "created_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "call": "\n| `dify-host call . {}` | {} |".format(*kind["call"]) if "call" in kind else "",
        "places": "\n".join(f"- `{place}`: {what}" for place, what in kind["places"].items()),
        "dependencies": '", "'.join((_SDK, *kind["dependencies"])),
        "host": host_requirement(),
    }


def _yaml_text(text: str) -> str:
    """Return a name in YAML: as it is, which other programs look for in a manifest, or in quotation marks if it would be a number."""
    return text if load_yaml(text) == text else f'"{text}"'
