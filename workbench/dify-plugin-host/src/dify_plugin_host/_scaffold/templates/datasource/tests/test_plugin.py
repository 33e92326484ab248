"""The plugin, called as Dify calls it, with a feed of this machine."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from dify_plugin_host.testing import DifyPlugin, PluginInvokeError


PAGES = {
    "/feed.json": json.dumps(
        {
            "version": "https://jsonfeed.org/version/1.1",
            "title": "News",
            "items": [
                {
                    "id": "1",
                    "title": "One",
                    "content_text": "Hello.",
                    "date_published": "2026-01-02",
                },
                {"id": "2", "content_html": "<p>Bye.</p>"},
            ],
        }
    ),
    "/other.json": "{}",
}


class FeedServer(BaseHTTPRequestHandler):
    """A server of these pages."""

    def do_GET(self) -> None:
        """Answer with the page, or with 404."""
        self.send_response(200 if self.path in PAGES else 404)
        self.end_headers()
        self.wfile.write(PAGES.get(self.path, "").encode())


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Run the server; return its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), FeedServer) as running:
        threading.Thread(target=running.serve_forever).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


def call(
    dify_plugin: DifyPlugin, action: str, feed_url: str, **fields: Any
) -> list[dict[str, Any]]:
    """Call the data source with the address of a feed; return the objects of the answer."""
    [provider] = dify_plugin.folder.providers("datasources")
    data = {"provider": provider["identity"]["name"], "datasource": "entries"}
    data |= {"credentials": {"feed_url": feed_url}, **fields}
    return dify_plugin.call("datasource", action, data)


def content(dify_plugin: DifyPlugin, server: str, page_id: str) -> dict[str, Any]:
    """Return the variables with the content of a page."""
    page = {"workspace_id": f"{server}/feed.json", "page_id": page_id, "type": "page"}
    action = "invoke_online_document_datasource_get_page_content"
    messages = call(dify_plugin, action, page["workspace_id"], page=page)
    values = [message["message"] for message in messages]
    return {value["variable_name"]: value["variable_value"] for value in values}


def test_the_entries_of_a_feed_are_pages(dify_plugin: DifyPlugin, server: str) -> None:
    action = "invoke_online_document_datasource_get_pages"
    [answer] = call(dify_plugin, action, f"{server}/feed.json", datasource_parameters={})
    [workspace] = answer["result"]
    assert (workspace["workspace_name"], workspace["total"]) == ("News", 2)
    assert [page["page_name"] for page in workspace["pages"]] == ["One", "2"]
    assert [page["last_edited_time"] for page in workspace["pages"]] == ["2026-01-02", ""]


@pytest.mark.parametrize(("page_id", "text"), [("1", "Hello."), ("2", "<p>Bye.</p>")])
def test_a_page_has_its_entrys_text(
    dify_plugin: DifyPlugin, server: str, page_id: str, text: str
) -> None:
    assert content(dify_plugin, server, page_id) == {
        "workspace_id": f"{server}/feed.json",
        "page_id": page_id,
        "content": text,
    }


def test_an_entry_that_is_gone_is_named(dify_plugin: DifyPlugin, server: str) -> None:
    with pytest.raises(PluginInvokeError, match="has no entry '3' any more"):
        content(dify_plugin, server, "3")


def test_a_feed_is_tried_before_its_address_is_stored(dify_plugin: DifyPlugin, server: str) -> None:
    action = "validate_datasource_credentials"
    assert call(dify_plugin, action, f"{server}/feed.json") == [{"result": True}]
    for path, problem in (
        ("/other.json", "expected a JSON Feed; version: Field required"),
        ("/gone.json", "expected a feed, got the status 404"),
    ):
        with pytest.raises(PluginInvokeError, match=problem) as caught:
            call(dify_plugin, action, f"{server}{path}")
        assert caught.value.error_type == "CredentialsValidateFailedError"
    with pytest.raises(PluginInvokeError, match="feed_url: expected the address of a feed"):
        call(dify_plugin, action, "")
