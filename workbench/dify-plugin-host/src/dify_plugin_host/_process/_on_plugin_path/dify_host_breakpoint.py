"""The function that `breakpoint()` calls in a plugin's process, alone in a folder on the plugin's path."""  # noqa: INP001 - a folder for the path

from typing import NoReturn


def refuse(*_: object, **__: object) -> NoReturn:  # pragma: no cover - runs in the plugin's process
    """Refuse to wait for a debugger's commands.

    Raises:
        RuntimeError: If it is called.
    """
    raise RuntimeError(
        "breakpoint() is refused: a plugin's stdin and stdout carry the protocol, and no debugger reads them. With dify-host debug"
        " it stops in your editor; or name a debugger that listens on a port in PYTHONBREAKPOINT, such as remote_pdb.set_trace;"
        " or log instead (dify-host serve --verbose shows it)"
    )
