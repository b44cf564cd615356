"""The lists of rules: a rule or a number of the policy that no list uses has no effect, which no other test notices."""

from __future__ import annotations

import ast
import inspect
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

import blockml.decision
from blockml.decision.policy import DecisionPolicy
from blockml.decision.rules import DECLARED, LAST, REMOVALS, SCORES, UNITS, Rule

RULES: tuple[Rule[Any], ...] = (*SCORES, *DECLARED, *UNITS, *REMOVALS, *LAST)
MODULES = [path for path in Path(str(blockml.decision.__file__)).parent.glob("*.py") if path.stem != "__init__"]


def test_each_rule_is_in_a_list() -> None:
    """Functions that change the scores or the draft of a page are rules, and each is in a list."""
    listed = {rule.apply.__name__ for rule in RULES if rule.apply is not None}
    for path in MODULES:
        module = import_module(f"blockml.decision.{path.stem}")
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if function.__module__ == module.__name__ and not name.startswith("_"):
                parameters = [parameter.annotation for parameter in inspect.signature(function).parameters.values()]
                returned = inspect.signature(function).return_annotation
                assert name in listed or parameters not in (["Scoring"], ["Draft"]) or returned != "None", name


def test_each_number_of_the_policy_is_read() -> None:
    """Every field is read in the package, and what disables a rule is a field."""
    read = {
        node.attr
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
    }
    names = {item.name for item in fields(DecisionPolicy)}
    assert names <= read
    assert {name for rule in RULES for name in rule.without} <= names
