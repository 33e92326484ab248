import socket

import pytest

from dify_plugin_host.platform import SimulatorStartError, open_server


def test_a_simulator_that_cannot_listen_is_reported(monkeypatch):
    def refuse(*_):
        raise OSError(98, "Address already in use")

    monkeypatch.setattr(socket.socket, "bind", refuse)
    expected = "the built-in simulator did not start: port 0: Address already in use"
    with pytest.raises(SimulatorStartError, match=expected), open_server({}):
        pass
