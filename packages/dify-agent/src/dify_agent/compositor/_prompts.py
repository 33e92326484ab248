"""What a user says: texts, and files among them."""

from typing import Annotated

from pydantic import Discriminator
from pydantic_ai.messages import AudioUrl, BinaryContent, DocumentUrl, ImageUrl, VideoUrl


type UserPrompt = (
    str
    | Annotated[ImageUrl | AudioUrl | VideoUrl | DocumentUrl | BinaryContent, Discriminator("kind")]
)
"""A text or a file, in the classes of Pydantic AI; in JSON a file is told by its `kind`."""
