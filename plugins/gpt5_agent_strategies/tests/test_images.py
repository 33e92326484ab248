"""Images and documents: those that come with the question, those of the history, and those that tools and models make."""

import base64

import pytest

from file_server import BLIND, JPEG, PDF, PNG, SEES, prompts, seen
from scripted_dify import call, chunk, text_message, tool


LINE = 5 * 1024 * 1024


def image(data=PNG, **rest):
    encoded = base64.b64encode(data).decode()
    return {
        "type": "image",
        "format": "png",
        "mime_type": "image/png",
        "base64_data": encoded,
        **rest,
    }


def test_files_are_seen_in_every_round_and_fetched_once(agent, server, give):
    agent.dify.model = [[chunk(calls=[call("look")])], [chunk("Two cats.")]]
    agent.dify.tools["look"] = [text_message("nothing new")]
    files = [give("a.png", PNG), give("b.pdf", PDF, "document", "application/pdf")]
    transcript = agent.run(query="What?", files=files, model=SEES, tools=[tool("look")])
    assert transcript.text.endswith("Two cats.")
    first, second = prompts(agent, 0), prompts(agent, 1)
    assert seen(first[-1]) == [PNG, PDF, "What?"]
    assert second[: len(first)] == first
    assert sorted(server.asked) == ["/a.png", "/b.pdf"]
    assert [part.get("filename") for part in first[-1]["content"]] == ["a.png", "b.pdf", None]


@pytest.mark.parametrize("unset", ["absent", None, [None], [], "", [[]]])
def test_no_files_leave_the_question_as_it_is(agent, unset):
    agent.dify.model = [[chunk("4")]]
    agent.run(query="2 + 2?", **({} if unset == "absent" else {"files": unset}))
    assert prompts(agent)[-1]["content"] == "2 + 2?"


def test_one_file_alone_and_lists_with_other_things_in_them_are_read(agent, give):
    agent.dify.model = [[chunk("A cat.")], [chunk("A cat.")]]
    agent.run(query="?", files=give("a.png", PNG), model=SEES)
    assert seen(prompts(agent)[-1]) == [PNG, "?"]
    transcript = agent.run(query="?", files=[None, give("a.png", PNG), 7], model=SEES)
    assert seen(prompts(agent)[-1]) == [PNG, "?"]
    assert transcript.logs["Files left out"]["data"] == {
        "left_out": ["files[1]: expected a file, got int"]
    }


def test_the_scheme_of_a_link_may_be_in_capitals(agent, give):
    agent.dify.model = [[chunk("A cat.")]]
    file = give("a.png", PNG)
    agent.run(query="?", files=[{**file, "url": file["url"].replace("http", "HTTP")}], model=SEES)
    assert seen(prompts(agent)[-1]) == [PNG, "?"]


def test_a_model_that_does_not_see_reads_the_names(agent, give):
    agent.dify.model = [[chunk("No.")]]
    files = [give("a.png", PNG), give("b.mp3", b"ID3", "audio", "audio/mpeg")]
    agent.run(query="What?", files=files, model=BLIND)
    assert prompts(agent)[-1]["content"] == (
        '[image "a.png" omitted: this model does not read it]\n'
        '[audio "b.mp3" omitted: this model does not read it]\nWhat?'
    )


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"url": "/files/a.png?sign=1"}, "its link has no address: FILES_URL is not set in Dify"),
        ({"url": "http://127.0.0.1:1/a.png"}, "its link could not be reached"),
        ({"url": "http://[::1/a.png"}, "its link must not be followed"),
        ({"url": "http://0xA9FEA9FE/latest/meta-data"}, "its link must not be followed"),
        ({"url": "http://metadata.google.internal/"}, "its link must not be followed"),
        ({"url": "http://metadata%2egoogle%2einternal/"}, "its link must not be followed"),
        ({"url": "http://[fd00:42::42]/latest"}, "its link must not be followed"),
        ({"url": "ended.png"}, "its link is not valid any more (status 403)"),
        ({"url": "moved.png"}, "its link is not valid any more (status 302)"),
        ({"size": 16 << 20}, "it has 16,777,216 bytes, and 15,728,640 are read at most"),
        ({"url": "large.png"}, "it has over 15 MB"),
        ({"url": "empty.png"}, "it is empty"),
        ({"url": "ftp://dify.example/a.png"}, "its link is no http or https address"),
        ({"url": ""}, "its link is no http or https address"),
    ],
)
def test_a_file_that_is_gone_is_told_by_its_name_and_the_run_goes_on(
    agent, server, give, change, told
):
    server.files["/moved.png"] = f"{server.url}/a.png"
    server.files["/empty.png"] = b""
    server.files["/large.png"] = bytes((15 << 20) + 1)
    if "/" not in (change.get("url") or "/"):
        change = {"url": f"{server.url}/{change['url']}"}
    agent.dify.model = [[chunk("Please send it again.")]]
    transcript = agent.run(query="What?", files=[give("a.png", PNG, **change)], model=SEES)
    assert (transcript.error, transcript.text) == (None, "Please send it again.")
    assert prompts(agent)[-1]["content"] == f'[image "a.png" omitted: {told}]\nWhat?'
    assert "/a.png" not in server.asked


