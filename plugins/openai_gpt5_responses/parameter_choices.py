"""The parameters of a model's form and their options according to its profile, for the generated forms and for added models."""

from gpt5_payloads import ModelProfile


_HOSTED_TOOLS = {
    "web_search": "web_search",
    "web_search_domains": "web_search",
    "file_search_stores": "file_search",
    "code_interpreter": "code_interpreter",
    "image_generation": "image_generation",
    "mcp_servers": "mcp",
}


def is_offered(name: str, profile: ModelProfile) -> bool:
    """Return whether a model's form has a parameter, which must leave a choice and not need a tool that the model lacks."""
    tools = {parameter: tool in profile.hosted_tools for parameter, tool in _HOSTED_TOOLS.items()}
    settings = {
        # `auto` and `default` alone offer no choice of price.
        "service_tier": not {"auto", "default"}.issuperset(profile.service_tiers),
        "flex_fallback": "flex" in profile.service_tiers,
        "reasoning_mode": len(profile.reasoning_modes) > 1,
        "reasoning_context": "all_turns" in profile.reasoning_contexts,
        "prompt_cache_ttl": bool(profile.cache_ttls),
    }
    return (tools | settings).get(name, True)


def find_options(name: str, profile: ModelProfile) -> tuple[str, ...] | None:
    """Return the options of a parameter for a model; None if they are the same for all models."""
    options: dict[str, tuple[str, ...]] = {
        "reasoning_effort": profile.efforts,
        "image_detail": profile.image_details,
        "service_tier": profile.service_tiers,
        "reasoning_mode": profile.reasoning_modes,
        "reasoning_context": profile.reasoning_contexts,
        "prompt_cache_ttl": profile.cache_ttls,
    }
    return options.get(name) or None
