"""What Python does first in debugpy's adapter, the process that editors connect to; this folder is on the adapter's path, and holds nothing else.

Left alone, the adapter would leave the plugin's session, to outlive it for as long as an editor is attached, and hold
the plugin's stdout open, so that nobody would notice the plugin's end.
"""  # noqa: INP001 - a folder for the path

import os
import signal


os.setsid = lambda: None
os.dup2(os.open(os.devnull, os.O_RDWR), 0)
os.dup2(0, 1)
# It ends by itself after the plugin, when it has told the editor, and is killed if the editor stays.
signal.signal(signal.SIGTERM, signal.SIG_IGN)
