"""A small program that waits for a debugger, and then becomes the plugin.

It is run as a script, by the plugin's own Python, with a port, the folder of the package debugpy, the plugin's module
and, if it waits, a further word. That Python may be another than the host's.
"""

import importlib.util
import json
import os
import runpy
import sys
import time
from pathlib import Path
from typing import Any


_LOOPBACK = "127.0.0.1"
_ON_ADAPTER_PATH = Path(__file__).with_name("_on_adapter_path")


def main(
    port: int, debugpy_folder: str, entrypoint: str, waits: str
) -> None:  # pragma: no cover - runs in the plugin's process
    """Wait for a debugger if `waits` is not empty, then run `entrypoint` as `python -m` does."""
    # In place of this script's folder.
    sys.path[0] = os.getcwd()  # noqa: PTH109 - a path is a text here
    sys.argv[1:] = []
    # debugpy reads it when it is imported, and cannot do without where the plugin patches with gevent.
    if importlib.util.find_spec("gevent"):
        os.environ["GEVENT_SUPPORT"] = "True"
    debugpy = _import(debugpy_folder)
    adapter = {**os.environ, "PYTHONPATH": str(_ON_ADAPTER_PATH)}
    # A process that the plugin starts would wait for an editor of its own.
    debugpy.configure(subProcess=False, pythonEnv=adapter)
    try:
        _, port = debugpy.listen((_LOOPBACK, port))
    except RuntimeError as error:
        sys.exit(f"no debugger can attach to port {port}: {error}")
    if waits:
        _log(f"waiting for a debugger on {_LOOPBACK}:{port}")
        debugpy.wait_for_client()
    else:
        _log(f"a debugger can attach to {_LOOPBACK}:{port}")
    sys.breakpointhook = debugpy.breakpoint
    runpy.run_module(entrypoint, run_name="__main__", alter_sys=True)


def _import(folder: str) -> Any:  # pragma: no cover - runs in the plugin's process
    """Import the package in a folder, whose neighbours are not for the plugin."""
    place = Path(folder)
    spec = importlib.util.spec_from_file_location(
        place.name, place / "__init__.py", submodule_search_locations=[folder]
    )
    assert spec  # noqa: S101 - there is one for every Python file
    assert spec.loader  # noqa: S101 - likewise
    module = sys.modules[place.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _log(text: str) -> None:  # pragma: no cover - runs in the plugin's process
    """Write a message as the plugin SDK writes its log."""
    data = {"level": "WARNING", "message": text, "timestamp": time.time()}
    print(json.dumps({"event": "log", "session_id": None, "data": data}), flush=True)  # noqa: T201 - the protocol's stream


if __name__ == "__main__":  # pragma: no cover - runs in the plugin's process
    main(int(sys.argv[1]), *sys.argv[2:])
