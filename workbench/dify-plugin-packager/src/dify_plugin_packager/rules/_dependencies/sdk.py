"""The plugin SDK that a package asks for, and the releases of Dify that it was made for."""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from dify_plugin_packager.json_access import list_at, object_at, objects_at
from dify_plugin_packager.packaging import Contents, Requirements
from dify_plugin_packager.rules._dify_releases import SDK_RELEASES, DifyRelease, first_dify_of
from dify_plugin_packager.rules._finding import Finding


_SDK = "dify-plugin"
# Of several bounds these say what is installed at least.
_AT_LEAST = frozenset({">=", "==", "~="})


@dataclass(frozen=True, slots=True, kw_only=True)
class SdkRequirement:
    """What a package asks for of the plugin SDK.

    Attributes:
        file: The file that says so.
        specifier: The versions that it allows; all if it does not say.
        locked: The version of uv.lock; None without one.
    """

    file: str
    specifier: SpecifierSet
    locked: Version | None

    @property
    def oldest(self) -> Version | None:
        """The locked version, or else the oldest that is allowed and can be installed; None if there is no such bound."""
        bounds = [one for one in self.specifier if one.operator in _AT_LEAST]
        versions = [Version(one.version.removesuffix(".*")) for one in bounds]
        bound = self.locked or max(versions, default=None)
        if bound is None or self.locked or bound in SDK_RELEASES:
            return bound
        later = (one for one in SDK_RELEASES if one > bound and one in self.specifier)
        return next(later, bound)


def read_sdk(contents: Contents) -> SdkRequirement | None:
    """Return what a package asks for of the plugin SDK; None if none of its files names it."""
    asked = _read_requirements(contents)
    locked = _read_locked(contents)
    if not asked and not locked:
        return None
    file, specifier = next(iter(asked.items()), ("uv.lock", SpecifierSet()))
    return SdkRequirement(file=file, specifier=specifier, locked=locked)


def check_sdk(contents: Contents, release: DifyRelease) -> Iterator[Finding]:
    """Check that the SDK was made for a release of Dify; a newer one may do as well."""
    sdk = read_sdk(contents)
    if not sdk or not sdk.oldest:
        return
    first = first_dify_of(sdk.oldest)
    if first and first > release.version:
        file = "uv.lock" if sdk.locked else sdk.file
        text = f"{sdk.oldest} was made for Dify {'.'.join(map(str, first))} and later; {release} lacks its new features"
        yield Finding("advice", f"{file}: {_SDK!r}: {text}")


def _read_requirements(contents: Contents) -> Mapping[str, SpecifierSet]:
    """Return the versions that pyproject.toml and requirements.txt allow, by file."""
    project = object_at(contents.any_toml("pyproject.toml"), "project")
    listed = Requirements.parse(contents.any_text("requirements.txt")).named
    named = {"pyproject.toml": list_at(project, "dependencies"), "requirements.txt": listed}
    found: dict[str, SpecifierSet] = {}
    for file, texts in named.items():
        for text in texts:
            with contextlib.suppress(InvalidRequirement):
                requirement = Requirement(str(text))
                if canonicalize_name(requirement.name) == _SDK:
                    found[file] = requirement.specifier
    return found


def _read_locked(contents: Contents) -> Version | None:
    for entry in objects_at(contents.any_toml("uv.lock"), "package"):
        if entry.get("name") == _SDK:
            with contextlib.suppress(InvalidVersion):
                return Version(str(entry.get("version")))
    return None
