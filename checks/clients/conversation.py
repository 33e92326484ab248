"""What is talked about in each library alike, and how its history is handed over."""

import json
import sys
from typing import Any

from gpt5_messages import build_input


MODEL = "gpt-5.2"
INSTRUCTION = "Be brief."
QUESTION = "What is 17 * 23? And draw a chart of it."
PICTURE = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"  # one red pixel
CHART = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNgYPgPAAEDAQAIicLsAAAAAElFTkSuQmCC"  # one blue pixel
REPORT = "data:application/pdf;base64,JVBERi0xLjc="


def calculator(expression: str) -> str:
    """Calculate an arithmetic expression."""
    left, _, right = expression.partition("*")
    return str(int(left) * int(right))


def write(live: Any, dumped: Any) -> None:
    """Print what becomes of a history, as the library holds it and as it stores it."""
    json.dump({"live": build_input(live), "dumped": build_input(dumped)}, sys.stdout)
