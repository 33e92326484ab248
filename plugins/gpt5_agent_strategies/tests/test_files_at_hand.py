"""Files that the model chooses for tools by their names: of the question, of the history, and out of tools."""

import base64
import json
from itertools import pairwise

import pytest

from file_server import BLIND, JPEG, PDF, PNG, SEES, prompts, seen
from scripted_dify import call, chunk, parameter, text_message, tool


EDIT = tool(
    "edit",
    parameter("picture", "file", required=True),
    parameter("others", "files"),
)
DRAW = tool("draw")
DRAWN = "image generated and sent to user. Tell user to review it now."


def run(agent, *rounds, draw=(), model=SEES, tools=(EDIT, DRAW), **rest):
    """Run an agent whose rounds call `draw` (None) or `edit` with arguments; return what `edit` was given."""
    calls = [
        call("draw", id_=f"c{number}")
        if arguments is None
        else call("edit", json.dumps(arguments), id_=f"c{number}")
        for number, arguments in enumerate(rounds)
    ]
    agent.dify.model = [*([chunk(calls=[each])] for each in calls), [chunk("Done.")]]
    agent.dify.tools = {"edit": [text_message("edited")], "draw": list(draw), **agent.dify.tools}
    agent.dify.uploads = agent.dify.uploads or "http://127.0.0.1:1/"
    transcript = agent.run(query="Edit it.", tools=list(tools), model=model, **rest)
    assert (transcript.error, transcript.text.endswith("Done.")) == (None, True)
    requests = agent.dify.model_requests
    for earlier, later in pairwise(requests):
        assert (
            later["prompt_messages"][: len(earlier["prompt_messages"])]
            == (earlier["prompt_messages"])
        )
        assert later["tools"] == earlier["tools"]
    return [
        asked["tool_parameters"] for asked in agent.dify.tool_requests if asked["tool"] == "edit"
    ]


def blob(data, **meta):
    encoded = base64.b64encode(data).decode()
    return {"type": "blob", "message": {"blob": encoded}, "meta": meta}


def link(kind, url, **meta):
    return {"type": kind, "message": {"text": url}, "meta": meta}


def omitted(kind, name):
    return f'[{kind} "{name}" omitted: this model does not read it]'


def part(data, kind="image", mime_type="image/png", **rest):
    encoded = base64.b64encode(data).decode()
    known = {"type": kind, "format": mime_type.partition("/")[2], "mime_type": mime_type}
    return {**known, "base64_data": encoded, **rest}


def test_a_tool_gets_the_files_that_the_model_names(agent, give):
    files = [give("a.png", PNG), give("a.png", PNG), give("b.jpg", JPEG)]
    chosen = {"picture": "a-2.png", "others": ["b.jpg", "a.png"]}
    assert run(agent, chosen, files=files) == [
        {"picture": files[1], "others": [files[2], files[0]]}
    ]
    properties = agent.dify.model_requests[0]["tools"][0]["parameters"]["properties"]
    told = "at hand, as told in the conversation)"
    assert properties == {
        "picture": {"type": "string", "description": f"picture (the name of a file {told}"},
        "others": {
            "type": "array",
            "items": {"type": "string"},
            "description": f"others (names of files {told}",
        },
    }
    assert seen(prompts(agent, 0)[-1])[0] == "Files, in this order: a.png, a-2.png, b.jpg"


@pytest.mark.parametrize("model", [SEES, BLIND])
def test_a_picture_out_of_a_tool_is_chosen_by_its_name_in_the_next_round(agent, server, model):
    agent.dify.uploads = f"{server.url}/upload"
    drawn = [text_message("Here. "), blob(PNG, mime_type="image/png", filename="chart.png")]
    [given] = run(agent, None, {"picture": "chart.png"}, draw=drawn, model=model)
    assert given["picture"] == {
        "dify_model_identity": "__dify__file__",
        "url": f"{server.url}/new-1",
        "filename": "chart.png",
        "extension": ".png",
        "mime_type": "image/png",
        "type": "image",
        "size": len(PNG),
    }
    [uploaded] = server.uploads
    assert PNG in uploaded
    text, *shown = seen(prompts(agent, 1)[-1])
    told = (
        f"Files, in this order: chart.png (image/png, {len(PNG)} bytes)\nHere. Generated file ... "
    )
    assert "\n".join([text, *shown[: -1 if model is SEES else None]]).rstrip() == told.rstrip()
    assert shown[-1:] == ([PNG] if model is SEES else [])


