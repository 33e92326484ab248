"""A plugin daemon's own judgement of a package, by the command line of Dify that was built with it.

Its `plugin run` decodes a package as an upload does, and unpacks it as an installation does. Then it would install and
start it; here it finds no uv, so it stops, and no code of the package is run.

Source: `cmd/commandline/run/run.go` and `internal/core/testutils/runtime.go` of langgenius/dify-plugin-daemon at bdb5642a; tried with programs of
0.4.1, 0.5.3, 0.6.0, 0.6.9 and that commit, 2026-11.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from dify_plugin_host._errors import TargetError
from dify_plugin_packager.json_access import JsonObject, is_object, object_at
from dify_plugin_packager.packaging import run_program
from stream_text import parse_json


# The end of its words about an environment that it could not make, and the beginning of them up to 0.4.
_NO_ENVIRONMENT = ("initialize python environment error", "init environment for plugin")
_SHOWN_LETTERS = 200


def ask_daemon(program: Path, package: Path) -> tuple[str, str | None]:
    """Have Dify's command line read and unpack a package.

    Returns:
        The version of the command line, and why its daemon refuses the package; None if it takes it.

    Raises:
        TargetError: If the program is not that command line, or one without `plugin run`.
    """
    with tempfile.TemporaryDirectory(prefix="dify-host-") as temporary:
        nowhere = f"{temporary}/nowhere"
        environment = {
            "HOME": temporary,
            "TMPDIR": temporary,
            "PATH": nowhere,
            "UV_PATH": f"{nowhere}/uv",
            "PYTHON_INTERPRETER_PATH": f"{nowhere}/python",
        }

        def run(*arguments: str) -> str:
            try:
                done = run_program(
                    str(program), *arguments, cwd=Path(temporary), environment=environment
                )
            except OSError as error:
                raise TargetError(str(program), f"cannot be run: {error.strerror}") from None
            return done.stdout

        version = run("version").strip()
        said = run("plugin", "run", str(package.absolute()), "--response-format", "json")
    errors = [str(response.get("error")) for response in _read_responses(said)]
    if not errors:
        expected = "expected Dify's command line with the command 'plugin run'"
        raise TargetError(str(program), f"{expected}; it printed {said[:_SHOWN_LETTERS]!r}")
    is_taken = any(text in errors[0] for text in _NO_ENVIRONMENT)
    return version, None if is_taken else "; ".join(errors[0].splitlines())


def _read_responses(said: str) -> Iterator[JsonObject]:
    """Yield what the command line answers as errors."""
    for line in said.splitlines():
        try:
            answer = parse_json(line)
        except ValueError:
            continue
        if is_object(answer) and answer.get("type") == "error":
            yield object_at(answer, "response")
