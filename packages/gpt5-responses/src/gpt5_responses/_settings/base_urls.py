"""Base URLs as people paste them: completed by a rule on the text alone, or refused by name before a key is ever sent there.

A base URL is what `/responses` is added to. People paste a host, a root, the address of an endpoint, or what a portal shows.
"""

import ipaddress
import re
from urllib.parse import SplitResult, parse_qsl, urlsplit

from gpt5_responses._errors import SettingsError
from stream_text import is_secret_setting, redact_text
from stream_text.addresses import is_host, is_metadata_host, plain_host


DEFAULT_BASE_URL = "https://api.openai.com/v1"

# Where Azure has the API.
# Source: https://learn.microsoft.com/en-us/azure/foundry/openai/api-version-lifecycle, read 2026-11-22; for governments onyx-dot-app/onyx#11420.
AZURE_HOSTS = (
    *(".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com"),
    *(".openai.azure.us", ".openai.azure.cn"),
)

# What stands around an address in a text, and never in it.
_AROUND = " \t\r\n\u00a0\u200b\ufeff\"'`<>()*\u201c\u201d\u2018\u2019\u00ab\u00bb"
_BEHIND = ",;.\uff0c\uff1b\u3002"
# A scheme without all of its signs, or behind another one that the form had.
_TYPED_SCHEME = re.compile(r"^(?:https?:?/+)*(https?)(?:://?|//)(?=[^/])", re.IGNORECASE)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:(?!\d)", re.IGNORECASE)  # and not a host with its port
# Networks where servers seldom have a certificate.
_NEAR = (".localhost", ".local", ".internal", ".lan", ".home.arpa")
_PORTS = {"http": 80, "https": 443}

# Endpoints, and all that is behind the name of one where the root is known to end.
_ENDPOINT = re.compile(
    r"(?:/(?:responses(?:/input_tokens|/compact)?|(?:chat/)?completions|embeddings|models|conversations))+$"
    r"|(?<=/v1)/(?:responses|chat|models|conversations|messages|images|audio|files)(?:/.*)?$"
    r"|(?<=/serving-endpoints)/.*$",
    re.IGNORECASE,
)
# Azure's older address of one deployment, which has no Responses API. It names a version by its date, which the newer address does not take.
_DEPLOYMENT = re.compile(r"(?<=/openai)/deployments(?:/.*)?$")
_DATED = re.compile(r"(?:^|&)api-version=(\d{4}-\d\d-\d\d)[^&]*")
_FIRST_DATE = "2025-03-01"  # with the Responses API
# Roots with a version of their own, or with none at all.
_WHOLE = re.compile(
    r"/v\d+(?:(?:alpha|beta)\d*)?(?:/(?:.+/)?(?:openai|compat))?$|/backend-api/codex$|/serving-endpoints$"
)
# Hosts without a path of the API's at their root, by their end.
# Source: the vendors' pages about the Responses API or OpenAI's clients, read 2026-11-28; docs/supported.md.
_ROOTS = {
    **dict.fromkeys(AZURE_HOSTS, "/openai/v1"),
    ".amazonaws.com": "/openai/v1",
    ".api.aws": "/openai/v1",  # GPT-5 and later; gpt-oss is below /v1
    ".api.openai.com": "/v1",
    ".azuredatabricks.net": "/serving-endpoints",
    ".bytepluses.com": "/api/v3",
    ".chatgpt.com": "/backend-api/codex",
    ".databricks.com": "/serving-endpoints",
    ".fireworks.ai": "/inference/v1",
    ".generativelanguage.googleapis.com": "/v1beta/openai",
    ".githubcopilot.com": "",
    ".groq.com": "/openai/v1",
    ".openrouter.ai": "/api/v1",
    ".volces.com": "/api/v3",
}
_OLLAMA_PORT = 11434  # which has an API of its own below /api


def complete(text: str, allowed_hosts: str, name: str) -> str:
    """Return the base URL that a text means; OpenAI's for an empty one.

    Source: docs/contracts/openai-gpt5-responses.md, A5.

    Args:
        text: What was pasted.
        allowed_hosts: The hosts that it may name, with commas between them; empty for any.
        name: The setting's name, for the error.

    Raises:
        SettingsError: If it is no address, or one where no request may go.
    """
    text = plain_text(text)
    if not text:
        return DEFAULT_BASE_URL
    parts = validate(text, allowed_hosts, name)
    path, query = _root(re.sub("/{2,}", "/", parts.path).rstrip("/"), parts)
    host = _host(parts, name)
    netloc = f"[{host}]" if ":" in host else host
    if parts.port not in (None, _PORTS[parts.scheme]):
        netloc += f":{parts.port}"
    return parts._replace(netloc=netloc, path=path, query=query).geturl()


