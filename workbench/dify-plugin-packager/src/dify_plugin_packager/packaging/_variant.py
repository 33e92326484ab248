"""A variant of a plugin: the same plugin with some declarations changed, as its pyproject.toml describes it.

    [tool.dify-host.variants.polling."manifest.yaml"]
    name = "echo_polling"
    meta = { minimum_dify_version = "1.15.0" }

    [tool.dify-host.variants.polling."models/llm/*.yaml"]
    features = ["polling"]

Each key is a YAML file of the plugin, or a pattern of such files. Of the values under it, mappings are merged, lists
are appended, and everything else replaces the value in the file.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml

from dify_plugin_packager._errors import PackageError
from dify_plugin_packager.json_access import JsonObject, is_list, is_object, object_at

from ._contents import ContentError, Contents
from ._toml import read_settings


def with_variant(folders: Sequence[Path], name: str) -> list[Path]:
    """Return the plugin folders that have a variant.

    Raises:
        PackageError: If none of them has it, or a pyproject.toml cannot be read.
    """
    found = [folder for folder in folders if name in _variants(folder)]
    if not found:
        known = sorted({known for folder in folders for known in _variants(folder)})
        raise PackageError(folders[0].parent, _unknown(name, known))
    return found


def read_variant(folder: Path, name: str) -> Mapping[str, JsonObject]:
    """Read the changes of a variant, by file or pattern of files.

    Args:
        folder: The plugin's folder.
        name: The variant's name.

    Raises:
        PackageError: If the plugin has none of this name, or its description is not a table for each file.
    """
    variants = _variants(folder)
    if name not in variants:
        raise PackageError(folder, _unknown(name, sorted(variants)))
    changes = variants[name]
    if not is_object(changes) or not all(map(is_object, changes.values())):
        problem = f"tool.dify-host.variants.{name}: expected a table for each file that it changes"
        raise PackageError(folder / "pyproject.toml", problem)
    return changes


def apply_variant(
    folder: Path, files: Mapping[str, bytes], changes: Mapping[str, JsonObject]
) -> dict[str, bytes]:
    """Return a plugin's files with the changes of a variant; position files stay as they are.

    Args:
        folder: The plugin's folder.
        files: The content of each file, by its path.
        changes: The changes, by file or pattern of files.

    Raises:
        PackageError: If a pattern matches no file, a file does not hold a mapping, or a value is of another kind than the present one.
    """
    changed = dict(files)
    for pattern, wanted in changes.items():
        try:
            paths = Contents(changed).matching(pattern)
            contents = {path: Contents(changed).mapping(path) for path in paths}
        except ContentError as error:
            raise PackageError(folder, f"variant: {error}") from None
        if not paths:
            raise PackageError(folder, f"variant: expected a file that {pattern!r} matches")
        for path, content in contents.items():
            merged = _merged(content, wanted, at=path, folder=folder)
            text = yaml.safe_dump(merged, sort_keys=False, allow_unicode=True, width=120)
            changed[path] = text.encode()
    return changed


def _variants(folder: Path) -> JsonObject:
    return object_at(read_settings(folder), "variants")


def _unknown(name: str, known: Sequence[str]) -> str:
    expected = f"expected one of: {', '.join(known)}" if known else "none is described"
    return (
        f"there is no variant {name!r} in [tool.dify-host.variants] of pyproject.toml; {expected}"
    )


def _merged(value: JsonObject, wanted: JsonObject, *, at: str, folder: Path) -> JsonObject:
    merged = dict(value)
    for key, new in wanted.items():
        old, where = merged.get(key), f"{at}: {key}"
        if old is not None and _kind(old) != _kind(new):
            problem = f"variant: {where}: expected {_kind(old)}, got {_kind(new)}"
            raise PackageError(folder, problem)
        if is_object(old):
            merged[key] = _merged(old, new, at=where, folder=folder)
        else:
            merged[key] = [*(old or ()), *new] if is_list(new) else new
    return merged


def _kind(value: object) -> str:
    if is_object(value):
        return "a table"
    return "a list" if isinstance(value, list) else "a value"
