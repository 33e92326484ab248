"""`breakpoint()` in a plugin: pdb would read the protocol as its commands, and the call would hang until its time is over."""

import os
from collections.abc import Mapping
from pathlib import Path


_FOLDER = Path(__file__).with_name("_on_plugin_path")
_VARIABLE = "PYTHONBREAKPOINT"


def refusing_breakpoints(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables by which Python refuses `breakpoint()` with a sentence; none where the environment names a debugger."""
    if environment.get(_VARIABLE):
        return {}
    path = filter(None, [str(_FOLDER), environment.get("PYTHONPATH")])
    return {_VARIABLE: "dify_host_breakpoint.refuse", "PYTHONPATH": os.pathsep.join(path)}
