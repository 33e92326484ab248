"""A plugin is replaced by a newer version of itself while it answers."""

import re
import zipfile
from concurrent.futures import ThreadPoolExecutor

from dify import KEY, MODEL_PLUGIN, answer_of, model_call, user
from gpt5_simulator import ResponsesSimulator, ScriptedModel, Text
from servers import wait_until


SENTENCE = "A sentence, word by word. "


def simulate(text, delay_seconds=0.0):
    model = ScriptedModel([[Text(text=text)]])
    return ResponsesSimulator(model=model, api_keys=[KEY], delay_seconds=delay_seconds)


def call(client, simulator):
    data = model_call(simulator.base_url, user("Hello."))
    return answer_of(list(client.call(MODEL_PLUGIN, "llm/invoke", data)))


def test_a_stream_ends_whole_and_the_next_call_goes_to_the_new_version(client, packages, tmp_path):
    old = client.upload(packages[0])
    newer = with_version(packages[0], "0.1.1", tmp_path)
    with simulate(SENTENCE * 40, delay_seconds=0.15) as slow, ThreadPoolExecutor() as pool:
        running = pool.submit(call, client, slow)
        wait_until(lambda: slow.requests, "the model to be asked")
        client.upgrade(old, newer)
        assert not running.done()
        assert running.result().endswith(SENTENCE * 40)
    with simulate("From the new one.") as quick:
        assert call(client, quick).endswith("From the new one.")


def with_version(package, version, folder):
    """Return the same package under another version."""
    target = folder / f"{version}.difypkg"
    with zipfile.ZipFile(package) as old, zipfile.ZipFile(target, "w") as new:
        for entry in old.infolist():
            data = old.read(entry)
            if entry.filename == "manifest.yaml":
                data = re.sub(
                    rb"^version: .*",
                    f"version: {version}".encode(),
                    data,
                    count=1,
                    flags=re.MULTILINE,
                )
            new.writestr(entry, data)
    return target
