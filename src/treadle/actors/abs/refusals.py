"""The parts of ABS that there are not, and what there is instead."""

from __future__ import annotations

_TIME = "time is not modelled: an exploration takes every order of steps, whatever their durations"
_DEPLOYMENT = (
    "deployment components are not modelled: leave them out, any actor may run at any time"
)
_PRODUCTS = (
    "deltas and product lines are not supported: give the product that they make, as one file"
)
_TRAITS = "traits are not supported: write their methods into the classes that use them"
_SCHEDULERS = "schedulers cannot be chosen: an exploration takes every order of tasks"
_HTTP = "there is no HTTP interface: call the methods from the main block"
_FOREIGN = "the foreign interface is not supported: write the class in ABS, or as a Python actor"
_RANDOM = "random values are not supported: give the values in the main block, or a task for each"
_INPUT = "nothing is read from the keyboard: give the text in the main block"
_KILL = "objects cannot be killed or moved: let their methods return"
_CLASS_CHANGES = "a class cannot be changed while the program runs"
_RECOVERY = "recovery blocks are not supported: use try and catch in the methods"

WORDS = {
    "delta": _PRODUCTS, "productline": _PRODUCTS, "product": _PRODUCTS, "features": _PRODUCTS,
    "root": _PRODUCTS, "extension": _PRODUCTS, "stateupdate": _PRODUCTS, "adds": _PRODUCTS,
    "modifies": _PRODUCTS, "removes": _PRODUCTS,
    "trait": _TRAITS, "uses": _TRAITS, "recover": _RECOVERY, "die": _KILL, "movecogto": _KILL,
    "rebind": _CLASS_CHANGES, "duration": _TIME,
}  # fmt: skip
"""Words that begin something that is refused."""

FUNCTIONS = {
    "duration": _TIME, "now": _TIME, "timeDifference": _TIME, "timeValue": _TIME,
    "timeLessThan": _TIME, "currentms": _TIME, "ms_since_model_start": _TIME, "deadline": _TIME,
    "isDurationInfinite": _TIME, "durationLessThan": _TIME, "subtractFromDuration": _TIME,
    "thisDC": _DEPLOYMENT, "random": _RANDOM,
    "readln": _INPUT,
}  # fmt: skip

TYPES = {
    "DeploymentComponent": _DEPLOYMENT, "DC": _DEPLOYMENT, "CloudProvider": _DEPLOYMENT,
    "Time": _TIME, "Duration": _TIME, "Process": _SCHEDULERS,
}  # fmt: skip

ANNOTATIONS = {
    "DC": _DEPLOYMENT, "Cost": _DEPLOYMENT, "Size": _DEPLOYMENT, "Deadline": _TIME,
    "Scheduler": _SCHEDULERS, "Priority": _SCHEDULERS, "Critical": _SCHEDULERS,
    "HTTPCallable": _HTTP, "HTTPName": _HTTP, "Foreign": _FOREIGN,
}  # fmt: skip
"""Annotations that change what a program does; all others are ignored."""
