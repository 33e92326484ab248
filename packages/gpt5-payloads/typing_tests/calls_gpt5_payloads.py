"""What a strict type checker says of code that uses this package; it is checked and never run."""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from typing import Any, assert_type

from gpt5_payloads import Effort, RequestParameters, Verbosity, build_request, mcp_tool


def ask(effort: Effort, verbosity: Verbosity) -> dict[str, Any]:
    """Build a request, and another one whose values are no enumeration's."""
    chosen: RequestParameters = {"reasoning_effort": effort, "verbosity": verbosity}
    body = build_request(model="gpt-7", input="?", parameters={**chosen, "web_search": "low"})
    assert_type(body, dict[str, Any])
    return build_request(
        model="gpt-5.5",
        input="?",
        parameters={"reasoning_effort": "hihg"},  # type: ignore[typeddict-item]
    )


mcp_tool("docs", url="https://mcp.example.org", require_approval="never")
mcp_tool("docs", url="https://mcp.example.org", require_approval="no")  # type: ignore[arg-type]