@pytest.mark.parametrize(
    ("data", "mime_type", "sent_as"),
    [
        (b"<html>Log in</html>", "image/png", None),
        (PDF, "image/gif", None),
        (JPEG, "image/png", "image/jpeg"),
        (b"<svg/>", "image/svg+xml", "image/svg+xml"),
    ],
)
def test_an_image_is_sent_as_what_it_is_and_one_that_is_none_is_told(
    agent, give, data, mime_type, sent_as
):
    """A model refuses the whole request for it; of other kinds of images the model's plugin says that none are read."""
    agent.dify.model = [[chunk("Ok.")]]
    agent.run(query="What?", files=[give("a.png", data, mime_type=mime_type)], model=SEES)
    content = prompts(agent)[-1]["content"]
    if sent_as is None:
        told = '[image "a.png" omitted: what its link leads to is no such image]'
        assert content == f"{told}\nWhat?"
        return
    assert (seen(prompts(agent)[-1]), content[0]["mime_type"]) == ([data, "What?"], sent_as)


@pytest.mark.long
def test_a_link_that_does_not_answer_costs_five_seconds_at_most(agent, give):
    agent.dify.model = [[chunk("So be it.")]]
    files = [give(f"{number}.png", b"wait") for number in range(9)] + [give("a.png", PNG)]
    agent.run(query="What?", files=files, model=SEES)
    *late, data, _ = seen(prompts(agent)[-1])
    assert data == PNG
    assert all(text.endswith("did not answer within 5 seconds]") for text in late)


def run_tool(agent, *messages, model=SEES, **rest):
    agent.dify.model = [[chunk(calls=[call("draw")])], [chunk("Done.")]]
    agent.dify.tools["draw"] = list(messages)
    transcript = agent.run(tools=[tool("draw")], model=model, **rest)
    return transcript, seen(prompts(agent)[-1])


DRAWN = "image generated and sent to user. Tell user to review it now."


def test_images_out_of_tools_are_seen_where_they_stand(agent, server, give):
    give("a.png", PNG)
    give("b.pdf", PDF)
    blob = {"message": {"blob": base64.b64encode(JPEG).decode()}, "type": "blob"}
    transcript, read = run_tool(
        agent,
        text_message("First "),
        {**blob, "meta": {"mime_type": "image/jpeg", "filename": "j.jpg"}},
        text_message("then "),
        {"type": "image_link", "message": {"text": f"{server.url}/a.png"}},
        {
            "type": "binary_link",
            "message": {"text": f"{server.url}/b.pdf"},
            "meta": {"mime_type": "application/pdf", "filename": "b.pdf", "tool_file_id": "b"},
        },
        text_message("last."),
    )
    link = f"result link: {server.url}/b.pdf. please tell user to check it."
    assert read == [
        "First Generated file ... ",
        JPEG,
        f"then {DRAWN}",
        PNG,
        link,
        PDF,
        "last.",
    ]
    assert len(transcript.of("blob")) == 1
    assert len(transcript.of("image_link")) == 2


