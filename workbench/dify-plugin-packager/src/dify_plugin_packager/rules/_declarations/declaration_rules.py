"""Rules for the declarations of a package: those that the daemon refuses, that cannot be read or used, or that have no effect."""

import ast
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from dify_plugin_packager.declarations import PLUGIN_TAGS, TYPES, decode_into, find_violations
from dify_plugin_packager.json_access import JsonObject, is_object, list_at, object_at
from dify_plugin_packager.packaging import ContentError, Contents
from dify_plugin_packager.rules._dify_releases import DIFY_RELEASES, DifyRelease
from dify_plugin_packager.rules._finding import Finding, findings

from .advice import iter_advice
from .dify_rules import check_tags, check_use
from .upload import Declared, Stage, Upload


# When a call fails, the SDK looks at the third part from the end of the module's name.
_MODULE_DEPTH = 3
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_HOST_PYTHON = (3, 12)  # what the daemon runs
_MANIFEST = TYPES["plugin_entities.PluginDeclaration"]
_PROVIDERS = frozenset({"tool", "model", "agent_strategy"})
_EXPECTED: Mapping[str, Callable[[str], str]] = {
    "eq": lambda wanted: wanted,
    "gt": lambda _: "a text",
    "is_available_arch": lambda _: "amd64 or arm64",
    "is_available_language": lambda _: "python",
    "lt": lambda limit: f"fewer than {limit} characters",
    "max": lambda limit: f"at most {limit} characters",
    "plugin_tag": lambda _: f"one of {', '.join(PLUGIN_TAGS.split())}",
    "required": lambda _: "a value",
    "url": lambda _: "a URL",
    "version": lambda _: "a version such as 1.2.3",
}


