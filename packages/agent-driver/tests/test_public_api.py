from importlib.metadata import version

import agent_driver


def test_the_export_list_is_what_the_readme_says():
    assert agent_driver.__all__ == ["AgentOutcome", "ToolSearch", "adrive", "agent_tool", "drive"]


def test_the_package_has_a_version():
    assert version("gpt5-agent-driver")
