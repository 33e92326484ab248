"""The owner of a workspace's plugins: one table in its pyproject.toml, which every package is made with."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dify_plugin_packager._errors import PackageError
from dify_plugin_packager.json_access import object_at

from ._toml import read_toml


_MANIFEST = "manifest.yaml"
_YAML = (".yaml", ".yml")
_README = re.compile(r"README\.md|readme/README_\w+\.md")
_FIELDS = {"repo": "repository", "contact": "contact"}  # the manifest's keys, and the table's


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """The table `[tool.dify-plugins]` of a workspace; a field is empty if the table lacks it.

    Attributes:
        author: The plugins' author, by whom Dify knows them.
        repository: The URL of their source.
        contact: The email address for questions.
    """

    author: str = ""
    repository: str = ""
    contact: str = ""

    @classmethod
    def read(cls, root: Path) -> "Owner | None":
        """Read the table of a workspace; None if it has none.

        Raises:
            PackageError: If one of its values is not a text.
        """
        path = root / "pyproject.toml"
        tools = object_at(read_toml(path), "tool")
        if "dify-plugins" not in tools:
            return None
        table = object_at(tools, "dify-plugins")
        values = {key: table[key] for key in cls.__slots__ if key in table}
        for key, value in values.items():
            if not isinstance(value, str):
                raise PackageError(path, f"tool.dify-plugins.{key}: expected text, got {value!r}")
        return cls(**values)

    def write_into(
        self, folder: Path, files: Mapping[str, bytes], *, author: str
    ) -> dict[str, bytes]:
        """Return a plugin's files under another owner.

        These names stand in its manifest, this author in every declaration that named the manifest's, and the source in
        its READMEs.

        Args:
            folder: The plugin's folder, for the error.
            files: The files.
            author: The author that the manifest names now.

        Raises:
            PackageError: If the manifest has no line for its author.
        """
        # On a line of its own or in a mapping on one line, with quotation marks or without.
        pattern = rf"""((?:^|[{{,\s])author:\s*)(["']?){re.escape(author)}\2(?=\s*[,}}#]|\s*$)"""
        author_line = re.compile(pattern.encode(), re.MULTILINE)
        named = rb"\1" + json.dumps(self.author or author).encode()
        written = {
            path: author_line.sub(named, content) if path.endswith(_YAML) else content
            for path, content in files.items()
        }
        manifest = written[_MANIFEST].decode().rstrip("\n") + "\n"
        fields = {key: getattr(self, attribute) for key, attribute in _FIELDS.items()}
        given = {key: value for key, value in fields.items() if value}
        # Replaced as text and not as YAML, so that comments and order stay.
        for key in given:
            manifest = re.sub(rf"^{key}:.*\n", "", manifest, flags=re.MULTILINE)
        lines = "".join(f"{key}: {json.dumps(value)}\n" for key, value in given.items())
        manifest, count = re.subn(
            r"^author:.*\n", lambda found: found[0] + lines, manifest, flags=re.MULTILINE
        )
        if count != 1:
            raise PackageError(folder, f"{_MANIFEST}: expected a line 'author: {author}'")
        return {**written, _MANIFEST: manifest.encode(), **self._signed(files)}

    def _signed(self, files: Mapping[str, bytes]) -> dict[str, bytes]:
        """Return the READMEs that do not name the source, each with a line that does."""
        line = f"\nSource: <{self.repository}>\n".encode()
        return {
            path: content.rstrip() + b"\n" + line
            for path, content in files.items()
            if self.repository
            and _README.fullmatch(path)
            and self.repository.encode() not in content
        }


def find_unsaid(manifest: Mapping[str, object]) -> tuple[str, ...]:
    """Return the fields that a marketplace requires and a manifest lacks."""
    return tuple(field for field in _FIELDS if not manifest.get(field))
