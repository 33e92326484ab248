from far_side import chunk, parameter, tool


ADD = tool("add", parameter("a", "number", required=True), parameter("b", "number", required=True))


def test_a_question_without_tools_is_answered_at_once(agent):
    agent.far_side.model = [[chunk("It is "), chunk("4.", finish="stop")]]
    transcript = agent.run()
    print(transcript.messages)
    assert transcript.error is None
    assert transcript.text == "It is 4."
    assert transcript.metadata["stop_reason"] == "answered"
