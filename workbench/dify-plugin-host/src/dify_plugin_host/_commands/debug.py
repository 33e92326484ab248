"""The command `dify-host debug`: a plugin that waits for a debugger, and is then called or served."""

import asyncio
import sys
from typing import TextIO

from dify_plugin_host._process.debugger import Debugger
from stream_text.signals import cancelled_by_signals

from .call import Call, CallError, open_call
from .debug_in_dify import debug_in_dify
from .options import DebugOptions, ServeOptions
from .questions import Questions, is_terminal
from .serve import run_serve


def run_debug(options: DebugOptions, *, out: TextIO) -> None:
    """Start the plugin with a debugger, then make the call that the options describe, or serve it, or run it in a Dify until a signal comes.

    Raises:
        DebuggerMissingError: If debugpy is not installed.
        PluginHostError: If the call cannot be made, or fails outside of a terminal.
    """
    debugger = Debugger(options.port, waits=options.dify is None)
    if options.dify is not None:
        debug_in_dify(options, options.dify, debugger, out=out)
    elif options.name is None and not options.validate:
        run_serve(_serving(options), out=out, debugger=debugger)
    else:
        with open_call(options, out=out, debugger=debugger) as prepared:
            asyncio.run(_call(prepared))


async def _call(prepared: Call) -> None:
    """Make the call; in a terminal again for each line."""
    lines = Questions(None)
    with cancelled_by_signals():
        async with prepared.host:
            if not is_terminal():
                await prepared.make()
                return
            line: str | None = ""
            while line is not None:
                try:
                    await prepared.make()
                except CallError as error:
                    _say(f"dify-host: error: {error}")
                _say("Enter calls again, Ctrl-D ends:")
                line = await lines.read_answer()


def _serving(options: DebugOptions) -> ServeOptions:
    return ServeOptions(
        sources=[options.plugin, *(options.beside or ())],
        port=0,
        tools=options.tools,
        simulator=options.simulator,
        verbose=options.verbose,
        as_json=options.as_json,
    )


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - stdout has the messages
