"""`quillback models`: the models there are, with what they take and cost."""

import json
from argparse import Namespace

from quillback.cli.clean import one_line
from quillback.cli.exits import DONE, complain
from quillback.cli.json_view import to_json
from quillback.cli.surroundings import load
from quillback.core.model import Model, Price
from quillback.models import Models
from quillback.problems import problems_of

HEAD = ("", "id", "name", "window", "input", "output", "cache read", "cache write")


def models(options: Namespace) -> int:
    settings = load()
    known = Models(settings)
    for problem in problems_of(settings, known):
        complain(problem)
    listed = [known.get(model_id) for model_id, _ in known.choices()]
    if options.json:
        print(_as_json(listed, known, known.small))
        return DONE
    rows: list[tuple[str, ...]] = [HEAD]
    for model in listed:
        marks = ("*" if model.id == known.default else "") + ("s" if model.id == known.small else "")
        rows.append(
            (marks, one_line(model.id), one_line(model.name), f"{model.context_window:,}", *_prices(model.price))
        )
        if model.long_price:
            rows.append(("", "", f"  above {model.long_prompt:,} tokens", "", *_prices(model.long_price)))
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    for row in rows:
        cells = (
            cell.ljust(w) if column < 3 else cell.rjust(w)
            for column, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        print("  ".join(cells).rstrip())
    print(f"\n* default, s small model. Prices are US dollars for a million tokens, as of {known.date}.")
    print('A table [models."ID"] in config.toml adds a model or corrects one.')
    return DONE


def _prices(price: Price | None) -> tuple[str, ...]:
    if price is None:
        return ("?",) * 4
    return tuple(map(_dollars, (price.input, price.output, price.cache_read, price.cache_write)))


def _dollars(value: float) -> str:
    """Two decimals, or as many as there are up to four."""
    text = f"{value:.4f}".rstrip("0")
    return text if len(text.partition(".")[2]) >= 2 else f"{value:.2f}"


def _as_json(listed: list[Model], known: Models, small: str) -> str:
    rows = [{**_fields(model), "default": model.id == known.default, "small": model.id == small} for model in listed]
    return json.dumps({"date": known.date, "models": rows}, ensure_ascii=False, indent=2)


def _fields(model: Model) -> dict[str, object]:
    value = to_json(model)
    assert isinstance(value, dict)
    return value
