"""Reading of a JSON Feed.

Source: https://www.jsonfeed.org/version/1.1/
"""

import httpx
from pydantic import BaseModel, Field, ValidationError


class Entry(BaseModel):
    """An entry of a feed."""

    id: str
    title: str = ""
    content_text: str = ""
    content_html: str = ""
    date_published: str = ""
    date_modified: str = ""


class Feed(BaseModel):
    """A feed."""

    version: str = Field(pattern=r"^https://jsonfeed\.org/version/1")
    title: str
    items: list[Entry]


class FeedError(Exception):
    """A feed that cannot be read."""


def read_feed(url: str) -> Feed:
    """Fetch a feed.

    Raises:
        FeedError: If the server does not answer, or with something else.
    """
    try:
        response = httpx.get(url, follow_redirects=True, timeout=30)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise FeedError(f"{url or 'feed_url'}: expected the address of a feed: {error}") from error
    if response.is_error:
        raise FeedError(f"{url}: expected a feed, got the status {response.status_code}")
    try:
        return Feed.model_validate_json(response.content)
    except ValidationError as error:
        problem = error.errors()[0]
        field = ".".join(map(str, problem["loc"])) or "content"
        raise FeedError(f"{url}: expected a JSON Feed; {field}: {problem['msg']}") from error
