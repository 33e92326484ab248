"""The files that make uv and pip install from the package itself: pyproject.toml, uv.lock and requirements.txt."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import canonicalize_name, parse_wheel_filename

from dify_plugin_packager.packaging._toml import write_toml
from dify_plugin_packager.packaging._uv import neutral_environment, run_uv

from .platforms import PYTHON_VERSION, Platform


DEPENDENCY_FILES = ("pyproject.toml", "uv.lock", "requirements.txt")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheels:
    """The wheels of one package.

    Attributes:
        folder: The folder that holds them.
        names: The file names of each platform, by the distributions' names.
    """

    folder: Path
    names: Mapping[Platform, Mapping[str, str]]

    @property
    def files(self) -> dict[str, bytes]:
        """Their content by their path in the package."""
        names = {name for wheels in self.names.values() for name in wheels.values()}
        return {f"wheels/{name}": (self.folder / name).read_bytes() for name in sorted(names)}

    @property
    def pins(self) -> list[str]:
        """The requirements for exactly these wheels, each with a marker if it is not for all of the platforms."""
        platforms: dict[str, list[Platform]] = defaultdict(list)
        for platform, wheels in self.names.items():
            for file in wheels.values():
                name, version, *_ = parse_wheel_filename(file)
                platforms[f"{name}=={version}"].append(platform)
        return sorted(
            pin if len(held) == len(self.names) else f"{pin} ; {_marker(held)}"
            for pin, held in platforms.items()
        )


def write_dependency_files(
    wheels: Wheels, *, name: str, version: str, staging: Path
) -> dict[str, bytes]:
    """Return the three files, made in `staging`.

    Every pin also overrides the requirements in the wheels' own metadata, so that the choices of the plugin's lock hold without it.

    Raises:
        UvError: If uv finds that a wheel is missing.
    """
    pins = wheels.pins
    pyproject = _pyproject(name, version, pins, list(wheels.names))
    (staging / "pyproject.toml").write_text(pyproject, encoding="utf-8", newline="\n")
    # A link, so that the lock names the wheels by the path that they have in the package.
    (staging / "wheels").symlink_to(wheels.folder)
    options = ("--quiet", "--no-config", "--offline", "--no-index", "--find-links", "wheels")
    environment = neutral_environment()
    run_uv("lock", *options, "--python", PYTHON_VERSION, cwd=staging, environment=environment)
    requirements = ["--no-index", "--find-links ./wheels", *pins]
    return {
        "pyproject.toml": pyproject.encode(),
        "uv.lock": (staging / "uv.lock").read_bytes(),
        "requirements.txt": "".join(f"{line}\n" for line in requirements).encode(),
    }


def _pyproject(name: str, version: str, pins: Sequence[str], platforms: Sequence[Platform]) -> str:
    named = " and ".join(platform.name for platform in platforms)
    comment = f"# Made by `dify-host package --offline` for {named}: everything comes from the folder wheels.\n"
    return comment + write_toml(
        {
            "project": {
                "name": f"{canonicalize_name(name)}-offline",
                "version": version,
                "requires-python": f"=={PYTHON_VERSION}.*",
                "dependencies": list(pins),
            },
            "dependency-groups": {"dev": []},
            "tool.uv": {
                "package": False,
                "no-index": True,
                "find-links": ("wheels",),
                "environments": [platform.marker for platform in platforms],
                "override-dependencies": list(pins),
            },
        }
    )


def _marker(platforms: Sequence[Platform]) -> str:
    return " or ".join(f"platform_machine == '{platform.machine}'" for platform in platforms)