def test_files_out_of_tools_are_uploaded_when_chosen_and_only_then_and_once(agent, server):
    agent.dify.uploads = f"{server.url}/upload"
    files = [
        blob(PNG, mime_type="image/png", filename="a.png"),
        blob(b"?", filename="b.jpg", mime_type="a/b; c=d"),
    ]
    given = run(agent, None, {"picture": "b.jpg"}, {"picture": "b.jpg", "others": []}, draw=files)
    assert [each["picture"]["url"] for each in given] == [f"{server.url}/new-1"] * 2
    [uploaded] = server.uploads
    assert b"Content-Type: a/b\r\n" in uploaded


def test_what_has_a_name_that_is_taken_gets_a_number(agent, server, give):
    agent.dify.uploads = f"{server.url}/upload"
    history = [
        {
            "role": "user",
            "content": [part(JPEG, filename="chart.png"), part(PDF, "document", "application/pdf")],
        }
    ]
    drawn = [
        blob(PNG, mime_type="image/png", filename="out/chart.png"),
        blob(PDF, mime_type="application/pdf"),
        blob(PNG, mime_type="image/png", filename="cafe\u0301.png"),
    ]
    chosen = {"picture": "chart-2.png", "others": ["chart.png", "chart-3.png", "caf\u00e9.png"]}
    mine = give("chart.png", PNG)
    [given] = run(
        agent,
        None,
        chosen,
        draw=drawn,
        files=[mine],
        model={**SEES, "history_prompt_messages": history},
    )
    assert given["picture"] == mine
    assert [file["filename"] for file in given["others"]] == chosen["others"]
    assert JPEG in server.uploads[0]
    assert seen(prompts(agent, 0)[1])[0] == "Files, in this order: chart.png, document.pdf"
    assert seen(prompts(agent, 0)[2])[0] == "Files, in this order: chart-2.png"
    told = seen(prompts(agent, 1)[-1])[0]
    assert told.startswith("Files, in this order: chart-3.png (image/png, ")
    assert "), document-2.pdf (application/pdf, " in told


@pytest.mark.parametrize(
    ("name", "at_hand"),
    [
        ("/etc/passwd", "a.png, chart.png"),
        ("/files/chart.png", "a.png, chart.png"),
        ("http://127.0.0.1/a.png", "a.png, chart.png"),
        ("URL", "a.png, chart.png"),
        ("./chart.png", "a.png, chart.png"),
        ("A.PNG", "a.png, chart.png"),
        ("chart", "a.png, chart.png"),
        ("", "a.png, chart.png"),
    ],
)
@pytest.mark.parametrize("field", ["picture", "others"])
def test_a_path_or_an_address_of_the_model_s_own_reaches_no_tool(agent, give, field, name, at_hand):
    file = give("a.png", PNG)
    name = file["url"] if name == "URL" else name
    chosen = {"picture": "a.png", field: name if field == "picture" else ["a.png", name]}
    drawn = [blob(PNG, filename="chart.png")]
    assert run(agent, None, chosen, draw=drawn, files=[file]) == []
    assert prompts(agent)[-1]["content"] == (
        f"tool arguments validation error: parameter '{field}': no file at hand has the name "
        f"{json.dumps(name)}; at hand are: {at_hand}"
    )


