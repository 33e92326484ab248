"""The requirements of Dify's marketplace and its reviewers for a README.

Source: `toolkit/checks/readme.py` of langgenius/dify-marketplace-toolkit at f93a7297, read 2026-11.
"""

import itertools
import posixpath
import re
from collections.abc import Iterator
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.token import Token

from dify_plugin_packager.packaging import Contents
from dify_plugin_packager.rules._finding import Finding


SOURCE_URL = re.compile(
    r"https?://(?:www\.)?(?:github\.com|gitlab\.com|bitbucket\.org|gitee\.com|codeberg\.org|git\.sr\.ht)/[^\s)>\"]+",
    re.IGNORECASE,
)
"""The URL of a repository on a host that the marketplace knows."""

PLACEHOLDER = re.compile(r"/YOUR-NAME/|^you@example\.com$")
"""The placeholders of `dify-host new` for a repository and an address."""

_README = "README.md"
_TRANSLATION = re.compile(r"readme/README_[A-Za-z]{2,3}(_[A-Za-z]+)?\.md")
_IDEOGRAPHS = re.compile(r"[㐀-䶿一-鿿]")
_OTHER_SCRIPTS = re.compile(r"[぀-ヿ가-힯Ѐ-ӿ؀-ۿ]")
_FEW = 20  # a name or a quotation
_MAX_WORDS = 500
_SENTENCE_WORDS = 5
# The subjects that a README has to cover, and the words by which they are recognised.
_SECTIONS = {
    "how it is set up": r"set[- ]?up|install\w*|configur\w*|getting started|authoriz\w*",
    "what it connects to": r"connect\w*|endpoints?|base url|hosts?|proxy|network",
    "how it is used": r"us(e|age|ing)|examples?|workflow|chatflow",
    "which credentials it needs": r"api[ -]?keys?|credentials?|tokens?|secrets?|auth\w*",
    "where to get support": r"support|contact|issues?|help|feedback|questions?",
}
_HTML_LINK = re.compile(r"""\b(?:href|src)\s*=\s*["']([^"']+)["']""", re.IGNORECASE)
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*:|//|#", re.IGNORECASE)


def check_readme(contents: Contents) -> Iterator[Finding]:
    """Check that README.md tells a user the essentials, briefly and in English."""
    broken = [page for page in _pages(contents) if not _is_utf_8(contents.files[page])]
    yield from (Finding("rejected", f"{page}: expected text in UTF-8") for page in broken)
    if _README in broken:
        return
    text = contents.any_text(_README)
    if not text.strip():
        yield Finding("rejected", "expected a file 'README.md' with text in it")
        return
    found = SOURCE_URL.search(text)
    if not found:
        yield Finding("rejected", f"{_README}: expected the URL of the source repository")
    elif PLACEHOLDER.search(found[0]):
        expected = f"expected the URL of the source repository, got the placeholder {found[0]!r}"
        yield Finding("advice", f"{_README}: {expected}")
    prose = " ".join(_iter_prose(text))
    if count := len(_IDEOGRAPHS.findall(prose)):
        expected = "expected English; other languages belong in readme/, as README_zh_Hans.md"
        yield Finding("rejected", f"{_README}: {expected} ({count} characters are not)")
    elif len(_OTHER_SCRIPTS.findall(prose)) > _FEW:
        expected = "expected English; other languages belong in readme/, as README_ja_JP.md"
        yield Finding("advice", f"{_README}: {expected}")
    yield from _check_sections(text, prose)
    for path in contents.files:
        folder, name = posixpath.split(path)
        is_translation = name.startswith("README") and name != _README and name.endswith(".md")
        if is_translation and folder in {"", "readme"} and not _TRANSLATION.fullmatch(path):
            expected = "expected a README in another language as readme/README_ja_JP.md"
            yield Finding("advice", f"{path}: {expected}")


def _check_sections(text: str, prose: str) -> Iterator[Finding]:
    if not any(len(part.split()) >= _SENTENCE_WORDS for part in _iter_paragraphs(text)):
        yield Finding("advice", f"{_README}: expected it to say what the plugin is")
    for subject, words in _SECTIONS.items():
        if not re.search(rf"\b(?:{words})\b", prose, re.IGNORECASE):
            yield Finding("advice", f"{_README}: expected it to say {subject}")
    if (count := len(prose.split())) > _MAX_WORDS:
        expected = f"expected about {_MAX_WORDS} words at most, which reviewers ask for"
        yield Finding("advice", f"{_README}: {expected}; found {count}")


def check_links(contents: Contents) -> Iterator[Finding]:
    """Check that the files that a README links to are in the package."""
    for page in _pages(contents):
        for target in dict.fromkeys(_iter_targets(contents.any_text(page))):
            path = unquote(target.partition("#")[0].partition("?")[0])
            if path and not _ADDRESS.match(target) and not _leads(contents, page, path):
                text = f"{target!r}: expected a file of the package, or a whole URL"
                yield Finding("rejected", f"{page}: {text}")


def _leads(contents: Contents, page: str, path: str) -> bool:
    """Tell whether a path leads to a file from the page's folder, or from the package's, where Dify shows translations."""
    folders = {"", posixpath.dirname(page)}
    found = {posixpath.normpath(posixpath.join(folder, path.lstrip("/"))) for folder in folders}
    return any(file in found or file.startswith(tuple(f"{one}/" for one in found)) for file in contents.files)  # fmt: skip


def _is_utf_8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _pages(contents: Contents) -> list[str]:
    return [
        path
        for path in contents.files
        if path == _README or (path.startswith("readme/") and path.endswith(".md"))
    ]


def _iter_tokens(text: str) -> Iterator[Token]:
    """Iterate over a page's tokens, inline ones after the block that contains them."""
    for block in MarkdownIt("commonmark").enable("table").parse(text):
        yield block
        yield from block.children or ()


def _iter_prose(text: str) -> Iterator[str]:
    """Iterate over the text of a page, without code blocks."""
    return (
        token.content
        for token in _iter_tokens(text)
        if token.type in {"text", "code_inline"} and token.content.strip()
    )


def _iter_paragraphs(text: str) -> Iterator[str]:
    blocks = MarkdownIt("commonmark").parse(text)
    for opened, block in itertools.pairwise(blocks):
        if opened.type == "paragraph_open":
            yield " ".join(one.content for one in block.children or () if one.type == "text")


def _iter_targets(text: str) -> Iterator[str]:
    """Iterate over the targets of links and pictures."""
    for token in _iter_tokens(text):
        for key in ("href", "src"):
            if target := token.attrGet(key):
                yield str(target)
        if token.type in {"html_block", "html_inline"}:
            yield from _HTML_LINK.findall(token.content)
