"""Which of many tools fit a query: an index of their words, ranked by SQLite's BM25."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from agent_tooling import Tool, ToolError
from stream_text import is_list, is_object


if TYPE_CHECKING:  # Who has few tools need not wait for it.
    from sqlite3 import Connection


# Of names, descriptions, and parameters' names, descriptions and options. Chosen on one half of what tools/benchmarks/tool_search.py asks.
_WEIGHTS: Final = (3.0, 2.0, 1.0, 1.0, 1.0)
_GRAM_WEIGHT: Final = 0.2
_GRAM_CHARACTERS: Final = 3
# Bounds, all our choice: descriptions come from servers, and queries from models.
_MAX_TEXT_CHARACTERS: Final = 20_000
_MAX_QUERY_CHARACTERS: Final = 4_000
_MAX_TERMS: Final = 128
_MAX_DEPTH: Final = 20

# Words that say how something is asked and not what, so that a question does not find tools that are described in whole sentences.
_STOP_WORDS: Final = frozenset(
    re.findall(
        "[a-z]+",
        "a about an and any are as at be by can could do does for from has have how i in is it its me my of on or please some that the there this to was "
        "what when where which who will with would you your",
    )
)
# Where an identifier changes its case: `getUserId` is get, User, Id; `HTTPServer` is HTTP, Server.
_CASE_CHANGE: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD: Final = re.compile(r"[^\W_]+")
# Scripts that are written without spaces: Han, Hiragana, Katakana; and Hangul, whose endings grow on to the words.
_UNSPACED: Final = re.compile(
    "([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+)"
)


class ToolRanking:
    """An index of tools by what their names, descriptions and parameters say. It may be asked from any thread.

    It lies in memory and is made when it is first asked.

    Args:
        tools: The tools.
    """

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools = tuple(tools)
        # The connection is open to all threads (`check_same_thread`), and made by whoever is first.
        self._lock = Lock()
        self._index: Connection | None = None

    def rank(self, query: str) -> list[Tool]:
        """Return all tools that have anything of a query, the best first; no more than the first 4,000 characters and 128 words of it count.

        Raises:
            ToolError: If this Python has no SQLite that can search.
        """
        words = [word for word in _unique(query) if word not in _STOP_WORDS][:_MAX_TERMS]
        grams = list(dict.fromkeys(gram for word in words for gram in _iter_grams(word)))
        with self._lock:
            if self._index is None:
                self._index = _build_index(self._tools)
            weights = ", ".join(map(str, _WEIGHTS))
            scores = _score(self._index, f"bm25(words, {weights})", "words", words)
            for row, score in _score(
                self._index, "bm25(grams)", "grams", grams[: 4 * _MAX_TERMS]
            ).items():
                scores[row] = scores.get(row, 0.0) + _GRAM_WEIGHT * score
        return [self._tools[row] for row in sorted(scores, key=lambda row: (-scores[row], row))]


def _build_index(tools: Sequence[Tool]) -> "Connection":
    try:
        index = _open_index()
    except Exception as error:
        raise ToolError("tools cannot be searched here: SQLite lacks FTS5 with trigrams") from error
    for row, tool in enumerate(tools):
        name = " ".join(_iter_words(tool.name))
        said = _read_parameters(tool.parameters)
        fields = (tool.description, *map(" ".join, said))
        split = (" ".join(_iter_words(text[:_MAX_TEXT_CHARACTERS])) for text in fields)
        index.execute(
            "INSERT INTO words(rowid, name, description, names, descriptions, options) VALUES (?, ?, ?, ?, ?, ?)",
            (row, name, *split),
        )
        index.execute("INSERT INTO grams(rowid, name) VALUES (?, ?)", (row, name))
    return index


def _open_index() -> "Connection":
    import sqlite3  # noqa: PLC0415 - see above

    index = sqlite3.connect(":memory:", check_same_thread=False)
    index.execute(
        "CREATE VIRTUAL TABLE words USING fts5(name, description, names, descriptions, options, tokenize='porter unicode61')"
    )
    index.execute("CREATE VIRTUAL TABLE grams USING fts5(name, tokenize='trigram')")
    return index


def _score(index: "Connection", ranking: str, table: str, terms: Sequence[str]) -> dict[int, float]:
    if not terms:
        return {}
    # Quoted, since FTS5 has operators that are words, such as NOT; no term holds a quotation mark.
    match = " OR ".join(f'"{term}"' for term in terms)
    statement = f"SELECT rowid, -{ranking} FROM {table} WHERE {table} MATCH ?"  # noqa: S608 - the names of our own tables
    with closing(index.execute(statement, (match,))) as rows:
        return dict(rows)


def _unique(query: str) -> list[str]:
    return list(dict.fromkeys(_iter_words(query[:_MAX_QUERY_CHARACTERS])))


def _iter_words(text: str) -> Iterator[str]:
    """Yield the words of a text in lower case: of an identifier each part, of a script without spaces each pair of neighbours."""
    for part in _WORD.findall(_CASE_CHANGE.sub(" ", unicodedata.normalize("NFKC", text))):
        for index, piece in enumerate(_UNSPACED.split(part.lower())):
            if index % 2 == 0:
                yield from filter(None, [piece])
            else:
                yield from (piece[at : at + 2] for at in range(max(1, len(piece) - 1)))


def _iter_grams(word: str) -> Iterator[str]:
    return (word[at : at + _GRAM_CHARACTERS] for at in range(len(word) - _GRAM_CHARACTERS + 1))


def _read_parameters(schema: Mapping[str, Any]) -> tuple[list[str], list[str], list[str]]:
    """Return the names of all parameters of a schema, what is said of them, and the values that can be chosen."""
    names: list[str] = []
    descriptions: list[str] = []
    options: list[str] = []
    waiting: list[tuple[object, int]] = [(schema, 0)]
    for node, depth in waiting:
        if is_list(node):
            waiting += [(item, depth + 1) for item in node]
        if not is_object(node) or depth > _MAX_DEPTH:
            continue
        if is_object(properties := node.get("properties")):
            names += properties
            waiting += [(child, depth + 1) for child in properties.values()]
        if is_list(choices := node.get("enum")):
            options += map(str, choices)
        if depth and isinstance(said := node.get("description"), str):
            descriptions.append(said)
        waiting += [(node.get(key), depth + 1) for key in ("items", "anyOf", "oneOf", "allOf")]
    return names, descriptions, options
