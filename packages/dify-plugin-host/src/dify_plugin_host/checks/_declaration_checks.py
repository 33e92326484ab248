"""Checks of what a package declares: what the daemon refuses, what the plugin SDK cannot load, and what comes to nothing."""

import ast
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from pydantic import BaseModel

from dify_plugin_host._json import JsonObject, is_object, list_at, object_at
from dify_plugin_host.packaging import ContentError, Contents

from ._capability_rules import (
    EndpointProviderRules,
    EndpointRules,
    StrategyProviderRules,
    StrategyRules,
    ToolProviderRules,
    ToolRules,
)
from ._dify_rules import check_use, iter_needs
from ._finding import Finding, findings
from ._manifest_rules import ManifestRules, PackagerRules, iter_problems
from ._model_rules import ModelProviderRules, ModelRules, PositionRules
from ._oddities import iter_oddities
from ._upload import Declared, Stage, Upload


_RULES: dict[tuple[str, str], type[BaseModel]] = {
    ("models", "provider"): ModelProviderRules,
    ("models", "model"): ModelRules,
    ("models", "position"): PositionRules,
    ("tools", "provider"): ToolProviderRules,
    ("tools", "item"): ToolRules,
    ("agent_strategies", "provider"): StrategyProviderRules,
    ("agent_strategies", "item"): StrategyRules,
    ("endpoints", "provider"): EndpointProviderRules,
    ("endpoints", "item"): EndpointRules,
}
_MODULE_DEPTH = 3
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_HOST_PYTHON = (3, 12)  # what the daemon runs


