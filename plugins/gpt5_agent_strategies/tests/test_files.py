"""Files that tools make, on their way to the user."""

import base64
import json
import os

import pytest

from scripted_dify import call, chunk, text_message, tool


PNG = b"\x89PNG\r\n\x1a\n" + bytes(24)
JPEG = b"\xff\xd8\xff\xe0" + bytes(24)
DRAWN = "image generated and sent to user. Tell user to review it now."
REFUSED = "Failed to process generated image file."


@pytest.fixture(scope="session")
def root(files_root):
    (files_root.parent / "secret.png").write_bytes(PNG)
    return files_root


def draw(agent, path, *, kind="image"):
    """Run an agent whose tool says that its image lies at `path`, and whose model sees none; return the run and what the model read."""
    agent.dify.model = [[chunk(calls=[call("draw")])], [chunk("Done.")]]
    agent.dify.tools["draw"] = [{"type": kind, "message": {"text": str(path)}}]
    transcript = agent.run(tools=[tool("draw")], model={"entity": {"features": ["tool-call"]}})
    return transcript, agent.dify.model_requests[-1]["prompt_messages"][-1]["content"]


@pytest.mark.parametrize(
    ("name", "data", "mime_type"),
    [
        ("a.png", PNG, "image/png"),
        ("photo.png", JPEG, "image/jpeg"),
        ("a.svg", b"<svg/>", "image/svg+xml"),
    ],
)
def test_an_image_of_this_machine_is_passed_on_once_as_what_it_is(
    configured_agent, root, name, data, mime_type
):
    """C5: the official strategy sends it twice, and calls everything a PNG."""
    (root / name).write_bytes(data)
    transcript, observation = draw(configured_agent, root / name)
    [blob] = transcript.of("blob")
    assert base64.b64decode(blob["message"]["blob"]) == data
    assert blob["meta"] == {"mime_type": mime_type, "filename": name}
    assert transcript.of("image") == transcript.of("image_link") == []
    assert observation == DRAWN


def test_the_largest_image_passes_and_one_byte_more_does_not(configured_agent, root):
    largest = PNG + bytes(5 * 1024 * 1024 - len(PNG))
    (root / "large.png").write_bytes(largest)
    transcript, _ = draw(configured_agent, root / "large.png")
    assert base64.b64decode(transcript.of("blob")[0]["message"]["blob"]) == largest
    (root / "large.png").write_bytes(largest + b"x")
    transcript, observation = draw(configured_agent, root / "large.png")
    assert (transcript.of("blob"), observation) == ([], REFUSED)
    assert REFUSED in transcript.text


@pytest.mark.parametrize("way_out", ["../secret.png", "link.png", "folder/secret.png"])
def test_no_way_leads_out_of_the_folder(configured_agent, root, way_out):
    for link, target in {"link.png": "../secret.png", "folder": ".."}.items():
        if not (root / link).is_symlink():
            (root / link).symlink_to(target)
    transcript, observation = draw(configured_agent, root / way_out)
    assert (transcript.of("blob"), transcript.of("image"), observation) == ([], [], REFUSED)
    assert transcript.text.count(REFUSED) == 1


def test_a_link_to_an_image_of_this_machine_is_read_too(configured_agent, root):
    (root / "linked.png").write_bytes(PNG)
    transcript, _ = draw(configured_agent, root / "linked.png", kind="image_link")
    assert (len(transcript.of("blob")), transcript.of("image_link")) == (1, [])


def test_a_path_of_the_platform_passes_as_it_is(configured_agent, root):
    transcript, observation = draw(configured_agent, root / "tools" / "not-here.png")
    assert [m["message"]["text"] for m in transcript.of("image")] == [f"{root}/tools/not-here.png"]
    assert observation == DRAWN


def test_a_link_to_a_file_that_is_no_image_is_passed_on_as_a_file(agent):
    """Dify makes such a link of every document that a tool makes, and the SDK fails the tool for it."""
    url = "/files/tools/4f.docx"
    meta = {"tool_file_id": "4f", "mime_type": "application/msword"}
    agent.dify.model = [[chunk(calls=[call("draw")])], [chunk("Done.")]]
    agent.dify.tools["draw"] = [
        text_message("Made it. "),
        {"type": "binary_link", "message": {"text": url}, "meta": meta},
    ]
    transcript = agent.run(tools=[tool("draw")])
    # The agent node treats it as it does `binary_link`: it asks the stored file what it is.
    assert transcript.of("image_link") == [
        {"type": "image_link", "message": {"text": url}, "meta": meta}
    ]
    assert agent.dify.model_requests[1]["prompt_messages"][-1]["content"] == (
        f"Made it. result link: {url}. please tell user to check it."
    )
    assert transcript.logs["CALL draw"]["status"] == "success"


def test_a_file_that_the_platform_would_not_take_fails_its_tool_and_not_the_run(agent):
    size = 15 * 1024 * 1024 + 1
    piece = {"id": "f", "sequence": 0, "total_length": size, "blob": "YWJj", "end": False}
    agent.dify.model = [[chunk(calls=[call("draw")])], [chunk("Done.")]]
    agent.dify.tools["draw"] = [{"type": "blob_chunk", "message": piece}]
    transcript = agent.run(tools=[tool("draw")])
    assert transcript.error is None
    assert "File is too large" in transcript.logs["CALL draw"]["error"]


def make_folder(path):
    path.mkdir()


def make_dangling_link(path):
    path.symlink_to(path.with_name("nowhere.png"))


@pytest.mark.parametrize("make", [make_folder, make_dangling_link, os.mkfifo])
@pytest.mark.parametrize("kind", ["image", "image_link"])
def test_an_image_that_is_there_and_cannot_be_read_is_told_and_its_path_is_not(
    configured_agent, root, make, kind
):
    path = root / f"{make.__name__}-{kind}.png"
    make(path)
    transcript, observation = draw(configured_agent, path, kind=kind)
    assert observation == REFUSED
    assert REFUSED in transcript.text
    assert path.name not in json.dumps([transcript.messages, configured_agent.log])
