import re

import pytest

from agent_policy import (
    CONTEXT_GATHERING_POLICY,
    PERSISTENCE_POLICY,
    TOOL_PREAMBLE_POLICY,
    UNCERTAINTY_POLICY,
)


BLOCKS = {
    "persistence": PERSISTENCE_POLICY,
    "context_gathering": CONTEXT_GATHERING_POLICY,
    "uncertainty_and_ambiguity": UNCERTAINTY_POLICY,
    "tool_preamble": TOOL_PREAMBLE_POLICY,
}


@pytest.mark.parametrize(("tag", "block"), BLOCKS.items())
def test_a_block_is_a_short_list_between_its_tags(tag, block):
    opening, *bullets, closing = block.splitlines()

    assert (opening, closing) == (f"<{tag}>", f"</{tag}>")
    assert 2 <= len(bullets) <= 4
    assert all(bullet.startswith("- ") for bullet in bullets)


@pytest.mark.parametrize("block", BLOCKS.values())
def test_a_block_holds_no_tag_but_its_own(block):
    assert len(re.findall(r"</?[a-z_]+>", block)) == 2


def test_only_the_persistence_block_speaks_of_asking():
    speaking = [tag for tag, block in BLOCKS.items() if re.search(r"\bask\b|clarif", block)]

    assert speaking == ["persistence"]
