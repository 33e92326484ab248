"""The content of a package for the checks: decoded YAML and TOML, by the path in the archive."""

import re
import tomllib
from collections.abc import Callable, Mapping
from typing import Any

from dify_plugin_packager._errors import DifyPluginError
from dify_plugin_packager.json_access import JsonObject, is_object
from dify_plugin_packager.yaml_documents import load_yaml


class ContentError(DifyPluginError):
    """A file of a package that cannot be read."""


class Contents:
    """The files of a package, each decoded once, on first use.

    Args:
        files: The content of each file, by its path.
    """

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = files
        self._decoded: dict[str, Any] = {}  # Several rules look at the same file.

    @property
    def manifest(self) -> JsonObject:
        """The content of manifest.yaml."""
        return self.mapping("manifest.yaml")

    @property
    def wheels(self) -> list[str]:
        """The paths of the bundled wheels."""
        return [path for path in self.files if path.endswith(".whl")]

    def matching(self, pattern: str) -> list[str]:
        """Return the paths that a pattern of models matches, without position files.

        Raises:
            ContentError: If it is not a pattern.
        """
        matches = compile_pattern(pattern).fullmatch
        return [
            path for path in self.files if matches(path) and not path.endswith("_position.yaml")
        ]

    def text(self, path: str) -> str:
        """Return the text of a file.

        Raises:
            ContentError: If it is missing or not UTF-8.
        """
        if path not in self.files:
            raise ContentError(f"expected a file {path!r}")
        try:
            return self.files[path].decode()
        except UnicodeDecodeError:
            raise ContentError(f"{path}: expected UTF-8 text") from None

    def any_text(self, path: str) -> str:
        """Return the text of a file, with U+FFFD for bytes that are not UTF-8; an empty text if it is missing."""
        return self.files.get(path, b"").decode(errors="replace")

    def yaml(self, path: str) -> Any:
        """Return the content of a YAML file.

        Raises:
            ContentError: If it cannot be read.
        """
        return self._decode(path, "YAML", load_yaml)

    def mapping(self, path: str) -> JsonObject:
        """Return the mapping that a YAML file holds.

        Raises:
            ContentError: If it cannot be read or does not hold a mapping.
        """
        content = self.yaml(path)
        if not is_object(content):
            raise ContentError(f"{path}: expected a mapping")
        return content

    def toml(self, path: str) -> JsonObject:
        """Return the content of a TOML file.

        Raises:
            ContentError: If it cannot be read.
        """
        return self._decode(path, "TOML", tomllib.loads)

    def any_toml(self, path: str) -> JsonObject:
        """Return the content of a TOML file; an empty table if it is missing or cannot be read."""
        try:
            return self.toml(path)
        except ContentError:
            return {}

    def _decode(self, path: str, language: str, load: Callable[[str], Any]) -> Any:
        if path not in self._decoded:
            try:
                self._decoded[path] = load(self.text(path))
            # Also for a number of more digits than Python reads.
            except ValueError as error:
                raise ContentError(f"{path}: expected {language}: {error}") from None
            except RecursionError:
                problem = f"expected {language} that is not nested so deeply"
                raise ContentError(f"{path}: {problem}") from None
        return self._decoded[path]


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Return a file pattern with the meaning of the daemon's globbing: a star matches no slash.

    Source: https://pkg.go.dev/path/filepath#Match, with which the daemon looks for models.

    Raises:
        ContentError: If it is not a pattern.
    """
    parts = [_translate(match) for match in _PATTERN_TOKEN.finditer(pattern)]
    try:
        return re.compile("".join(parts), re.DOTALL)
    except re.error:
        raise ContentError(f"expected a pattern of files, got {pattern!r}") from None


_PATTERN_TOKEN = re.compile(r"\*|\?|\[\^?(?:\\.|[^\\\]])+\]|\\.|.", re.DOTALL)


def _translate(token: re.Match[str]) -> str:
    match token[0]:
        case "*":
            return "[^/]*"
        case "?":
            return "[^/]"
        case "[" | "\\":
            return "("  # Invalid alone in a pattern, and so is this in a regular expression.
        case found if found[0] == "[":
            return found.replace("[", "\\[").replace("\\[", "[", 1)
        case found:
            return re.escape(found[-1])
