"""Keeping secrets out of what is written down."""

import json
import re
from collections.abc import Iterable, Mapping


_SECRET_NAME = re.compile(
    # \B: PWD alone is the working directory.
    r"KEY|TOKEN|SECRET|PASS|\BPWD|CREDENTIAL|AUTH|PRIVATE|COOKIE|SESSION|DSN|JWT|WEBHOOK",
    re.IGNORECASE,
)
_URL_WITH_PASSWORD = re.compile(r"://[^/\s]*@")
_SHORTEST = 4  # anything shorter would blot out ordinary words, and guards nothing


class Redactor:
    """Replace the secrets of an environment in texts.

    A variable is secret by its name (`..._KEY`, `..._TOKEN` and the like) or because it is a URL with a password. Its value is found as it
    is and as it stands inside JSON, each of several lines on its own. A value that the script has encoded otherwise is not found.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        names = {
            form: name
            for name, value in environment.items()
            if _is_secret(name, value)
            for form in _forms(value)
        }
        self._names = names
        # Longest first, so that no rest of a longer secret stays behind.
        self._pattern = re.compile("|".join(map(re.escape, sorted(names, key=len, reverse=True))))

    def redact(self, text: str) -> str:
        """Return the text with `[NAME]` in place of each secret."""
        if not self._names:
            return text
        return self._pattern.sub(lambda match: f"[{self._names[match[0]]}]", text)


def _is_secret(name: str, value: str) -> bool:
    return bool(_SECRET_NAME.search(name) or _URL_WITH_PASSWORD.search(value))


def _forms(value: str) -> Iterable[str]:
    for text in {value, *value.splitlines()}:
        if len(text.strip()) >= _SHORTEST:
            yield from (text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1])
