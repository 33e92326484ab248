"""A program that loads a plugin's declarations with the plugin SDK's own loader and prints its errors as JSON.

It runs in the plugin's folder, with the Python of the plugin's environment, where none of our packages is installed, so it uses only the
standard library.

Source: `core/plugin_registration.py` of dify-plugin 0.10.2, read 2026-11.
"""

import importlib
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any


type _Loaded = list[tuple[str, Any]]
"""The path and the content of each YAML file that the SDK has read, in order."""


class DeclarationLoader:  # pragma: no cover - runs in the plugin's environment
    """The SDK's loader, with a record of the files that it reads, because its errors do not name them.

    Args:
        folder: The plugin's folder, which is the current one.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._loaded: _Loaded = []

    def find_problems(self) -> list[str] | None:
        """Return the SDK's problems with the declarations, a sentence for each field; None if there is no SDK."""
        try:
            registration = importlib.import_module("dify_plugin.core.plugin_registration")
            base: Any = registration.PluginRegistration
        except Exception:  # noqa: BLE001 - whatever it is, starting the plugin will show it
            return None
        # Starting the plugin loads its code and reads its assets; here they are skipped.
        skipped = {"_resolve_plugin_cls": _pass_over, "_load_plugin_assets": _pass_over}
        yaml: Any = importlib.import_module("yaml")
        original, yaml.safe_load = yaml.safe_load, self._watched(yaml.safe_load)
        try:
            type("Loader", (base,), skipped)(None)
        except Exception as error:  # noqa: BLE001 - each kind of file is refused in its own way
            return list(self._iter_sentences(error))
        finally:
            yaml.safe_load = original
        return []

    def _watched(self, load: Any) -> Any:
        def watched(stream: Any) -> Any:
            path = Path(stream.name)
            name = str(path.relative_to(self._folder) if path.is_absolute() else path)
            self._loaded.append((name, None))  # first, as it may be the unreadable one
            self._loaded[-1] = name, load(stream)
            return self._loaded[-1][1]

        return watched

    def _iter_sentences(self, error: Any, file: str = "") -> Iterator[str]:
        """Yield the sentences for an error in `file`, or in a file that has to be found."""
        last = self._loaded[-1][0] if self._loaded else "manifest.yaml"
        if not hasattr(error, "errors"):
            if error.__cause__:
                yield from self._iter_sentences(error.__cause__, file)
            else:
                text = " ".join(str(error).replace(f"{self._folder}/", "").split())
                is_missing = isinstance(error, KeyError)
                yield f"{last}: {text}{': Field required' if is_missing else ''}"
            return
        for each in error.errors(include_url=False):
            inner = each.get("ctx", {}).get("error")
            if getattr(inner, "__cause__", None):
                yield from self._iter_sentences(inner, last)
                continue
            field = ".".join(map(str, each["loc"]))
            text = each["msg"].removeprefix("Value error, ")
            is_plain = each["type"] in {"missing", "value_error"}
            got = "" if is_plain else f", got {each['input']!r:.80}"
            path = file or self._find_file(each["loc"], each["input"])
            yield f"{path}: {field!r}: {text}{got}" if field else f"{path}: {text}{got}"

    def _find_file(self, field: Sequence[Any], value: Any) -> str:
        """Return the latest file with this value in this field, else the last one that the manifest names."""
        for path, content in reversed(self._loaded):
            if _has(content, field, value):
                return path
        named = repr(self._loaded[0][1])  # the content of the manifest, which names the other files
        found = [path for path, _ in self._loaded if repr(path) in named]
        return found[-1] if found else "manifest.yaml"


def _pass_over(_: object) -> None:  # pragma: no cover - as above
    """Do nothing, in place of a method of the loader."""


def _has(content: Any, field: Sequence[Any], value: Any) -> bool:  # pragma: no cover - as above
    """Tell whether a value is a field's value or key, or, as in an error about a missing field, the value of a parent."""
    for step in field:
        if value in (content, step):
            return True
        try:
            content = content[step]
        except (LookupError, TypeError):
            return False
    return content == value


if __name__ == "__main__":  # pragma: no cover - as above
    sys.stdout.write(json.dumps(DeclarationLoader(Path.cwd()).find_problems()))
