"""The invisible characters are one list, whose numbers the pages show, and a regular expression agrees with it."""

import importlib.util
import re
import sys
import unicodedata

from tracked import ROOT


def test_the_pages_hide_what_is_hidden() -> None:
    text = (ROOT / "packages/run-log/src/run_log/view/shared/elements.js").read_text()
    own = re.findall(r"^const HIDDEN = /(.*)/gu;$", text, re.MULTILINE)
    seen, listed = own[0].removeprefix("(?![ ").removesuffix("]").split(r"|\r\n)[\p{C}\p{Z}")
    blank = re.compile(f"[{re.sub(r'u{([0-9a-f]{5})}', r'U000\1', listed)}]")

    path = ROOT / "packages/stream-text/src/stream_text/_hidden.py"
    spec = importlib.util.spec_from_file_location("hidden", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert seen == r"\u3000\t\n]"
    for character in map(chr, range(sys.maxunicode + 1)):
        if unicodedata.category(character)[0] in "CZ":
            continue  # \p{C} and \p{Z}
        assert module.is_hidden(character) == (blank.match(character) is not None), character
    assert all(map(module.is_hidden, "\x00\u00a0\u200b\u2028\ue000\ud800\U000e0041\U0001fffe"))
    assert not any(map(module.is_hidden, " \u3000"))
