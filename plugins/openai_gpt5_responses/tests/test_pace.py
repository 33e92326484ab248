from gpt5_simulator import ResponsesSimulator, ScriptedModel, Text


WHOLE_ANSWER_AT_ONCE = 1_000_000


def test_the_first_words_leave_alone_although_the_rest_is_there_too(plugin):
    model = ScriptedModel([[Text(text="one two three four five six")]])
    with ResponsesSimulator(model=model, chunk_bytes=WHOLE_ANSWER_AT_ONCE) as server:
        answer = plugin.invoke(server)

    texts = [chunk["delta"]["message"]["content"] for chunk in answer.chunks]
    assert texts == ["one", " two three four five six", ""]
