"""The settings of an installation: the file with the dependencies, the command, and the environment that it gets."""

import hashlib
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Literal, Self

from dify_plugin_host._errors import InstallError


type Route = Literal["uv.lock", "requirements.txt"]
"""The file with the dependencies: the lock, or for an operator's mirror the plain list."""

ROUTES: tuple[Route, ...] = ("uv.lock", "requirements.txt")
"""Both ways in which the daemon installs a package."""

_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})  # Go's
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
# The daemon hands uv these of its own environment, besides proxies, and nothing else: no HOME, no
# other setting of uv.
_DAEMONS = (
    *("UV_INDEX_NEXUS_USERNAME", "UV_INDEX_NEXUS_PASSWORD"),
    *("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"),
)
# A developer's machine may need these to reach its index.
_MACHINES = frozenset(
    {"HOME", "NETRC", "SSL_CERT_DIR", "SSL_CLIENT_CERT", "XDG_CONFIG_HOME"}
    | {"ALL_PROXY", "all_proxy"}
)
_MACHINES_UV = (
    *("UV_INDEX", "UV_DEFAULT_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS", "UV_INSECURE_HOST"),
    *("UV_KEYRING_PROVIDER", "UV_CONFIG_FILE", "UV_NATIVE_TLS", "UV_SYSTEM_CERTS"),
    *("UV_HTTP_", "UV_OFFLINE"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallSettings:
    """The settings for installing dependencies; apart from `is_bare`, the defaults are those of an untouched daemon.

    Source: `internal/types/app/config.go` and `internal/core/local_runtime/setup_python_environment.go` of
    langgenius/dify-plugin-daemon at bdb5642a, read 2026-11.

    Attributes:
        route: The file to prefer if a package has both; with a mirror the daemon prefers `requirements.txt`.
        mirror_url: The index to install from; the daemon's `PIP_MIRROR_URL`.
        ignores_lock: Whether to ignore a `uv.lock`; the daemon's `PLUGIN_IGNORE_UV_LOCK`.
        extra_arguments: Further arguments for uv; the daemon's `PIP_EXTRA_ARGS`.
        is_bare: Whether uv gets only the daemon's variables, without this machine's settings for reaching its index.
    """

    route: Route = "uv.lock"
    mirror_url: str = field(default="", repr=False)
    ignores_lock: bool = False
    extra_arguments: tuple[str, ...] = field(default=(), repr=False)
    is_bare: bool = False

    @classmethod
    def from_environment(
        cls, environment: Mapping[str, str], *, route: Route = "uv.lock", is_bare: bool = False
    ) -> Self:
        """Read the settings from the daemon's variables."""
        return cls(
            route=route,
            mirror_url=environment.get("PIP_MIRROR_URL", ""),
            ignores_lock=environment.get("PLUGIN_IGNORE_UV_LOCK", "") in _TRUE,
            extra_arguments=tuple(environment.get("PIP_EXTRA_ARGS", "").split()),
            is_bare=is_bare,
        )

    @property
    def folder_name(self) -> str:
        """The folder for packages installed with these settings, since other settings make other environments."""
        if self == type(self)():
            return "plugins"
        return f"plugins-{hashlib.sha256(repr(astuple(self)).encode()).hexdigest()[:12]}"

    def arguments(self, folder: Path) -> tuple[str, ...]:
        """Return uv's arguments for a package.

        Raises:
            InstallError: If it has neither of the files that name dependencies.
        """
        has = {name: (folder / name).exists() for name in ("pyproject.toml", "uv.lock", *ROUTES)}
        index = ("-i", self.mirror_url) if self.mirror_url else ()
        prefers_list = self.route == "requirements.txt" or bool(self.mirror_url)
        if has["requirements.txt"] and (prefers_list or not has["pyproject.toml"]):
            return ("pip", "install", *index, "-r", "requirements.txt", *self.extra_arguments)
        if not has["pyproject.toml"]:
            raise InstallError("expected a file 'pyproject.toml' or 'requirements.txt'")
        extra = self.extra_arguments
        frozen: tuple[str, ...] = ()
        if has["uv.lock"] and not self.ignores_lock:
            frozen, extra = ("--frozen",), tuple(word for word in extra if word != "--frozen")
        return ("sync", "--no-dev", *frozen, *index, *extra)

    def handed_on(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return the part of an environment that uv gets."""
        proxies = {
            name: environment.get(name) or environment.get(name.lower()) for name in _PROXIES
        }
        kept = {name: environment[name] for name in _DAEMONS if name in environment}
        kept |= {name: value for name, value in proxies.items() if value}
        if self.is_bare:
            return kept
        reaching = {
            name: value
            for name, value in environment.items()
            if name in _MACHINES or name.startswith(_MACHINES_UV)
        }
        return reaching | kept