class Declarations:
    """The checks of a package's declarations.

    Args:
        contents: The package.
        judges_use: Whether to report what breaks in Dify, in any release that the manifest does not rule out.
    """

    def __init__(self, contents: Contents, *, judges_use: bool) -> None:
        self._contents = contents
        self._judges_use = judges_use
        self.upload = Upload(contents)
        self.minimum = _read_minimum(self.upload.manifest or {})

    def find_refusals(self, stage: Stage) -> Iterator[Finding]:
        """Yield the reasons for which the daemon refuses the package at a stage of its upload."""
        return findings("refused", self.upload.problems.get(stage, ()))

    def _loaded(self, declared: Declared) -> JsonObject:
        """Return a file's content as the SDK reads it; an empty mapping if it cannot."""
        try:
            value = self._contents.yaml(declared.path)
        except ContentError:
            return {}
        return value if is_object(value) else {}

    def _of(self, *roles: str) -> Iterator[tuple[Declared, JsonObject]]:
        return ((one, self._loaded(one)) for one in self.upload.declared if one.role in roles)

    def _unreadable(self, path: str) -> Iterator[Finding]:
        """Check that the SDK's YAML library can read a file as well."""
        try:
            self._contents.yaml(path)
        except ContentError as error:
            yield Finding("broken", str(error))

    def _check_file(self, declared: Declared, content: JsonObject) -> Iterator[Finding]:
        """Check that a file of declarations can be read and used, and that all of it has an effect."""
        path = declared.path
        yield from self._unreadable(path)
        yield from findings(
            "advice", (f"{path}: {one}" for one in iter_advice(declared.kind, content))
        )
        yield from self._check_use(declared.kind, declared.role, path, content)

    def _check_use(self, kind: str, role: str, path: str, content: JsonObject) -> Iterator[Finding]:
        """Check that Dify can use a file's declarations, in the releases that the manifest does not rule out."""
        meant = [release for release in DIFY_RELEASES if release.version >= self.minimum]
        for finding in self._find_uses(kind, role, path, content, meant):
            if self._judges_use or finding.kind == "advice":
                yield finding

    def _find_uses(
        self, kind: str, role: str, path: str, content: JsonObject, releases: Sequence[DifyRelease]
    ) -> Iterator[Finding]:
        yield from check_use((kind, role), path, content, releases)
        if role == "provider":
            yield from check_tags(kind, path, content, self.upload.manifest or {}, releases)

    def find_breaks(self, release: DifyRelease) -> Iterator[Finding]:
        """Yield what would break in a release of Dify, whatever the manifest says of versions."""
        found = list(
            self._find_uses("manifest", "", "manifest.yaml", self.upload.manifest or {}, (release,))
        )
        for one, content in self._of("provider", "item", "model"):
            found += self._find_uses(one.kind, one.role, one.path, content, (release,))
        yield from (finding for finding in found if finding.kind == "broken")

    def check_manifest(self) -> Iterator[Finding]:
        """Check manifest.yaml."""
        path = "manifest.yaml"
        yield from self.find_refusals("manifest.yaml")
        if self.upload.manifest is None:
            return
        yield from self._unreadable(path)
        yield from self._check_use("manifest", "", path, self.upload.manifest)
        for problem in _iter_packing_problems(self.upload.manifest):
            yield Finding("advice", f"{path}: {problem} (Dify's own packager refuses it)")
        for kind, paths in object_at(self.upload.manifest, "plugins").items():
            if len(paths or ()) > 1:
                yield Finding("advice", f"{path}: 'plugins.{kind}': only the last one counts")

    def check_providers(self) -> Iterator[Finding]:
        """Check the provider files."""
        yield from self.find_refusals("providers")
        for declared, provider in self._of("provider"):
            yield from self._check_file(declared, provider)
            if declared.kind == "models":
                yield from findings("advice", self._iter_unmatched(declared.path, provider))
            if declared.kind == "agent_strategies":
                yield from self._check_icon_in_logs(declared.path, provider)

    def _check_icon_in_logs(self, path: str, provider: JsonObject) -> Iterator[Finding]:
        """Check that Dify can find an agent strategy's icon, which it looks up by the plugin's name."""
        expected = (self.upload.manifest or {}).get("name")
        if object_at(provider, "identity").get("name") != expected:
            text = f"expected {expected!r}, the plugin's name, or Dify shows no icon in a run"
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
        """Check models, tools, strategies and the other files that a provider names."""
        yield from self.find_refusals("declarations")
        for declared, content in self._of("item", "model", "position"):
            yield from self._check_file(declared, content)
        yield from findings("advice", self._iter_twins())
        yield from findings("advice", self._iter_unknown_positions())

    def _iter_twins(self) -> Iterator[str]:
        names: Counter[tuple[str, str, str]] = Counter()
        for declared, content in self._of("item", "model"):
            name = content.get("model") or object_at(content, "identity").get("name")
            # Models of different types may share a name.
            names[declared.kind, str(content.get("model_type")), str(name)] += bool(name)
        for kind, _, name in (name for name, count in names.items() if count > 1):
            yield f"{name!r} is declared more than once in {kind}"

    def _iter_unknown_positions(self) -> Iterator[str]:
        models = {str(content.get("model")) for _, content in self._of("model")}
        for declared in self.upload.declared:
            if declared.role == "position":
                for name in _items(self._contents, declared.path):
                    if name not in models:
                        yield f"{declared.path}: {name!r} is not a model of this package"

    def check_icons(self) -> Iterator[Finding]:
        """Check that every icon is in _assets, a folder that the SDK always needs."""
        yield from self.find_refusals("icons")
        if not any(path.startswith("_assets/") for path in self._contents.files):
            yield Finding("broken", "expected a folder '_assets', which every plugin reads")

    def check_permissions(self) -> Iterator[Finding]:
        """Check that endpoints may be set up, and that an agent strategy may call tools and models, and gets every kind of tool.

        Source: `internal/service/setup_endpoint.go` of langgenius/dify-plugin-daemon at bdb5642a; docs/evidence/dify-declarations.md, S31.
        """
        manifest = self.upload.manifest or {}
        plugins = object_at(manifest, "plugins")
        permission = object_at(manifest, "resource", "permission")
        where = "manifest.yaml: 'resource.permission"
        if list_at(plugins, "endpoints") and not object_at(permission, "endpoint").get("enabled"):
            expected = "expected true, or the daemon sets up no endpoint"
            yield Finding("broken", f"{where}.endpoint.enabled': {expected}")
        if not list_at(plugins, "agent_strategies"):
            return
        model = object_at(permission, "model")
        for name, given in (
            ("tool.enabled", object_at(permission, "tool").get("enabled")),
            ("model.enabled", model.get("enabled")),
            ("model.llm", model.get("llm")),
        ):
            if not given:
                yield Finding("advice", f"{where}.{name}': expected true for an agent strategy")
        if object_at(manifest, "meta").get("version") == "0.0.1":
            expected = "expected more than 0.0.1, at which Dify hides MCP tools"
            yield Finding("advice", f"manifest.yaml: 'meta.version': {expected}")

    def check_documents(self) -> Iterator[Finding]:
        """Check that a README and a privacy policy are included."""
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
        """Check that every Python file that is named exists, and that every Python file can be parsed."""
        named = list(self._iter_named_sources())
        for field, path in named:
            if path not in self._contents.files:
                yield Finding("broken", f"{field}: expected a file {path!r}")
        loaded = {path for _, path in named}
        for path in self._contents.files:
            if path.endswith(".py") and (problem := _syntax_problem(self._contents, path)):
                yield Finding("broken" if path in loaded else "advice", problem)

    def _iter_named_sources(self) -> Iterator[tuple[str, str]]:
        runner = object_at(self.upload.manifest or {}, "meta", "runner")
        module = str(runner.get("entrypoint") or "").replace(".", "/")
        as_package = f"{module}/__main__.py"
        path = as_package if as_package in self._contents.files else f"{module}.py"
        yield "manifest.yaml: 'meta.runner.entrypoint'", path
        for declared, content in self._of("provider", "item"):
            # The SDK loads no class of an agent strategy's provider.
            if (declared.kind, declared.role) == ("agent_strategies", "provider"):
                continue
            python = object_at(content, "extra", "python")
            for key in ("source", "provider_source", "model_sources"):
                for source in list_at(python, key) or filter(None, [python.get(key)]):
                    path = PurePosixPath(str(source)).as_posix()
                    yield f"{declared.path}: 'extra.python.{key}'", path

    def check_model_modules(self) -> Iterator[Finding]:
        """Check that model sources are nested deep enough: with a shorter module name the SDK replaces every error by an IndexError."""
        for declared, provider in self._of("provider"):
            python = object_at(provider, "extra", "python")
            for source in list_at(python, "model_sources"):
                if len(PurePosixPath(str(source)).parts) < _MODULE_DEPTH:
                    where = f"{declared.path}: 'extra.python.model_sources'"
                    expected = f"expected {source!r} two folders deep or deeper"
                    yield Finding("advice", f"{where}: {expected}, or errors lose their messages")


