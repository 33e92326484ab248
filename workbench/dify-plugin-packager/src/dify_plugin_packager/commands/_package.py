"""The command `package`, which makes plugins into packages, with every wheel inside for `--offline`."""

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from dify_plugin_packager.packaging import (
    Judge,
    OfflinePackage,
    Package,
    Platform,
    build_offline,
    build_package,
    with_variant,
)

from ._find_plugins import find_folders
from ._printable import escape_hidden


_MB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageOptions:
    """The options of the command line.

    Attributes:
        plugins: Plugin folders, or names of folders in plugins/; by default this folder if it is a plugin, else all of plugins/. With
            --offline packages as well.
        output: Where to write the packages.
        variant: Make a variant, as [tool.dify-host.variants] in a plugin's pyproject.toml describes it; by default of all plugins that
            have it.
        offline: Put every wheel inside, so that no index is needed.
        platform: With --offline: linux_x86_64 or linux_aarch64, or both by giving it twice; this machine's by default.
        max_size: With --offline: the most MB (1024 x 1024 bytes) that a package may hold.
    """

    plugins: Annotated[list[str] | None, typer.Argument()] = None
    output: Path = Path("dist")
    variant: str | None = None
    offline: bool = False
    platform: list[str] | None = None
    max_size: Annotated[int, typer.Option(min=1)] = 50


def package_plugins(options: PackageOptions, judge: Judge = lambda _: ()) -> None:
    """Write packages; print the path, the size in bytes and the unique identifier of each, and any notes on stderr.

    Raises:
        BadParameter: If an option has no meaning with the others.
        DifyPluginError: If a package cannot be made.
    """
    if options.platform and not options.offline:
        raise typer.BadParameter("expected --offline with it", param_hint="--platform")
    names = options.plugins or ()
    write, find = _package, find_folders
    if options.offline:
        platforms = _platforms(options.platform or ())
        write, find = functools.partial(_package_offline, platforms=platforms), _find_sources
    sources = find(names, start=Path.cwd())
    # A plugin that was named must have the variant; of all plugins, those count that have it.
    if options.variant is not None and not names:
        sources = with_variant(sources, options.variant)
    for source in sources:
        for line in write(source, options, judge):
            typer.echo(escape_hidden(f"{source.name}: {line}"), err=True)


def _package(folder: Path, options: PackageOptions, judge: Judge) -> Iterator[str]:
    """Write a package and print its line; yield the notes on it."""
    built = build_package(folder, options.output, variant=options.variant, judge=judge)
    _print_line(built)
    if built.left_out:
        # Dify's own packager takes these files, so its checksum is another one.
        differs = "; the checksum is not that of Dify's own packager" if built.is_as_is else ""
        yield f"left out: {', '.join(built.left_out)}{differs}"
    if built.unsaid:
        where = "[tool.dify-plugins] of the workspace's pyproject.toml"
        yield f"without {' and '.join(built.unsaid)}, which a marketplace asks for: see {where}"


def _package_offline(
    source: Path, options: PackageOptions, judge: Judge, *, platforms: Sequence[Platform]
) -> Iterator[str]:
    """Write offline packages and print the line of each; yield the notes on their source."""
    built = build_offline(
        source,
        options.output,
        platforms=platforms,
        limit_bytes=options.max_size * _MB,
        variant=options.variant,
        judge=judge,
    )
    for package in built:
        _print_line(package)
        typer.echo(f"{package.path.name}: {_summary(package)}", err=True)
    yield from built[0].notes


def _print_line(package: Package | OfflinePackage) -> None:
    typer.echo(f"{package.path}  {package.size_bytes}  {package.identifier}")


def _platforms(names: Sequence[str]) -> tuple[Platform, ...]:
    """Read the names of platforms; none means this machine's.

    Raises:
        BadParameter: If there is no such platform.
    """
    try:
        given = [Platform.parse(name) for name in names] or [Platform.of_this_machine()]
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--platform") from None
    return tuple(dict.fromkeys(given))


def _find_sources(names: Sequence[str], *, start: Path) -> list[Path]:
    """Find packages by their paths, and folders as without `--offline`."""
    if not names:
        return find_folders((), start=start)
    found: list[Path] = []
    for name in names:
        is_package = name.endswith(".difypkg") and not Path(name).is_dir()
        found += [Path(name)] if is_package else find_folders([name], start=start)
    return found


def _summary(package: OfflinePackage) -> str:
    """Describe a package: its wheels, its platforms, its size, the glibc that it needs, and that it is not signed."""
    glibc = f"; needs glibc {package.glibc}" if package.glibc else ""
    platforms = " and ".join(platform.name for platform in package.platforms)
    sizes = f"{package.size_bytes / _MB:.1f} MB, unpacked {package.unpacked_bytes / _MB:.1f} MB"
    wheels = f"{package.wheels} wheel{'' if package.wheels == 1 else 's'}"
    return f"{wheels} for {platforms}; {sizes}{glibc}; not signed"