def test_a_name_is_refused_until_there_is_such_a_file(agent, server):
    agent.dify.uploads = f"{server.url}/upload"
    chosen = {"picture": "chart.png"}
    [given] = run(agent, chosen, None, chosen, draw=[blob(PNG, filename="chart.png")])
    assert given["picture"]["filename"] == "chart.png"
    assert prompts(agent, 1)[-1]["content"].endswith('"chart.png"; at hand are: none')


@pytest.mark.parametrize("name", ["", "..", "/", "a/..", "\n"])
def test_a_file_without_a_name_of_its_own_is_called_by_its_kind(agent, name):
    run(agent, None, draw=[blob(JPEG, filename=name)], model=BLIND)
    told = prompts(agent)[-1]["content"]
    assert told.startswith(f"Files, in this order: {'_' if name == chr(10) else 'image.jpg'} (")


def test_of_many_names_the_last_are_told(agent):
    drawn = [blob(PNG, filename=f"{number}.png") for number in range(30)]
    run(agent, None, {"picture": "x" * 999}, draw=drawn, model=BLIND)
    told = prompts(agent)[-1]["content"]
    assert f'the name "{"x" * 99}…; at hand are: ..., 10.png, 11.png, ' in told
    assert told.endswith("28.png, 29.png")


def test_without_a_tool_that_takes_files_no_names_are_told(agent, give):
    history = [{"role": "user", "content": [part(PNG, filename="h.png")]}]
    drawn = [blob(PNG, mime_type="image/png", filename="chart.png")]
    model = {**SEES, "history_prompt_messages": history}
    run(agent, None, draw=drawn, model=model, tools=[DRAW], files=[give("a.png", PNG)])
    assert [seen(message) for message in prompts(agent)[1:3]] == [[PNG], [PNG, "Edit it."]]
    assert seen(prompts(agent)[-1]) == ["Generated file ... ", PNG]


@pytest.mark.parametrize("is_dead", [False, True])
@pytest.mark.parametrize("source", ["files", "history", "image_link", "binary_link", "link"])
def test_a_link_is_handed_on_while_it_lives_and_its_bytes_are_uploaded_afterwards(
    agent, server, give, source, is_dead
):
    agent.dify.uploads = f"{server.url}/upload"
    file = give("a.zip" if source == "binary_link" else "a.png", PNG)
    meta = {"tool_file_id": "4f", "filename": file["filename"], "mime_type": "application/zip"}
    drawn = [link(source, file["url"], **(meta if source != "image_link" else {}))]
    history = [{"role": "user", "content": [part(PNG, url=file["url"], filename="a.png")]}]
    name = "image.png" if source == "image_link" else file["filename"]

    def draw(_):
        if is_dead and source in {"files", "history"}:
            server.files.pop(f"/{file['filename']}")
        return drawn if source.endswith("link") else [text_message("nothing")]

    def edit(_):
        return [text_message("edited")]

    def choose(_):
        if is_dead:
            server.files.pop(f"/{file['filename']}", None)
        return [chunk(calls=[call("edit", json.dumps({"picture": name}), id_="c9")])]

    agent.dify.tools["draw"] = draw
    agent.dify.model = [[chunk(calls=[call("draw")])], choose, [chunk("Done.")]]
    agent.dify.tools["edit"] = edit
    agent.run(
        query="?",
        tools=[EDIT, DRAW],
        files=[file] if source == "files" else None,
        model={**SEES, "history_prompt_messages": history if source == "history" else []},
    )
    [asked] = [each for each in agent.dify.tool_requests if each["tool"] == "edit"]
    given = asked["tool_parameters"]["picture"]
    assert (given["url"] == file["url"], len(server.uploads)) == (not is_dead, int(is_dead))
    assert given["filename"] == name
    if is_dead:
        assert given["url"] == f"{server.url}/new-1"
        assert PNG in server.uploads[0]


def test_a_link_without_bytes_that_has_ended_fails_the_call_with_a_sentence(agent, server):
    drawn = [link("image_link", f"{server.url}/gone.png"), link("image_link", "/files/tools/a.png")]
    assert run(agent, None, {"picture": "image"}, draw=drawn) == []
    told = prompts(agent)[-1]["content"]
    assert told == (
        "the file 'image' cannot be handed over: its link has ended, and its bytes are not held"
    )


