"""The known defects of the official strategies (cot_agent 0.0.45), and the tests that show that this plugin has none of them.

A defect without a test says why it does not apply. Tests are named by file and function; those of a package by its folder too.
"""

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest


PLUGIN = Path(__file__).parent.parent
ROOT = PLUGIN.parent.parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Defect:
    """What goes wrong there, what shows that it does not here, and what of it does not apply."""

    what: str
    shown_by: tuple[str, ...] = ()
    does_not_apply: str = ""


DEFECTS = {
    "C1": Defect(
        what="malformed arguments end the run, and the other calls of the round are lost",
        shown_by=(
            "test_tools.py::test_arguments_that_do_not_fit_never_reach_the_tool",
            "test_with_model_plugin.py::test_arguments_that_are_no_json_are_answered_and_not_run",
            "test_failures.py::test_half_a_character_in_arguments_ends_nothing",
        ),
    ),
    "C2": Defect(
        what="arguments that are JSON but no object end the run",
        shown_by=("test_tools.py::test_arguments_that_do_not_fit_never_reach_the_tool",),
    ),
    "C3": Defect(
        what="at the maximum of iterations the run ends without an answer",
        shown_by=(
            "test_run.py::test_the_last_call_is_made_without_tool_calls_and_answers",
            "test_run.py::test_tools_asked_for_after_the_last_call_are_refused_in_so_many_words",
            "test_with_model_plugin.py::test_each_request_to_openai_is_the_one_before_and_more",
        ),
    ),
    "C4": Defect(
        what="reasoning is lost between rounds, and thoughts go back as if they were answers",
        shown_by=(
            "test_with_model_plugin.py::test_reasoning_is_kept_between_rounds",
            "test_with_model_plugin.py::test_no_thought_is_sent_back_as_words",
            "test_thoughts.py::test_reasoning_goes_back_in_a_content_part_and_nowhere_else",
        ),
    ),
    "C5": Defect(
        what="a path out of /files is read, of any size, labelled image/png and sent twice",
        shown_by=(
            "test_files.py::test_no_way_leads_out_of_the_folder",
            "test_files.py::test_the_largest_image_passes_and_one_byte_more_does_not",
            "test_files.py::test_an_image_of_this_machine_is_passed_on_once_as_what_it_is",
            "test_tools.py::test_a_file_outside_the_folder_is_not_read",
        ),
    ),
    "C6": Defect(
        what="the model's arguments replace hidden parameters",
        shown_by=("test_tools.py::test_the_model_cannot_reach_hidden_parameters",),
    ),
    "C7": Defect(
        what="the text of an exception goes to the model",
        shown_by=("test_tools.py::test_the_cause_of_a_failure_goes_to_the_log_and_to_nobody_else",),
    ),
    "C8": Defect(
        what="what a tool said before it failed is thrown away",
        shown_by=("test_tools.py::test_what_a_tool_said_before_it_failed_is_kept",),
    ),
    "C9": Defect(
        what="a call that failed is made again every round",
        shown_by=("test_tools.py::test_a_call_that_failed_is_not_made_again",),
    ),
    "C10": Defect(
        what="the caller's history, stop words and model parameters are changed",
        shown_by=(
            "packages/agent-loop/tests/test_run.py::test_the_callers_messages_and_tools_are_never_changed",
            "test_run.py::test_each_request_begins_with_the_one_before",
            "test_run.py::test_stop_words_are_the_same_in_every_round",
        ),
    ),
    "C11": Defect(
        what="logs, chunks of files and retrieved resources get into the prompt as their repr",
        shown_by=("test_tools.py::test_no_bytes_and_no_repr_reach_the_model",),
    ),
    "C12": Defect(
        what="of two tools with one name the last is always the one that runs",
        shown_by=("test_tools.py::test_tools_of_the_same_name_are_both_usable",),
    ),
    "C13": Defect(
        what="a tool runs with other credentials than the chosen ones",
        shown_by=("test_tools.py::test_the_chosen_credentials_are_passed_on",),
    ),
    "C14": Defect(
        what="images are gone after the first round, always of low detail; documents are ignored",
        shown_by=(
            "test_thoughts.py::test_images_stay_in_all_rounds_where_the_model_sees",
            "test_thoughts.py::test_documents_stay_where_the_model_reads_them",
        ),
        does_not_apply="there is no parameter for files of the current turn; they come with the history",
    ),
    "C15": Defect(
        what="thoughts before a tool call are shown whatever was asked for, and lose their end",
        shown_by=(
            "test_thoughts.py::test_shown_thoughts_are_balanced_in_every_round",
            "test_thoughts.py::test_hidden_thoughts_leave_no_trace_while_the_rest_streams",
            "test_with_model_plugin.py::test_summaries_are_shown_as_balanced_thoughts",
            "test_with_model_plugin.py::test_hidden_summaries_leave_only_words",
        ),
    ),
    "C16": Defect(
        what="tools run one after the other, without a limit of time, and nothing ends a run in time",
        shown_by=(
            "test_run.py::test_calls_of_a_round_run_at_the_same_time_and_return_in_order",
            "test_time.py::test_a_tool_that_stays_silent_is_given_up_long_before_the_run_is",
            "test_time.py::test_a_tool_that_does_not_answer_leaves_time_for_the_closing_call",
            "test_time.py::test_a_model_call_that_ends_late_is_followed_by_the_closing_call",
        ),
        does_not_apply="model calls are repeated by the model plugin, which knows what may be repeated",
    ),
    "C17": Defect(
        what="each round copies and counts the whole history, and a tool's output has no limit",
        shown_by=(
            "test_run.py::test_each_request_begins_with_the_one_before",
            "test_failures.py::test_a_result_that_no_model_can_read_keeps_its_beginning_and_its_end",
        ),
        does_not_apply="what a round costs is a figure and not a test: the benchmark measures it",
    ),
    "C18": Defect(
        what="usage counts the latency of the first round, and later rounds change its object",
        shown_by=(
            "test_run.py::test_usage_is_the_sum_over_all_rounds",
            "test_with_model_plugin.py::test_the_figures_are_those_of_all_rounds",
        ),
    ),
    "C19": Defect(
        what="a context of any shape but one ends the run",
        shown_by=(
            "test_sources.py::test_a_retrieved_segment_is_cited_with_all_that_is_known_of_it",
            "test_sources.py::test_any_other_shape_is_cited_as_far_as_it_goes",
            "test_sources.py::test_no_context_ever_ends_a_run",
        ),
        does_not_apply="that the model does not read the context is its contract: it is for citing",
    ),
    "C20": Defect(
        what="a failing model call leaves logs open and tells no figures",
        shown_by=(
            "test_failures.py::test_a_model_call_that_fails_in_any_round_leaves_text_logs_figures_and_one_sentence",
            "test_failures.py::test_an_error_of_our_own_closes_what_can_be_closed_and_says_so",
            "test_with_model_plugin.py::test_a_refused_model_call_in_a_later_round_ends_the_run_with_figures_and_a_sentence",
        ),
    ),
    "C21": Defect(
        what="at the maximum of iterations an answer's tool calls are put into the request twice",
        shown_by=(
            "packages/agent-loop/tests/test_laws.py::test_every_call_gets_exactly_one_result",
            "test_run.py::test_tools_asked_for_after_the_last_call_are_refused_in_so_many_words",
        ),
        does_not_apply="dead code is the linter's and the packages' branch coverage's business",
    ),
    "C22": Defect(
        what="ReAct: an action whose input is no JSON ends the run",
        shown_by=("test_thoughts.py::test_an_action_quoted_in_a_text_is_never_run",),
        does_not_apply="no action is parsed out of text; ReAct calls functions too",
    ),
    "C23": Defect(
        what="ReAct: JSON that a thought or an answer quotes is run, and the answer is lost",
        shown_by=("test_thoughts.py::test_an_action_quoted_in_a_text_is_never_run",),
    ),
    "C24": Defect(
        what="ReAct: split tags and the markers of its own format leak to the reader",
        shown_by=(
            "test_thoughts.py::test_hidden_thoughts_leave_no_trace_while_the_rest_streams",
            "packages/agent-loop/tests/test_laws.py::test_any_split_of_the_deltas_gives_the_same_text_and_the_same_requests",
        ),
        does_not_apply="there is no format of our own, hence no markers",
    ),
    "C25": Defect(
        what="ReAct: the scratchpad is rewritten each round, and text leaves character by character",
        shown_by=(
            "test_with_model_plugin.py::test_reasoning_is_kept_between_rounds",
            "test_run.py::test_an_answer_streams_piece_by_piece",
        ),
    ),
}


@cache
def find_tests(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_defect_is_spoken_for():
    assert list(DEFECTS) == [f"C{number}" for number in range(1, 26)]
    assert [name for name, defect in DEFECTS.items() if not defect.shown_by] == []


@pytest.mark.parametrize("defect", DEFECTS.values(), ids=DEFECTS)
def test_what_shows_a_defect_is_there(defect):
    for shown_by in defect.shown_by:
        file, name = shown_by.split("::")
        path = ROOT / file if "/" in file else PLUGIN / "tests" / file
        assert name.startswith("test_")
        assert name in find_tests(path), shown_by
