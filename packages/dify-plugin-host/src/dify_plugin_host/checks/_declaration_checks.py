"""Checks of what a package declares: its YAML files, and the files that they name."""

import ast
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import PurePosixPath

from dify_plugin_host._json import JsonObject, list_at, object_at
from dify_plugin_host.packaging import Contents

from ._manifest_rules import ManifestRules, iter_problems
from ._model_rules import ModelProviderRules, ModelRules
from ._strategy_rules import StrategyProviderRules, StrategyRules
from ._tool_rules import ToolProviderRules, ToolRules


_ICONS = ("icon_small", "icon_large", "icon_small_dark", "icon_large_dark")
_MODULE_DEPTH = 3
_HOST_PYTHON = (3, 12)  # what the daemon runs


def check_manifest(contents: Contents) -> Iterator[str]:
    """Check manifest.yaml."""
    yield from iter_problems(ManifestRules, contents.yaml("manifest.yaml"), "manifest.yaml")


def check_providers(contents: Contents) -> Iterator[str]:
    """Check the provider files."""
    for path, provider in contents.providers("models"):
        yield from iter_problems(ModelProviderRules, provider, path)
    for path, provider in contents.providers("agent_strategies"):
        yield from iter_problems(StrategyProviderRules, provider, path)
    for path, provider in contents.providers("tools"):
        yield from iter_problems(ToolProviderRules, provider, path)


def check_models(contents: Contents) -> Iterator[str]:
    """Check the predefined models, and the files that put them in order."""
    names: Counter[str] = Counter()
    for path, model in contents.models():
        yield from iter_problems(ModelRules, model, path)
        names[str(model.get("model"))] += 1
    yield from (f"the model {name!r} is declared {n} times" for name, n in names.items() if n > 1)
    for path, provider in contents.providers("models"):
        for kind, declared in object_at(provider, "models").items():
            yield from _check_group(contents, f"{path}: models.{kind}", declared, set(names))


def _check_group(
    contents: Contents, field: str, declared: JsonObject, names: set[str]
) -> Iterator[str]:
    for pattern in list_at(declared, "predefined"):
        if not contents.matching([pattern]):
            yield f"{field}: {pattern!r} matches no file"
    if position := declared.get("position"):
        yield from _check_position(contents, str(position), names)


def _check_position(contents: Contents, path: str, names: set[str]) -> Iterator[str]:
    order = contents.yaml(path)
    if not isinstance(order, list):
        yield f"{path}: expected a list of model names"
        return
    for name in order:  # pyright: ignore[reportUnknownVariableType] - decoded YAML
        if name not in names:
            yield f"{path}: {name!r} is no model of this package"


def check_strategies(contents: Contents) -> Iterator[str]:
    """Check the agent strategies."""
    names: Counter[str] = Counter()
    for path, strategy in contents.strategies():
        yield from iter_problems(StrategyRules, strategy, path)
        names[str(object_at(strategy, "identity").get("name"))] += 1
    for name, count in names.items():
        if count > 1:
            yield f"the strategy {name!r} is declared {count} times"


def check_tools(contents: Contents) -> Iterator[str]:
    """Check the tools."""
    names: Counter[str] = Counter()
    for path, tool in contents.tools():
        yield from iter_problems(ToolRules, tool, path)
        names[str(object_at(tool, "identity").get("name"))] += 1
    yield from (f"the tool {name!r} is declared {n} times" for name, n in names.items() if n > 1)


def check_icons(contents: Contents) -> Iterator[str]:
    """Check that every icon lies in _assets, a folder that the SDK needs in any case."""
    for field, icon in _icons(contents):
        if f"_assets/{icon}" not in contents.files:
            yield f"{field}: expected a file '_assets/{icon}'"


def _icons(contents: Contents) -> Iterator[tuple[str, str]]:
    for key in ("icon", "icon_dark"):
        if icon := contents.manifest.get(key):
            yield f"manifest.yaml: {key}", str(icon)
    for path, provider in contents.providers("models"):
        for key in _ICONS:
            for language, icon in object_at(provider, key).items():
                yield f"{path}: {key}.{language}", str(icon)
    for path, provider in (*contents.providers("agent_strategies"), *contents.providers("tools")):
        for key in ("icon", "icon_dark"):
            if icon := object_at(provider, "identity").get(key):
                yield f"{path}: identity.{key}", str(icon)


def check_permissions(contents: Contents) -> Iterator[str]:
    """Check that an agent strategy may call tools and models, and that Dify offers it all kinds of tools."""
    if not list_at(object_at(contents.manifest, "plugins"), "agent_strategies"):
        return
    permission = object_at(object_at(contents.manifest, "resource"), "permission")
    model = object_at(permission, "model")
    for name, given in (
        ("tool.enabled", object_at(permission, "tool").get("enabled")),
        ("model.enabled", model.get("enabled")),
        ("model.llm", model.get("llm")),
    ):
        if not given:
            yield f"manifest.yaml: resource.permission.{name}: expected true for an agent strategy"
    if object_at(contents.manifest, "meta").get("version") == "0.0.1":
        yield "manifest.yaml: meta.version: expected more than 0.0.1, with which Dify hides MCP tools"


def check_documents(contents: Contents) -> Iterator[str]:
    """Check that people find what the plugin is and what it keeps."""
    if "README.md" not in contents.files:
        yield "expected a file 'README.md'"
    privacy = contents.manifest.get("privacy")
    if privacy and "://" not in str(privacy) and str(privacy) not in contents.files:
        yield f"manifest.yaml: privacy: expected a file {privacy!r}"


def check_sources(contents: Contents) -> Iterator[str]:
    """Check that every Python source that something names is there, and that Python can read all of them."""
    for field, path in _named_sources(contents):
        if path not in contents.files:
            yield f"{field}: expected a file {path!r}"
    for path in contents.files:
        if path.endswith(".py"):
            try:
                ast.parse(contents.text(path), path, feature_version=_HOST_PYTHON)
            except SyntaxError as error:
                yield f"{path}: line {error.lineno}: {error.msg}"


def _named_sources(contents: Contents) -> Iterator[tuple[str, str]]:
    runner = object_at(object_at(contents.manifest, "meta"), "runner")
    entrypoint = str(runner.get("entrypoint")).replace(".", "/")
    yield "manifest.yaml: meta.runner.entrypoint", f"{entrypoint}.py"
    for path, provider in contents.providers("models"):
        python = _python(provider)
        yield f"{path}: extra.python.provider_source", str(python.get("provider_source"))
        for source in list_at(python, "model_sources"):
            yield f"{path}: extra.python.model_sources", str(source)
    others = (contents.providers("agent_strategies"), contents.providers("tools"))
    for path, declared in chain(*others, contents.strategies(), contents.tools()):
        if source := _python(declared).get("source"):
            yield f"{path}: extra.python.source", str(source)


def check_model_modules(contents: Contents) -> Iterator[str]:
    """Check that model sources lie deep enough: of a shorter module name the SDK makes an IndexError of every other error."""
    for path, provider in contents.providers("models"):
        for source in list_at(_python(provider), "model_sources"):
            if len(PurePosixPath(str(source)).parts) < _MODULE_DEPTH:
                yield f"{path}: extra.python.model_sources: expected {source!r} two folders deep or deeper"


def _python(declared: JsonObject) -> JsonObject:
    return object_at(object_at(declared, "extra"), "python")