def test_a_link_to_a_page_and_a_path_without_an_address_are_no_files_at_hand(agent, server):
    drawn = [link("link", f"{server.url}/page.png"), link("image_link", "/files/tools/a.png")]
    assert run(agent, None, {"picture": "page.png"}, draw=drawn) == []
    assert prompts(agent)[-1]["content"].endswith("at hand are: none")
    assert server.asked == []


def test_files_of_every_role_of_the_history_are_named_where_they_stand(agent, server):
    agent.dify.uploads = f"{server.url}/upload"
    history = [
        {"role": "user", "content": [part(PNG), {"type": "text", "data": "Like this."}]},
        {"role": "assistant", "content": "", "tool_calls": [call("draw")]},
        {
            "role": "tool",
            "tool_call_id": "c1",
            "content": [part(PNG), part(PDF, "document", "application/pdf")],
        },
        {"role": "assistant", "content": [{"type": "text", "data": "So."}, part(JPEG)]},
    ]
    chosen = {"picture": "image-3.png", "others": ["image.png", "image-2.png", "document.pdf"]}
    for model, expected in [
        (
            SEES,
            [
                ["Files, in this order: image.png", PNG, "Like this."],
                [""],
                ["Files, in this order: image-2.png, document.pdf", PNG, PDF],
                ["So."],
                [
                    "This came with the assistant's message above:",
                    "Files, in this order: image-3.png",
                    JPEG,
                    "Edit it.",
                ],
            ],
        ),
        (
            BLIND,
            [
                [f"{omitted('image', 'image.png')}\nLike this."],
                [""],
                [f"{omitted('image', 'image-2.png')}\n{omitted('document', 'document.pdf')}"],
                [f"So.\n{omitted('image', 'image-3.png')}"],
                ["Edit it."],
            ],
        ),
    ]:
        server.uploads.clear()
        agent.dify.model_requests.clear()
        agent.dify.tool_requests.clear()
        run(agent, chosen, model={**model, "history_prompt_messages": history})
        assert [seen(message) for message in prompts(agent, 0)[1:]] == expected
        expected_uploads = [JPEG, PNG, PNG, PDF]
        assert len(server.uploads) == len(expected_uploads)
        for data, uploaded in zip(expected_uploads, server.uploads, strict=True):
            assert data in uploaded


def test_the_newest_files_of_tools_are_held_and_an_older_one_is_a_sentence(agent, server):
    agent.dify.uploads = f"{server.url}/upload"
    data = bytes(12 << 20)

    def draw(request):
        path = f"/{request['tool_parameters']['number']}.zip"
        server.files[path] = data
        yield link(
            "binary_link",
            f"{server.url}{path}",
            tool_file_id="4f",
            filename=path,
            mime_type="application/zip",
        )

    def choose(_):
        server.files.clear()
        return [chunk(calls=[call("edit", '{"picture": "2.zip", "others": ["1.zip"]}', id_="e1")])]

    agent.dify.tools["draw"] = lambda request: list(draw(request))
    numbered = tool("draw", parameter("number", required=True))
    calls = [call("draw", f'{{"number": "{n}"}}', id_=f"d{n}") for n in range(3)]
    agent.dify.tools["edit"] = [text_message("edited")]
    agent.dify.model = [
        *([chunk(calls=[each])] for each in calls),
        choose,
        [chunk(calls=[call("edit", '{"picture": "0.zip"}', id_="e2")])],
        [chunk("Done.")],
    ]
    agent.run(tools=[EDIT, numbered], model=BLIND)
    [asked] = [each for each in agent.dify.tool_requests if each["tool"] == "edit"]
    assert asked["tool_parameters"]["picture"]["size"] == len(data)
    assert [len(each) > len(data) for each in server.uploads] == [True, True]
    assert prompts(agent)[-1]["content"].startswith("the file '0.zip' cannot be handed over")
