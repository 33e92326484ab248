import socket


def test_a_simulator_that_cannot_listen_is_reported(dify_host, monkeypatch, plugins):
    def refuse(*_):
        raise OSError(98, "Address already in use")

    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.chdir(plugins.parent)
    monkeypatch.setattr(socket.socket, "bind", refuse)
    code, _, err = dify_host("chat", "hello")
    assert code == 1
    assert "the built-in simulator did not start: port 0: Address already in use" in err
