"""`dify-host package --offline`: what it was given, and what it says of what it made."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import typer

from dify_plugin_host.checks import find_refusals
from dify_plugin_host.offline import OfflinePackage, Platform, build_offline
from dify_plugin_host.packaging import with_variant

from ._find_plugins import find_folders


_MB = 1024 * 1024


def read_platforms(names: Sequence[str]) -> tuple[Platform, ...]:
    """Read the names of platforms; none means this machine's.

    Raises:
        BadParameter: If there is no such platform.
    """
    try:
        given = [Platform.parse(name) for name in names] or [Platform.of_this_machine()]
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--platform") from None
    return tuple(dict.fromkeys(given))


def package_offline(
    plugins: Sequence[str],
    output: Path,
    *,
    platforms: Sequence[Platform],
    max_size_mb: int,
    variant: str | None,
) -> None:
    """Make offline packages and print path, size and identifier of each; what else there is to say goes to stderr.

    Raises:
        PluginHostError: If one cannot be made.
    """
    sources = list(_find_sources(plugins))
    if variant is not None and not plugins:
        sources = with_variant(sources, variant)
    for source in sources:
        built = build_offline(
            source,
            output,
            platforms=platforms,
            limit_bytes=max_size_mb * _MB,
            variant=variant,
            judge=find_refusals,
        )
        for package in built:
            typer.echo(f"{package.path}  {package.size_bytes}  {package.identifier}")
            typer.echo(f"{package.path.name}: {_summary(package)}", err=True)
        for note in built[0].notes:
            typer.echo(f"{source.name}: {note}", err=True)


def _find_sources(names: Sequence[str]) -> Iterator[Path]:
    """Find packages by their paths and folders as ever."""
    if not names:
        yield from find_folders((), start=Path.cwd())
    for name in names:
        is_package = name.endswith(".difypkg") and not Path(name).is_dir()
        yield from [Path(name)] if is_package else find_folders([name], start=Path.cwd())


def _summary(package: OfflinePackage) -> str:
    """Say what a package holds, how large it is, where it runs and how it is signed."""
    glibc = f"; needs glibc {package.glibc}" if package.glibc else ""
    platforms = " and ".join(platform.name for platform in package.platforms)
    sizes = f"{package.size_bytes / _MB:.1f} MB, unpacked {package.unpacked_bytes / _MB:.1f} MB"
    wheels = f"{package.wheels} wheel{'' if package.wheels == 1 else 's'}"
    return f"{wheels} for {platforms}; {sizes}{glibc}; not signed"
