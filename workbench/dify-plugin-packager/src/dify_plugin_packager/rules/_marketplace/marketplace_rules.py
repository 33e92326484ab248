"""The requirements of Dify's marketplace beyond those of the platform: names, documents, contents.

The marketplace may refuse a package that the platform takes. A problem at which its checks fail is "rejected"; its warnings, and the requests
of its reviewers, are advice.

Source: `toolkit/checks/manifest.py` of langgenius/dify-marketplace-toolkit at 04f98f82, and the submission requirements of
https://github.com/langgenius/dify-plugins, read 2026-11.
"""

import functools
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator

from dify_plugin_packager.json_access import JsonObject, object_at
from dify_plugin_packager.packaging import Archive, Contents
from dify_plugin_packager.rules._archive_rules import find_leftovers
from dify_plugin_packager.rules._finding import Finding
from dify_plugin_packager.rules._names import find_marketplace_author_problem

from .readme import PLACEHOLDER, SOURCE_URL, check_links, check_readme
from .requirements import check_requirements_of
from .secrets import check_secrets


type Check = Callable[[], Iterable[Finding]]

_REQUIRED = (
    *("author", "name", "version", "type", "icon", "plugins", "privacy", "repo", "contact"),
    *("label.en_US", "description.en_US", "meta.version", "meta.arch"),
    *("meta.runner.language", "meta.runner.version", "meta.runner.entrypoint"),
)
_EMAIL = re.compile(r"[^\s@]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+")
_PRIVACY = "PRIVACY.md"
_PRIVACY_TEMPLATE = "please fill in the privacy policy"
_DISCLOSURE = re.compile(
    r"collect|personal data|user data|stor(e|age)|ret(ain|ention)|persist|log|third[- ]party|share|send|transmit|external service",
    re.IGNORECASE,
)
_ICON_TEMPLATE = b"DIFY_MARKETPLACE_TEMPLATE_ICON_DO_NOT_USE"
_BINARIES = (".exe", ".dll", ".so", ".dylib", ".bin", ".jar", ".class", ".msi", ".deb", ".rpm")
_MAGIC = (b"\x7fELF", b"MZ\x90", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
_SHOWN = 3


def iter_marketplace_rules(archive: Archive, contents: Contents) -> Iterator[tuple[str, Check]]:
    """Yield the checks of a package's files, by name."""
    manifest = contents.manifest
    yield "author", functools.partial(_check_author, manifest)
    yield "manifest", functools.partial(_check_manifest, manifest)
    yield "README", functools.partial(check_readme, contents)
    yield "links", functools.partial(check_links, contents)
    yield "privacy", functools.partial(_check_privacy, contents, str(manifest.get("privacy") or ""))
    yield "icon", functools.partial(_check_icon, contents, str(manifest.get("icon") or ""))
    yield "contents", functools.partial(_check_contents, archive)
    yield "secrets", functools.partial(check_secrets, contents.files)
    yield "dependencies", functools.partial(check_requirements_of, contents)


def _check_author(manifest: JsonObject) -> Iterator[Finding]:
    if problem := find_marketplace_author_problem(str(manifest.get("author") or "")):
        yield Finding("rejected", f"manifest.yaml: 'author': {problem}")


def _check_manifest(manifest: JsonObject) -> Iterator[Finding]:
    """Check the fields that lead people to the source and its owner."""
    for field in _REQUIRED:
        *outer, key = field.split(".")
        if not object_at(manifest, *outer).get(key):
            yield Finding("rejected", f"manifest.yaml: {field!r}: expected a value{_HINTS.get(field, '')}")  # fmt: skip
    if not object_at(manifest, "meta").get("minimum_dify_version"):
        text = "expected the first version of Dify that runs it"
        yield Finding("advice", f"manifest.yaml: 'meta.minimum_dify_version': {text}")
    repository, contact = (str(manifest.get(key) or "") for key in ("repo", "contact"))
    if repository and not SOURCE_URL.fullmatch(repository):
        text = f"expected the URL of a repository on a public host, got {repository!r}"
        yield Finding("rejected", f"manifest.yaml: 'repo': {text}")
    if contact and not _EMAIL.fullmatch(contact):
        text = f"expected an email address, got {contact!r}"
        yield Finding("rejected", f"manifest.yaml: 'contact': {text}")
    for field, value in (("repo", repository), ("contact", contact)):
        if PLACEHOLDER.search(value):
            text = f"expected your own, got the placeholder {value!r}"
            yield Finding("advice", f"manifest.yaml: {field!r}: {text}")


_HINTS = {
    "repo": ", the URL of the source repository",
    "contact": ", an email address",
    "privacy": ", such as PRIVACY.md",
}


def _check_privacy(contents: Contents, named: str) -> Iterator[Finding]:
    """Check that the package explains what happens to people's data."""
    if _PRIVACY not in contents.files:
        yield Finding("rejected", f"expected a file {_PRIVACY!r}")
    if not named or named.startswith(("http://", "https://")):
        return
    path = posixpath.normpath(named)
    if path not in contents.files:
        if path != _PRIVACY:
            text = f"expected a file of the package or a URL with https, got {named!r}"
            yield Finding("rejected", f"manifest.yaml: 'privacy': {text}")
        return
    text = contents.any_text(path)
    if not text.strip():
        yield Finding("rejected", f"{path}: expected a privacy policy, got an empty file")
    elif _PRIVACY_TEMPLATE in text.lower():
        problem = "still contains the template instead of a privacy policy"
        yield Finding("rejected", f"{path}: {problem}")
    elif not _DISCLOSURE.search(text):
        expected = "expected it to say what is collected, stored, logged or sent to others"
        yield Finding("advice", f"{path}: {expected}, or that nothing is")


def _check_icon(contents: Contents, name: str) -> Iterator[Finding]:
    if _ICON_TEMPLATE in contents.files.get(f"_assets/{name}", b""):
        yield Finding("rejected", f"_assets/{name}: expected an icon, found the template's")


def _check_contents(archive: Archive) -> Iterator[Finding]:
    """Check that the package contains only what it needs to run."""
    for pattern, shown in find_leftovers(archive.files):
        kind = "advice" if pattern == "tests" else "rejected"
        yield Finding(kind, f"{shown}: expected only what is needed to run")
    binaries = [
        path
        for path, content in archive.files.items()
        if path.endswith(_BINARIES) or content.startswith(_MAGIC)
    ]
    if binaries:
        shown = ", ".join(map(repr, binaries[:_SHOWN]))
        yield Finding("advice", f"{shown}: a reviewer will ask why an executable is needed")
