"""The offers of a plugin, by kind and name."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dify_plugin_packager.declarations import PluginFolder, PluginKind
from dify_plugin_packager.json_access import JsonObject, is_object, list_at, object_at


# The key of a provider's YAML that holds its parts.
_PARTS: dict[PluginKind, str] = {
    "tools": "tools",
    "agent_strategies": "strategies",
    "endpoints": "endpoints",
    "datasources": "datasources",
    "triggers": "events",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """The offers of one provider of a plugin, of one kind.

    Attributes:
        kind: The kind.
        provider: The provider's short name; empty for endpoints, whose groups have none.
        names: The names of its models, tools, strategies, datasources or events; for endpoints method and path. Empty for a
            provider whose users name the models.
        model_type: The type of the models, such as `"text-embedding"`; empty for everything else.
    """

    kind: PluginKind
    provider: str
    names: tuple[str, ...]
    model_type: str = ""


def offers(folder: PluginFolder) -> Iterator[Offer]:
    """Yield the offers of a plugin.

    Raises:
        PluginFolderError: If a declaration cannot be read.
    """
    for declaration in folder.providers("models"):
        yield from _model_offers(folder, declaration)
    for kind, key in _PARTS.items():
        for declaration in folder.providers(kind):
            parts = parts_of(folder, declaration, key)
            yield Offer(
                kind=kind,
                provider=str(object_at(declaration, "identity").get("name") or ""),
                names=tuple(_name(part) for part in parts),
            )


def parts_of(folder: PluginFolder, declaration: JsonObject, key: str) -> list[JsonObject]:
    """Return the parts of a provider, each from a file of its own or from the provider's declaration.

    Raises:
        PluginFolderError: If a file cannot be read.
    """
    return [
        part if is_object(part) else folder.read_yaml(str(part))
        for part in list_at(declaration, key)
    ]


def model_files(folder: PluginFolder, declared: JsonObject) -> Iterator[JsonObject]:
    """Yield the contents of the predefined models' files of one type: those in the position file first, the others by name.

    Raises:
        PluginFolderError: If a file cannot be read.
    """
    found = {
        str(content.get("model")): content
        for content in map(folder.read_yaml, model_paths(folder, declared))
    }
    order = model_order(folder, declared) or ()
    first = [name for name in order if name in found]
    yield from (found[name] for name in [*first, *sorted(set(found).difference(first))])


def model_paths(folder: PluginFolder, declared: JsonObject) -> list[str]:
    """Return the paths of the predefined models' files of one type, in the order of a package."""
    patterns = list_at(declared, "predefined")
    found = {path for pattern in patterns for path in folder.path.glob(str(pattern))}
    # The patterns match the position file as well, whose name begins so.
    models = sorted(path for path in found if not path.name.startswith("_"))
    return [path.relative_to(folder.path).as_posix() for path in models]


def model_order(folder: PluginFolder, declared: JsonObject) -> list[str] | None:
    """Return the models in the position file of one type; None if it has none.

    Raises:
        PluginFolderError: If the file cannot be read.
    """
    position = declared.get("position")
    return folder.read_names(str(position)) if position else None


def _model_offers(folder: PluginFolder, declaration: JsonObject) -> Iterator[Offer]:
    provider = str(declaration.get("provider") or "")
    named: dict[str, list[str]] = {
        str(kind): [] for kind in list_at(declaration, "supported_model_types")
    }
    for declared in object_at(declaration, "models").values():
        for content in model_files(folder, declared if is_object(declared) else {}):
            kind = str(content.get("model_type") or "llm")
            named.setdefault(kind, []).append(str(content.get("model")))
    for model_type, names in named.items():
        yield Offer(kind="models", provider=provider, names=tuple(names), model_type=model_type)


def _name(part: JsonObject) -> str:
    name: Any = object_at(part, "identity").get("name")
    return str(name or f"{part.get('method')} {part.get('path')}")
