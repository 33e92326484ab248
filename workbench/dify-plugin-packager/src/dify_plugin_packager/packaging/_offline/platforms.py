"""The platforms of offline packages: Linux with glibc, like the daemon's image.

Source: `docker/local.dockerfile` (ubuntu:24.04 with its own python3.12) and `internal/core/local_runtime/setup_python_environment.go`
(`uv venv --python 3.12`, whatever a manifest says) of langgenius/dify-plugin-daemon at bdb5642a.
"""

import platform
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from packaging.markers import Environment
from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import parse_wheel_filename


PYTHON = (3, 12)
PYTHON_VERSION = "3.12"
GLIBC = (2, 39)

_PATCHES = (3, 99)  # Python's patch version: the image's, and any later one
# Minor versions of glibc 2 with which each processor's manylinux begins.
_OLDEST_GLIBC = {"x86_64": 5, "aarch64": 17}
_OLD_NAMES = {5: "manylinux1", 12: "manylinux2010", 17: "manylinux2014"}
_SYNONYMS = {"amd64": "x86_64", "arm64": "aarch64"}


@dataclass(frozen=True, slots=True)
class Platform:
    """A kind of machine.

    Attributes:
        machine: Its processor, `x86_64` or `aarch64`.
    """

    machine: str

    @classmethod
    def parse(cls, name: str) -> Self:
        """Parse a name such as `linux_x86_64`.

        Raises:
            ValueError: If there is no such platform.
        """
        if name not in PLATFORMS:
            raise ValueError(f"expected one of {', '.join(PLATFORMS)}, got {name!r}")
        return cls(name.removeprefix("linux_"))

    @classmethod
    def of_this_machine(cls) -> Self:
        """Return this machine's platform; on macOS that of the containers in which a daemon runs there.

        Raises:
            ValueError: If no daemon runs on such a processor.
        """
        machine = platform.machine().lower()
        return cls.parse(f"linux_{_SYNONYMS.get(machine, machine)}")

    @property
    def name(self) -> str:
        """Its name, as in wheels' tags."""
        return f"linux_{self.machine}"

    @property
    def marker(self) -> str:
        """The marker that holds on this platform only."""
        return f"sys_platform == 'linux' and platform_machine == '{self.machine}'"

    @property
    def tags(self) -> list[Tag]:
        """The tags of the wheels that run here; of two that differ only in glibc the older comes first, because it runs on more machines."""
        names = list(_system_names(self.machine))
        return [
            *cpython_tags(PYTHON, platforms=names),
            *compatible_tags(PYTHON, f"cp{PYTHON[0]}{PYTHON[1]}", names),
        ]

    @property
    def environments(self) -> list[Environment]:
        """The environments in which markers are evaluated: this platform, with the patch versions of Python that a daemon may have."""
        return [
            {
                "implementation_name": "cpython",
                "implementation_version": f"{PYTHON_VERSION}.{patch}",
                "os_name": "posix",
                "platform_machine": self.machine,
                "platform_python_implementation": "CPython",
                "platform_release": "",
                "platform_system": "Linux",
                "platform_version": "",
                "python_full_version": f"{PYTHON_VERSION}.{patch}",
                "python_version": PYTHON_VERSION,
                "sys_platform": "linux",
            }
            for patch in _PATCHES
        ]


PLATFORMS = tuple(f"linux_{machine}" for machine in _OLDEST_GLIBC)
"""The platforms that an offline package can be made for."""


def needed_glibc(wheel: str) -> int:
    """Return the minor version of glibc 2 that a wheel needs, by its file name; 0 if it needs none."""
    *_, tags = parse_wheel_filename(wheel)
    minors = {name: minor for minor, name in _OLD_NAMES.items()}
    needs = [
        int(name.split("_")[2]) if name.startswith("manylinux_2_") else minors.get(legacy, 0)
        for name in (tag.platform for tag in tags)
        for legacy in [name.partition("_")[0]]
    ]
    return min(needs, default=0)


def _system_names(machine: str) -> Iterator[str]:
    for minor in range(_OLDEST_GLIBC[machine], GLIBC[1] + 1):
        yield f"manylinux_{GLIBC[0]}_{minor}_{machine}"
        if minor in _OLD_NAMES:
            yield f"{_OLD_NAMES[minor]}_{machine}"
    yield f"linux_{machine}"
