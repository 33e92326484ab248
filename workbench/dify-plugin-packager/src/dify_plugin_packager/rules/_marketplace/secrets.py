"""Search for secrets in a package's files, in the way of Dify's marketplace.

Text that looks like the key of a known service is one. A value beside a name such as `api_key` is one if it is a literal and as random
as keys are; if it is not, the marketplace asks a reviewer to look.

Source: `toolkit/checks/secrets.py` of langgenius/dify-marketplace-toolkit at 9b618f84, whose bounds of randomness are those of Yelp/detect-secrets,
read 2026-11.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping

from dify_plugin_packager.rules._finding import Finding


_MAX_BYTES = 1024 * 1024
_KEYS = {
    "an OpenAI key": re.compile(r"\bsk-[\w-]{20,}"),
    "a GitHub token": re.compile(r"\bgh[oprsu]_\w{20,}"),
    "a Slack token": re.compile(r"\bxox[abprs]-[A-Za-z0-9-]{10,}"),
    "an AWS key": re.compile(r"\bAKIA[0-9A-Z]{16}\b"),
    "a JSON web token": re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}"),
    "a private key": re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
}
_NAMES = r"api[_-]?key|access[_-]?key|access[_-]?token|auth[_-]?token|client[_-]?secret|password|private[_-]?key|secret|token"
_NAMED = re.compile(_NAMES, re.IGNORECASE)
_ASSIGNED = re.compile(
    rf"([\w.-]*(?:{_NAMES})[\w.-]*)\s*[:=]\s*(\"[^\"]*\"|'[^']*'|[^\"',\s#}}]+)", re.IGNORECASE
)
# In these an unquoted value is an expression.
_CODE = (".py", ".pyi", ".js", ".ts", ".go", ".java", ".rb", ".rs", ".php", ".c", ".h", ".cpp")
_HEX = re.compile(r"[0-9a-f]+", re.IGNORECASE)
_BASE64 = re.compile(r"[A-Za-z0-9+/=_.-]+")
# The entropy above which detect-secrets takes such a text for a key.
_HEX_BITS, _BASE64_BITS = 3.0, 4.5
_MIN_LENGTH = 12
_NO_SECRET = re.compile(
    r"-?\d+(\.\d+)?|true|false|yes|no|on|off|none|null|test|todo|fake|dummy|example|placeholder|changeme|[x*_-]*|<.*>|\$\{.*"
    r"|.*your.*(key|secret|token|password).*",
    re.IGNORECASE | re.DOTALL,
)
_SHOWN_LETTERS = 4


def check_secrets(files: Mapping[str, bytes]) -> Iterator[Finding]:
    """Check that the package contains no keys, tokens or passwords; none is shown in full."""
    for path, content in sorted(files.items()):
        # A binary file.
        if b"\0" in content[:4096]:
            continue
        if len(content) > _MAX_BYTES:
            yield Finding("advice", f"{path}: is too large to be searched for secrets")
            continue
        for number, line in enumerate(content.decode(errors="replace").splitlines(), start=1):
            for finding in _find_in(line, is_code=path.endswith(_CODE)):
                yield Finding(finding.kind, f"{path}:{number}: {finding.text}")


def _find_in(line: str, *, is_code: bool) -> Iterator[Finding]:
    known = [(what, found[0]) for what, one in _KEYS.items() if (found := one.search(line))]
    for what, secret in known:
        yield Finding("rejected", f"expected no secret, found {what}: {_masked(secret)}")
    # A key that was found is not reported once more by its name. Most lines have no such name, which is found faster than what surrounds one.
    for name, written in () if known or not _NAMED.search(line) else _ASSIGNED.findall(line):
        value = written.strip("\"'")
        if (is_code and value == written) or _NO_SECRET.fullmatch(value):
            continue
        if _is_random(value):
            text = f"expected no secret, found {name!r} with the value {_masked(value)}"
            yield Finding("rejected", text)


def _is_random(value: str) -> bool:
    """Tell whether a value has the characters and the randomness of a key."""
    if len(value) < _MIN_LENGTH or value.startswith(("http://", "https://", "./", "../", "/")):
        return False
    if _HEX.fullmatch(value):
        return _bits_per_letter(value) >= _HEX_BITS
    return _BASE64.fullmatch(value) is not None and _bits_per_letter(value) >= _BASE64_BITS


def _bits_per_letter(value: str) -> float:
    counts = Counter(value).values()
    return -sum(count / len(value) * math.log2(count / len(value)) for count in counts)


def _masked(secret: str) -> str:
    return f"{secret[:_SHOWN_LETTERS]}…"
