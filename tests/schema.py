"""What JSON has to be like: the schema in the package."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema

import treadle.report

SCHEMA = json.loads((Path(treadle.report.__file__).parent / "schema.json").read_text())


def validate(shown: object) -> None:
    """Refuse what is not as the schema says."""
    jsonschema.Draft202012Validator(SCHEMA).validate(shown)
