"""What JSON has to be like: the schema in the package."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema

import treadle.report

SCHEMA = json.loads((Path(treadle.report.__file__).parent / "schema.json").read_text())


def validate(shown: object, name: str = "") -> None:
    """Refuse what is not as the schema says, as one certain definition of it if that is named."""
    wanted = {**SCHEMA, "oneOf": [{"$ref": f"#/$defs/{name}"}]} if name else SCHEMA
    jsonschema.Draft202012Validator(wanted).validate(shown)
