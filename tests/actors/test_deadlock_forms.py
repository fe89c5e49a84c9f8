"""Programs of many forms: what the analysis says, guided and unguided, against all interleavings.

No deadlock may be missed: a program that has one has a confirmed cycle, or a line is named that
the analysis does not understand. Whoever is called free has none.
"""

from __future__ import annotations

import deadlock_fields
import deadlock_forms
import deadlock_futures
import deadlock_services
import pytest
from test_guided_random import Chain, explored, guided

import treadle
from treadle.actors import Actor, Program, program

FORMS = {
    name: value
    for module in (deadlock_forms, deadlock_fields, deadlock_futures, deadlock_services)
    for name, value in vars(module).items()
    if isinstance(value, Program) and name not in ("buf", "self_rec", "self_rec_get")
} | {
    f"{name}{args}": vars(deadlock_services)[name](*args)
    for name, args in [
        *(("buf", sizes) for sizes in [(1, 2, 2), (1, 1, 2)]),
        *((name, (n,)) for name in ("self_rec", "self_rec_get") for n in (0, 2)),
    ]
}
FREE = {
    *("door_gentle", "future_param_ok", "local_send_await", "main_one_way", "main_gets"),
    *("inherit_ok", "loop_soft", "loop_fire", "no_handler", "higher_calm"),
    *("cond_cycle", "cond_soft", "ackbuf_soft", "lazy_ok", "self_await", "await_one", "reg_ok"),
    *("buf(1, 2, 2)", "buf(1, 1, 2)"),
    *("self_rec(0,)", "self_rec(2,)", "self_rec_get(0,)"),
    *("m_branch_t", "m_alias_ok", "m_done_ok", "m_rec_ok", "c_soft"),
}
"""Programs without a deadlock."""
STUCK = {"c_direct_await"}
NOT_UNDERSTOOD = {
    "higher_calm": "cls is not known before it runs",
    "higher_angry": "cls is not known before it runs",
    "w_dict": "fields are accessed by way of __dict__",
    "w_vars": "what vars does is not known",
    "w_setattr": "what setattr does is not known",
    "w_del": "an attribute is deleted",
    "d_class": "__class__ is assigned to",
    "d_dict_alias": "fields are accessed by way of __dict__",
    "d_dict_update": "fields are accessed by way of __dict__",
}
"""Programs of which nothing can be proved, and why not."""


@pytest.mark.parametrize("name", FORMS)
def test_no_deadlock_is_missed(name: str) -> None:
    everything, chains = explored(FORMS[name].with_options({"early_stop": True}), "exhaustive")
    assert everything.complete
    assert bool(chains) == (name not in FREE | STUCK)
    found = treadle.deadlocks(FORMS[name])
    if name in NOT_UNDERSTOOD:
        assert not found.free
        assert NOT_UNDERSTOOD[name] in found.notes[0]
        return
    confirmed = {cycle.kind for cycle in found.confirmed}
    assert not found.notes or found.free
    assert found.free == (name in FREE)
    assert ("deadlock" in confirmed) == bool(chains)
    assert (confirmed == {"condition"}) == (name in STUCK)
    assert bool(everything.failure_kinds.get("stuck")) <= bool(found.conditions)


@pytest.mark.parametrize("algorithm", ["exhaustive", "sleep"])
@pytest.mark.parametrize("name", sorted(set(FORMS) - set(NOT_UNDERSTOOD)))
def test_guided_searches_find_the_same_deadlocks(name: str, algorithm: str) -> None:
    _, expected = explored(FORMS[name].with_options({"early_stop": True}), "exhaustive")
    found: set[Chain] = set()
    for cycle in treadle.deadlocks(FORMS[name]).cycles:
        result, chains = guided(FORMS[name], cycle, algorithm)
        assert result.complete
        found |= chains
    assert found == expected


kept: Actor | None = None


class Keeper(Actor):
    async def keep(self):
        global kept
        kept = self

    async def ask(self):
        return self.answer.send().get()

    async def answer(self):
        return kept is not None


def test_an_actor_that_a_variable_of_the_module_has_kept_is_no_hindrance() -> None:
    @program
    def main():
        Keeper().keep.send()

    for _ in range(2):
        assert treadle.explore(main).complete
        found = treadle.deadlocks(main)
        assert not found.free
        assert "a global statement is not known" in found.notes[0]
    assert kept is not None


def test_a_class_that_keeps_an_actor_is_no_hindrance() -> None:
    class Shared(Actor):
        last = None

        async def go(self):
            Shared.last = self

    @program
    def main():
        Shared().go.send()

    assert treadle.explore(main).complete
    assert treadle.explore(main).complete
    treadle.deadlocks(main)


@pytest.mark.parametrize("cycle", ["x", 1, object()])
def test_guided_takes_a_cycle(cycle: object) -> None:
    with pytest.raises(treadle.TreadleError, match=r"^guided takes a cycle that"):
        treadle.explore(FORMS["main_mixed"], guided=cycle)  # type: ignore[arg-type]


@pytest.mark.parametrize("most", [-1, "a", 1.5])
def test_contexts_are_counted(most: object) -> None:
    with pytest.raises(treadle.TreadleError, match=r"^contexts must be a whole number above 0"):
        treadle.deadlocks(FORMS["main_mixed"], contexts=most)  # type: ignore[arg-type]