class Declarations:
    """The declarations of a package, to be checked.

    Args:
        contents: The package.
    """

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self.upload = Upload(contents)

    def _refused(self, stage: Stage) -> Iterator[Finding]:
        return findings("refused", self.upload.problems.get(stage, ()))

    def _loaded(self, declared: Declared) -> JsonObject:
        """Return what the SDK makes of a file; nothing if it cannot read it."""
        try:
            value = self._contents.yaml(declared.path)
        except ContentError:
            return {}
        return value if is_object(value) else {}

    def _of(self, *roles: str) -> Iterator[tuple[Declared, JsonObject]]:
        return ((one, self._loaded(one)) for one in self.upload.declared if one.role in roles)

    def _broken(self, rules: type[BaseModel] | None, path: str) -> Iterator[Finding]:
        """Iterate over what the SDK says of a file."""
        try:
            value = self._contents.yaml(path)
        except ContentError as error:
            yield Finding("broken", str(error))
            return
        if rules:
            yield from findings("broken", iter_problems(rules, value, path))

    def _odd(self, path: str, content: JsonObject) -> Iterator[Finding]:
        return findings("advice", (f"{path}: {oddity}" for oddity in iter_oddities(content)))

    def check_manifest(self) -> Iterator[Finding]:
        """Check manifest.yaml."""
        path = "manifest.yaml"
        yield from self._refused("manifest.yaml")
        if self.upload.manifest is None:
            return
        broken = list(self._broken(ManifestRules, path))
        yield from broken
        yield from check_use(("manifest", ""), path, self.upload.manifest)
        named = {finding.text.partition(": ")[2].partition(": ")[0] for finding in broken}
        for problem in iter_problems(PackagerRules, _without_null(self.upload.manifest), path):
            if problem.partition(": ")[2].partition(": ")[0] not in named:
                yield Finding("advice", f"{problem} (Dify's own packager refuses it)")
        for kind, paths in object_at(self.upload.manifest, "plugins").items():
            if len(paths or ()) > 1:
                yield Finding("advice", f"{path}: 'plugins.{kind}': of several the last one counts")

    def check_identifier(self) -> Iterator[Finding]:
        """Check the unique identifier."""
        return self._refused("unique identifier")

    def check_providers(self) -> Iterator[Finding]:
        """Check the provider files."""
        yield from self._refused("providers")
        for declared, provider in self._of("provider"):
            yield from self._broken(_RULES.get((declared.kind, "provider")), declared.path)
            yield from self._odd(declared.path, provider)
            yield from check_use((declared.kind, declared.role), declared.path, provider)
            if declared.kind == "models":
                yield from findings("advice", self._iter_unmatched(declared.path, provider))
            if declared.kind == "agent_strategies":
                yield from self._check_icon_in_logs(declared.path, provider)

    def _check_icon_in_logs(self, path: str, provider: JsonObject) -> Iterator[Finding]:
        """Check that Dify, which looks for an agent strategy's icon by its plugin's name, finds it."""
        expected = (self.upload.manifest or {}).get("name")
        if object_at(provider, "identity").get("name") != expected:
            text = f"expected {expected!r}, the plugin's name, or Dify shows no icon of it in a run"
            yield Finding("advice", f"{path}: 'identity.name': {text}")

    def _iter_unmatched(self, path: str, provider: JsonObject) -> Iterator[str]:
        for kind, group in object_at(provider, "models").items():
            for pattern in list_at(group, "predefined") if is_object(group) else ():
                if not self._matches(str(pattern)):
                    yield f"{path}: 'models.{kind}': {pattern!r} matches no file"

    def _matches(self, pattern: str) -> bool:
        try:
            return bool(self._contents.matching(pattern))
        except ContentError:
            return True  # The daemon has refused it already.

    def check_declared(self) -> Iterator[Finding]:
        """Check models, tools, strategies and what else a provider names."""
        yield from self._refused("declarations")
        for declared, content in self._of("item", "model", "position"):
            yield from self._broken(_RULES.get((declared.kind, declared.role)), declared.path)
            yield from self._odd(declared.path, content)
            yield from check_use((declared.kind, declared.role), declared.path, content)
        yield from findings("advice", self._iter_twins())
        yield from findings("advice", self._iter_unknown_positions())
        yield from self._check_versions()

    def _check_versions(self) -> Iterator[Finding]:
        """Check that only such versions of Dify install the package as know what it declares: to others it hides what all plugins declare of the kind."""
        version = object_at(self.upload.manifest or {}, "meta").get("minimum_dify_version")
        told = _VERSION.match(str(version or ""))
        needs = [
            (need, declared.path)
            for declared, content in self._of("item", "model")
            for need in iter_needs(content)
        ]
        (first, does), path = max(needs, default=(((), ""), ""))
        if first > (tuple(map(int, told.groups())) if told else ()):
            text = f"expected at least {'.'.join(map(str, first))}, the first version of Dify that {does}, as {path} declares; got {version!r}"
            yield Finding("broken", f"manifest.yaml: 'meta.minimum_dify_version': {text}")

    def _iter_twins(self) -> Iterator[str]:
        names: Counter[tuple[str, str]] = Counter()
        for declared, content in self._of("item", "model"):
            name = content.get("model") or object_at(content, "identity").get("name")
            names[declared.kind, str(name)] += bool(name)
        for kind, name in (name for name, count in names.items() if count > 1):
            yield f"{name!r} is declared more than once in {kind}"

    def _iter_unknown_positions(self) -> Iterator[str]:
        models = {str(content.get("model")) for _, content in self._of("model")}
        for declared in self.upload.declared:
            if declared.role == "position":
                for name in _items(self._contents, declared.path):
                    if name not in models:
                        yield f"{declared.path}: {name!r} is no model of this package"

    def check_icons(self) -> Iterator[Finding]:
        """Check that every icon lies in _assets, a folder that the SDK needs in any case."""
        yield from self._refused("icons")
        if not any(path.startswith("_assets/") for path in self._contents.files):
            yield Finding("broken", "expected a folder '_assets', which every plugin reads")

    def check_permissions(self) -> Iterator[Finding]:
        """Check that an agent strategy may call tools and models, and that Dify offers it all kinds of tools."""
        manifest = self.upload.manifest or {}
        if not list_at(object_at(manifest, "plugins"), "agent_strategies"):
            return
        permission = object_at(object_at(manifest, "resource"), "permission")
        model = object_at(permission, "model")
        for name, given in (
            ("tool.enabled", object_at(permission, "tool").get("enabled")),
            ("model.enabled", model.get("enabled")),
            ("model.llm", model.get("llm")),
        ):
            if not given:
                where = f"manifest.yaml: 'resource.permission.{name}'"
                yield Finding("advice", f"{where}: expected true for an agent strategy")
        if object_at(manifest, "meta").get("version") == "0.0.1":
            expected = "expected more than 0.0.1, with which Dify hides MCP tools"
            yield Finding("advice", f"manifest.yaml: 'meta.version': {expected}")

    def check_documents(self) -> Iterator[Finding]:
        """Check that people find what the plugin is and what it keeps."""
        if "README.md" not in self._contents.files:
            yield Finding("advice", "expected a file 'README.md'")
        privacy = (self.upload.manifest or {}).get("privacy")
        if (
            privacy
            and "://" not in privacy
            and privacy.removeprefix("./") not in self._contents.files
        ):
            yield Finding("advice", f"manifest.yaml: 'privacy': expected a file {privacy!r}")

    def check_sources(self) -> Iterator[Finding]:
        """Check that every Python source that something names is there, and that Python can read all of them."""
        named = list(self._iter_named_sources())
        for field, path in named:
            if path not in self._contents.files:
                yield Finding("broken", f"{field}: expected a file {path!r}")
        loaded = {path for _, path in named}
        for path in self._contents.files:
            if path.endswith(".py") and (problem := _syntax_problem(self._contents, path)):
                yield Finding("broken" if path in loaded else "advice", problem)

    def _iter_named_sources(self) -> Iterator[tuple[str, str]]:
        runner = object_at(object_at(self.upload.manifest or {}, "meta"), "runner")
        module = str(runner.get("entrypoint") or "").replace(".", "/")
        as_package = f"{module}/__main__.py"
        path = as_package if as_package in self._contents.files else f"{module}.py"
        yield "manifest.yaml: 'meta.runner.entrypoint'", path
        for declared, content in self._of("provider", "item"):
            # The SDK loads no class of an agent strategy's provider.
            if (declared.kind, declared.role) == ("agent_strategies", "provider"):
                continue
            python = object_at(object_at(content, "extra"), "python")
            for key in ("source", "provider_source", "model_sources"):
                for source in list_at(python, key) or filter(None, [python.get(key)]):
                    path = PurePosixPath(str(source)).as_posix()
                    yield f"{declared.path}: 'extra.python.{key}'", path

    def check_model_modules(self) -> Iterator[Finding]:
        """Check that model sources lie deep enough: of a shorter module name the SDK makes an IndexError of every other error."""
        for declared, provider in self._of("provider"):
            python = object_at(object_at(provider, "extra"), "python")
            for source in list_at(python, "model_sources"):
                if len(PurePosixPath(str(source)).parts) < _MODULE_DEPTH:
                    where = f"{declared.path}: 'extra.python.model_sources'"
                    expected = f"expected {source!r} two folders deep or deeper"
                    yield Finding("advice", f"{where}: {expected}, or errors lose what they say")


def _items(contents: Contents, path: str) -> list[Any]:
    try:
        return list_at({"names": contents.yaml(path)}, "names")
    except ContentError:
        return []


def _without_null(value: Any) -> Any:
    if is_object(value):
        return {key: _without_null(item) for key, item in value.items() if item is not None}
    return value


def _syntax_problem(contents: Contents, path: str) -> str | None:
    try:
        with warnings.catch_warnings(action="ignore"):  # of no consequence to the platform
            ast.parse(contents.files[path], path, feature_version=_HOST_PYTHON)
    except SyntaxError as error:
        return f"{path}: line {error.lineno}: {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:
        return f"{path}: expected Python: {error}"
    return None