def _read_minimum(manifest: JsonObject) -> tuple[int, ...]:
    """Return the oldest version of Dify that a manifest asks for; an empty one if it names none, or none that can be read."""
    stated = _VERSION.match(str(object_at(manifest, "meta").get("minimum_dify_version") or ""))
    return tuple(map(int, stated.groups())) if stated else ()


def _items(contents: Contents, path: str) -> list[Any]:
    try:
        return list_at({"names": contents.yaml(path)}, "names")
    except ContentError:
        return []


def _syntax_problem(contents: Contents, path: str) -> str | None:
    try:
        with warnings.catch_warnings(action="ignore"):  # of no consequence to the platform
            ast.parse(contents.files[path], path, feature_version=_HOST_PYTHON)
    except SyntaxError as error:
        return f"{path}: line {error.lineno}: {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:
        return f"{path}: expected Python: {error}"
    return None


def _iter_packing_problems(manifest: JsonObject) -> Iterator[str]:
    """Yield the problems of a manifest that Dify's own packager refuses, by the rules in the tags of the daemon's types.

    The daemon applies these rules only in remote debugging.
    """
    given = {key: value for key, value in manifest.items() if key not in _PROVIDERS}
    for broken in find_violations(_MANIFEST, decode_into(_MANIFEST, given)):
        name, _, limit = broken.rule.partition("=")
        got = "" if name == "required" else f", got {broken.value!r:.80}"
        yield f"{broken.path!r}: expected {_EXPECTED[name](limit)}{got}"
