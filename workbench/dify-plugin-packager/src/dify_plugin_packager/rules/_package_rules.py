"""The rules for a package's files, in the order in which they are reported."""

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from dify_plugin_packager.packaging import SIZE_LIMIT_BYTES, Archive, Contents, Workspace

from . import _archive_rules as archives
from ._declarations.declaration_rules import Declarations
from ._declarations.upload import Upload
from ._dependencies.dependency_rules import Dependencies
from ._dependencies.sdk import check_sdk
from ._dify_releases import DifyRelease
from ._finding import Finding


type Rule = Callable[[], Iterable[Finding]]


class PackageRules:
    """The rules for the files of a package; nothing in it is run.

    Args:
        archive: The package.
        start: A folder in the workspace, if any, whose members must not come from an index.
        judges_use: Whether what breaks in Dify is among the rules for contents, in any release that the manifest does not rule out.

    Attributes:
        contents: The package's files.
        is_readable: Whether it has a manifest that the daemon can read; the rules for contents need one.
        minimum: The oldest version of Dify that the manifest asks for; an empty tuple if it names none.
    """

    def __init__(self, archive: Archive, start: Path, *, judges_use: bool = True) -> None:
        self.contents = Contents(archive.files)
        self._archive = archive
        self._start = start
        self._declarations = Declarations(self.contents, judges_use=judges_use)
        self.minimum = self._declarations.minimum
        self.is_readable = self._declarations.upload.manifest is not None

    def check_against(self, release: DifyRelease) -> Iterator[Finding]:
        """Check that a release of Dify can use the declarations, and that the locked SDK was made for it."""
        yield from self._declarations.find_breaks(release)
        yield from check_sdk(self.contents, release)
        if self.minimum > release.version:
            asked = ".".join(map(str, self.minimum))
            text = f"asks for {asked}, so Dify {release} warns about it, but installs it anyway"
            yield Finding("advice", f"manifest.yaml: 'meta.minimum_dify_version': {text}")

    def of_archive(self) -> Iterator[tuple[str, Rule]]:
        """Yield the rules for the archive and the manifest, by name."""
        yield "archive entries", functools.partial(archives.check_entries, self._archive)
        yield "signature", functools.partial(archives.check_signature, self._archive)
        yield "size", functools.partial(archives.check_size, self._archive)
        yield "no unwanted files", functools.partial(archives.check_leftovers, self._archive)
        yield "nothing unasked", functools.partial(archives.check_unasked, self._archive)
        yield "manifest.yaml", self._declarations.check_manifest

    def of_contents(self) -> Iterator[tuple[str, Rule]]:
        """Yield the rules for declarations, files and dependencies, by name."""
        declarations = self._declarations
        refusals = functools.partial(declarations.find_refusals, "unique identifier")
        yield "unique identifier", refusals
        yield "providers", declarations.check_providers
        yield "models, tools and strategies", declarations.check_declared
        yield "icons", declarations.check_icons
        yield "permissions", declarations.check_permissions
        yield "documents", declarations.check_documents
        yield "Python sources", declarations.check_sources
        yield "model modules", declarations.check_model_modules
        workspace = Workspace.find(self._start)
        siblings = frozenset(workspace.members) if workspace else frozenset[str]()
        dependencies = Dependencies(self.contents, siblings)
        yield "wheels", dependencies.check_wheels
        yield "pyproject.toml", dependencies.check_pyproject
        yield "uv.lock", dependencies.check_lock
        yield "requirements.txt", dependencies.check_requirements
        yield "workspace packages", dependencies.check_siblings


def find_refusals(files: Mapping[str, bytes]) -> Iterator[str]:
    """Yield the reasons for which the platform would refuse a package of these files."""
    total = sum(map(len, files.values()))
    if total > SIZE_LIMIT_BYTES:
        yield f"expected at most {SIZE_LIMIT_BYTES} bytes, got {total}"
    for problems in Upload(Contents(files)).problems.values():
        yield from problems
