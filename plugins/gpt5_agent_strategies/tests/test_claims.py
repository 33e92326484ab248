"""Answers that take one question at the same moment, in every order in which the storage can be asked."""

PROGRAM = """
import random, types
import greenlet
from agent_adapter import _claims
from agent_adapter._claims import StoredQuestion, Taken

_claims.time = types.SimpleNamespace(sleep=lambda _: None)  # The order says how long.


def step():
    greenlet.getcurrent().parent.switch()


class Storage:
    def __init__(self, is_strict):
        self.values, self.is_strict = {"q": b"?"}, is_strict

    def exist(self, key):
        step()
        return key in self.values

    def get(self, key):
        step()
        return self.values[key]

    def set(self, key, val):
        step()
        self.values[key] = val

    def delete(self, key):
        step()
        if self.is_strict:
            del self.values[key]
        self.values.pop(key, None)


def play(choose, count, is_strict):
    storage, taken = Storage(is_strict), []

    def answer():
        try:
            taken.append(StoredQuestion(storage, "q", taken=Taken()).take("code"))  # a process each
        except KeyError:  # as where three meet at a claim: then this answer fails
            taken.append(False)

    running = [greenlet.greenlet(answer) for _ in range(count)]
    while running:
        chosen = running[choose(len(running))]
        chosen.switch()
        running = [each for each in running if not each.dead]
    return sum(taken)


def play_all(is_strict):
    found, orders = set(), [[]]
    while orders:
        order, made = orders.pop(), []

        def choose(count):
            made.append(order[len(made)] if len(made) < len(order) else 0)
            if len(made) > len(order) and count > 1:
                orders.append([*made[:-1], 1])
            return made[-1]

        found.add(play(choose, 2, is_strict))
    return found


chance = random.Random(1)
at_once = [play(lambda count, turns=iter(range(99)): next(turns) % count, n, False) for n in (2, 3)]
result = {
    "two, any order": sorted(play_all(False) | play_all(True)),
    "five, by chance": max(play(chance.randrange, 5, strict) for strict in (True, False) for _ in range(100)),
    "in step": at_once,
    "one by one": play(lambda _: 0, 3, True),
}
"""


def test_of_answers_in_several_processes_one_at_most_takes_a_question_in_whatever_order(inside):
    assert inside.evaluate(PROGRAM) == {
        "two, any order": [0, 1],
        "five, by chance": 1,
        "in step": [1, 1],
        "one by one": 1,
    }


def test_a_message_that_is_no_answer_forgets_no_question_that_is_just_being_taken(inside):
    program = """
import types
from agent_adapter import _claims
from agent_adapter._claims import StoredQuestion, Taken


class Storage(dict):
    exist = dict.__contains__
    set = dict.__setitem__
    get = dict.__getitem__
    delete = dict.pop


storage, taken = Storage(q=b"?"), Taken()
place = StoredQuestion(storage, "q", taken=taken)
# In the pause of the one that takes it the other message comes.
_claims.time = types.SimpleNamespace(sleep=lambda _: place.forget("code"))
first = place.take("code")

storage["q"] = b"??"
place.forget("other code")
result = [first, "q" in storage]
"""
    assert inside.evaluate(program) == [True, False]
