import pytest

from dify_plugin_packager.yaml_documents import YamlError, compose, load_yaml


def test_a_document_is_composed_with_tags_lines_and_what_aliases_stand_for():
    root = compose("a: &x !mine '1'\nb:\n- *x\n---\nnever: read\n")
    (key, first), (_, second) = root.pairs
    assert (root.kind, key.value, key.is_plain) == ("mapping", "a", True)
    assert (first.tag, first.value, first.is_plain, first.line) == ("!mine", "1", False, 1)
    (alias,) = second.children
    assert (second.kind, alias.kind, alias.target) == ("sequence", "alias", first)
    assert alias.line == 3


def test_of_nothing_there_is_no_root():
    assert compose("") is None


@pytest.mark.parametrize(
    ("read", "text", "problem"),
    [
        (compose, "[" * 10_001, "nested more than 10000 deep"),
        (compose, "*nobody", "unknown anchor 'nobody'"),
        (compose, "a: [", "did not find expected node content"),
        (load_yaml, "[" * 401 + "]" * 401, "nested more than 400 deep"),
        (load_yaml, "{a: " * 401 + "}" * 401, "nested more than 400 deep"),
        (load_yaml, "- " * 401, "nested more than 400 deep"),
        (load_yaml, "? " * 401, "nested more than 400 deep"),
        (load_yaml, "\n".join(" " * deep + "a:" for deep in range(401)), "nested more than 400"),
        (load_yaml, "a: [", "did not find expected node content"),
    ],
)
def test_what_cannot_be_read_is_an_error_however_deep_it_is(read, text, problem):
    with pytest.raises(YamlError, match=problem):
        read(text)


def test_a_text_may_be_as_long_as_it_likes():
    assert load_yaml("- []\n" * 401) == [[]] * 401