@pytest.mark.parametrize(
    ("data", "text", "read"),
    [
        (None, "/files/tools/4f.png", "[image omitted: its link has no address: FILES_URL is"),
        (None, "ended", "[image omitted: its link is not valid any more (status 403)]"),
        (b"<html>Log in</html>", "page", ""),
        (b"", "empty", ""),
    ],
)
def test_an_image_of_a_tool_that_cannot_be_reached_or_is_none_is_a_sentence(
    agent, server, data, text, read
):
    server.files[f"/{text}"] = data
    url = text if text.startswith("/") else f"{server.url}/{text}"
    message = {"type": "image_link", "message": {"text": url}}
    transcript, [said] = run_tool(agent, message)
    assert transcript.text.endswith("Done.")
    assert said.startswith(f"{DRAWN}\n{read}" if read else DRAWN)


ANSWERED = "This came with the assistant's message above:"


def test_the_history_keeps_its_images_where_the_model_sees(agent):
    history = [
        {"role": "user", "content": [image(), {"type": "text", "data": "And this?"}]},
        {"role": "assistant", "content": [{"type": "text", "data": "Yes."}, image(JPEG)]},
    ]
    for model, expected in [
        (SEES, [[PNG, "And this?"], ["Yes."], [ANSWERED, JPEG, "Look."]]),
        (
            BLIND,
            [
                ["[image omitted: this model does not read it]\nAnd this?"],
                ["Yes.\n[image omitted: this model does not read it]"],
                ["Look."],
            ],
        ),
    ]:
        agent.dify.model = [[chunk("Ok.")]]
        agent.run(model={**model, "history_prompt_messages": history}, query="Look.")
        assert [seen(message) for message in prompts(agent)[1:]] == expected


def test_fifty_megabytes_of_history_end_in_an_answer_and_the_newest_images_stay(agent):
    data = [bytes([number]) * (1 << 20) for number in range(50)]
    history = [
        {"role": "user", "content": [image(each, filename=f"{number}.png")]}
        for number, each in enumerate(data)
    ]
    agent.dify.model = [[chunk(calls=[call("look")])], [chunk("Done.")]]
    agent.dify.tools["look"] = [
        {
            "type": "blob",
            "message": {"blob": base64.b64encode(PNG + bytes(1 << 20)).decode()},
            "meta": {"mime_type": "image/png"},
        }
    ]
    transcript = agent.run(tools=[tool("look")], model={**SEES, "history_prompt_messages": history})
    assert transcript.error is None
    assert transcript.text.endswith("Done.")
    first, second = prompts(agent, 0), prompts(agent, 1)
    assert [seen(message)[0] for message in first[-3:-1]] == data[-2:]
    assert seen(first[1]) == [
        '[image "0.png" omitted: no room for it beside the newer ones in one request]'
    ]
    assert second[: len(first)] == first
    assert seen(second[-1])[-1] == PNG + bytes(1 << 20)
    left_out = [
        message["message"]["data"]
        for message in transcript.of("log")
        if message["message"]["label"].startswith("Images and files replaced")
    ]
    assert left_out == [{"left_out": ["48 images or files of the request"]}]


def test_an_image_of_the_answer_leaves_as_a_file(agent):
    parts = [{"type": "text", "data": "Here: "}, image(filename="cat.png")]
    agent.dify.model = [[chunk(content=parts)]]
    transcript = agent.run()
    [blob] = transcript.of("blob")
    assert base64.b64decode(blob["message"]["blob"]) == PNG
    assert blob["meta"] == {"mime_type": "image/png", "filename": "cat.png"}
    assert transcript.text == "Here: "


def test_an_answer_that_is_an_image_alone_is_an_answer(agent, server, give):
    give("a.png", PNG)
    url = {**image(), "base64_data": "", "url": f"{server.url}/a.png"}
    agent.dify.model = [[chunk(content=[url])]]
    transcript = agent.run()
    assert base64.b64decode(transcript.of("blob")[0]["message"]["blob"]) == PNG
    assert (transcript.text, transcript.metadata["stop_reason"]) == ("", "answered")


def test_an_image_of_the_answer_that_is_none_is_a_sentence(agent):
    agent.dify.model = [[chunk(content=[{**image(), "base64_data": "no base64"}])]]
    assert agent.run().text == "[image omitted: its data could not be read]"