def plain_text(text: str) -> str:
    """Return an address without what stands around it in a text, and with a scheme: `http` where a network of one's own is named, else `https`."""
    text = text.strip(_AROUND).rstrip(_BEHIND).strip(_AROUND)
    text = _TYPED_SCHEME.sub(r"\1://", text)
    if not text or _SCHEME.match(text):
        return text
    rest = text.lstrip("/")
    return f"{'http' if _is_near(rest) else 'https'}://{rest}"


def _is_near(rest: str) -> bool:
    try:
        parts = urlsplit(f"//{rest}")
        host = plain_host(parts.hostname or "")
        is_secure = parts.port == _PORTS["https"]
    except ValueError:  # refused later
        return False
    try:
        return not ipaddress.ip_address(host).is_global and not is_secure
    except ValueError:
        return not is_secure and ("." not in host or host.endswith(_NEAR))


def _root(path: str, parts: SplitResult) -> tuple[str, str]:
    """Return the path and query of the API's root, given a path that may lead further, or not all the way."""
    host = f".{parts.hostname}"
    own = next((root for end, root in _ROOTS.items() if host.endswith(end)), None)
    is_azure = host.endswith(AZURE_HOSTS)
    dated = _DATED.search(parts.query)
    path = _DEPLOYMENT.sub("/v1", re.sub("/v1(?=/|$)", "/v1", path, flags=re.IGNORECASE))
    if parts.port == _OLLAMA_PORT:
        path = re.sub("^/api(?:/.*)?$", "", path)
    root = _ENDPOINT.sub("", path)
    is_dated = is_azure and root == "/openai" and dated and dated[1] >= _FIRST_DATE
    is_other = root == "/v1" and not host.endswith(".api.aws")  # which has both
    if own is not None and not is_dated and (not root or is_other or own.startswith(f"{root}/")):
        root = own
    # Who names an endpoint has said where it is.
    elif root == path and not (is_dated or _WHOLE.search(root)):
        root += "/openai/v1" if is_azure and not root.endswith("/openai") else "/v1"
    query = _DATED.sub("", parts.query) if root.endswith("/openai/v1") else parts.query
    return root, query.lstrip("&")


def show(url: str) -> str:
    """Return a base URL for people: without the values of its query, which may be secrets."""
    parts = urlsplit(url)
    pairs = (pair.partition("=") for pair in parts.query.split("&") if pair)
    query = "&".join(f"{name}=..." if sign else "..." for name, sign, _ in pairs)
    return redact_text(parts._replace(query=query).geturl())


def query_secrets(url: str) -> list[str]:
    """List the values in a query whose names say that they are secrets."""
    return [value for name, value in _query(plain_text(url)) if is_secret_setting(name)]


def validate(text: str, allowed_hosts: str, name: str) -> SplitResult:
    """Return the parts of a base URL.

    Raises:
        SettingsError: If it is not one, or one where no request may go.
    """
    parts = _split(text, name)
    if not _is_allowed(_host(parts, name), allowed_hosts):
        raise _refused(name, "host is not allowed")
    return parts


def _query(url: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(urlsplit(url).query, keep_blank_values=True)
    except ValueError:  # not a URL
        return []


def _split(text: str, name: str) -> SplitResult:
    try:
        parts = urlsplit(text)
        _ = parts.port  # is only checked when it is read
    except ValueError:
        raise _refused(name, "must be a URL such as https://api.openai.com/v1") from None
    keys = [key for key, _ in _query(text)]
    faults = {
        "must use http or https": parts.scheme not in _PORTS,
        "must not include credentials": parts.username is not None or parts.password is not None,
        "must not have a fragment": bool(parts.fragment),
        "must not name a parameter of its query twice": len(set(keys)) < len(keys),
        "must not contain white space": any(one.isspace() or not one.isprintable() for one in text),
    }
    if reason := next((reason for reason, is_so in faults.items() if is_so), ""):
        raise _refused(name, reason)
    return parts


def _host(parts: SplitResult, name: str) -> str:
    try:
        host = plain_host(parts.hostname or "")
    except UnicodeError:
        host = "?"
    if not host:
        raise _refused(name, "host is required")
    if not is_host(host):
        raise _refused(name, "host is not a name that can be looked up")
    return host


def _is_allowed(host: str, allowed_hosts: str) -> bool:
    allowed = {name.strip().strip(".").lower() for name in allowed_hosts.split(",")} - {""}
    return not is_metadata_host(host) and (not allowed or host in allowed)


def _refused(name: str, reason: str) -> SettingsError:
    check = " Check API Base URL." if name == "openai_api_base" else ""
    return SettingsError(f"{name} {reason}.{check}", field=name)
