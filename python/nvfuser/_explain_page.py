"""What was done with a fusion as one HTML file, without scripts and without anything from elsewhere."""

import os
import re
from html import escape
from pathlib import Path

from nvfuser._explain_graph import picture

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 1400px; padding: 0 1em; color: #1a1f26; }
h1 { font-size: 1.5em; } h2 { font-size: 1.2em; margin-top: 2em; } h3 { font-size: 1em; margin-bottom: .3em; }
pre, code, td.code, svg text { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 12px; }
pre { background: #f6f8fa; padding: .8em; overflow-x: auto; border-radius: 6px; }
table { border-collapse: collapse; } th { text-align: left; font-weight: 600; }
.steps td, .steps th { padding: .25em .9em .25em 0; border-bottom: 1px solid #dde3ea; vertical-align: top; }
.number { text-align: right; } .bar { background: #dde3ea; width: 8em; height: .7em; border-radius: 3px; }
.bar div { background: #2f6fb3; height: 100%; border-radius: 3px; }
.picture { overflow: auto; max-height: 80vh; border: 1px solid #dde3ea; border-radius: 6px; }
svg text { text-anchor: middle; } svg text.title { text-anchor: start; font-weight: 600; fill: #33475b; }
svg text.tensor { text-anchor: start; fill: #8a4b08; }
svg rect.step { stroke: #9fb3c8; } svg g.operation rect { fill: #fff; stroke: #6b7c8f; }
svg g.input rect { fill: #fff7dd; stroke: #b58900; } svg g.output rect { fill: #dff3df; stroke: #3c8a3c; }
svg path { fill: none; stroke: #9aa7b5; } svg path.memory { stroke: #c4700c; stroke-width: 2; }
svg marker path { fill: #9aa7b5; stroke: none; }
.kernel { width: 100%; table-layout: fixed; } .kernel td { padding: 0 .5em; vertical-align: top; }
.kernel td.loops { width: 32%; color: #33475b; font-size: 12px; border-right: 1px solid #dde3ea; }
.kernel td.code { white-space: pre-wrap; overflow-wrap: anywhere; }
.kernel tr:target, .kernel tr.head { background: #f2f6fb; }
.legend { color: #55606c; } details > summary { cursor: pointer; }
"""

WORDS = {
    "kernel": "compiled kernel",
    "interpreted": "computed on the host, operation by operation",
    "library": "run by a library",
    "views": "views, nothing is computed",
}
LOOP = re.compile(r"^\s*for \(")
SHADES = ("#2f6fb3", "#c4700c", "#3c8a3c", "#8a4b9c", "#b03a48", "#5b6b7b")


def element(name, content, **attributes):
    """Attributes may end in an underscore, as class_ does."""
    given = "".join(f' {key.rstrip("_")}="{escape(str(value))}"' for key, value in attributes.items())
    return f"<{name}{given}>{content}</{name}>"


def listed(lines):
    return element("ul", "".join(element("li", escape(line)) for line in lines)) if lines else ""


# The table of steps ---------------------------------------------------------------------------------


def bytes_text(count):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.2f} {unit}"
        count /= 1024
    return ""


def step_row(number, step):
    link = element("a", escape(step["name"]), href=f"#step-{number}")
    cells = [link, escape(step["scheduler"] or WORDS[step["kind"]]), str(len(step["operations"]))]
    row = "".join(element("td", cell) for cell in cells)
    if step["ms"] <= 0:
        return element("tr", row + element("td", "not measured", colspan=5))
    share = max(0.0, min(1.0, step["of_copy"]))
    numbers = [bytes_text(step["bytes"]), f"{step['ms']:.4f}", f"{step['gigabytes_per_second']:.1f}"]
    row += "".join(element("td", text, class_="number") for text in numbers)
    bar = element("div", element("div", "", style=f"width:{100 * share:.0f}%"), class_="bar")
    return element("tr", row + element("td", f"{step['of_copy']:.2f}", class_="number") + element("td", bar))


def steps_table(description):
    heads = ("step", "scheduler", "operations", "bytes moved", "ms", "GB/s", "of a copy's speed", "")
    rows = [step_row(number, step) for number, step in enumerate(description["steps"], 1)]
    return element("table", element("tr", "".join(element("th", h) for h in heads)) + "".join(rows), class_="steps")


# Why it is several kernels --------------------------------------------------------------------------


def borders_section(description):
    steps = description["steps"]
    if len(steps) < 2:
        return element("p", "All operations are one step; there is nothing that had to be kept apart.")
    parts = []
    for border in description["borders"]:
        first, second = steps[border["first"]]["name"], steps[border["second"]]["name"]
        names = ", ".join(border["tensors"])
        how = f"{names} goes through memory" if border["is_flow"] else f"both read {names}"
        parts.append(element("h3", escape(f"{first} and {second}: {how}")) + listed(border["why"]))
    return "".join(parts)


# A kernel beside its loops --------------------------------------------------------------------------


def loop_comment(lines, at):
    """What marks the loop that opens in this line: behind it, or in the comment lines before it."""
    if "  // " in lines[at]:
        return lines[at].rsplit("  // ", 1)[1].strip()
    words = []
    for line in reversed(lines[:at]):
        if not line.strip().startswith(("//", "#")):
            break
        if line.strip().startswith("//"):
            words.insert(0, line.strip()[2:].strip())
    return " ".join(words)


def kernel_rows(code, loops):
    """One row a line: which loops it is in, and where the loop that it opens came from."""
    origins = {loop["comment"]: loop["origin"] for loop in loops}
    lines = code.rstrip("\n").split("\n")
    open_loops = []  # indentation of each
    rows = []
    for at, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        while open_loops and line.strip() and indent <= open_loops[-1] and not line.strip().startswith("}"):
            open_loops.pop()
        bars = "".join(
            f'<span style="color:{SHADES[depth % len(SHADES)]}">│</span>' for depth in range(len(open_loops))
        )
        note, kind = "", {}
        if LOOP.match(line):
            comment = loop_comment(lines, at)
            shade = SHADES[len(open_loops) % len(SHADES)]
            origin = origins.get(comment, "")
            bold = element("b", escape(comment), style=f"color:{shade}")
            note = bold + (f": {escape(origin)}" if origin else "")
            kind = {"class_": "head"}
            open_loops.append(indent)
        elif line.strip() == "}" and open_loops and indent == open_loops[-1]:
            open_loops.pop()
        rows.append(
            element(
                "tr", element("td", bars + note, class_="loops") + element("td", escape(line), class_="code"), **kind
            )
        )
    return element("table", "".join(rows), class_="kernel")


def step_section(number, step):
    parts = [element("h2", f"{number}. {escape(step['name'])}", id=f"step-{number}")]
    parts.append(
        element(
            "p",
            escape(
                f"({', '.join(step['inputs'])}) → ({', '.join(step['outputs'])}), {WORDS[step['kind']]}"
                + (f", by {step['ran_by']}" if step["ran_by"] else "")
            ),
        )
    )
    if step["scheduler"]:
        parts.append(element("p", f"<b>scheduler {escape(step['scheduler'])}</b>: {escape(step['params'])}"))
    if step["launch"]:
        parts.append(element("p", escape(step["launch"])))
    if step["refusals"]:
        parts.append(element("h3", "Asked before, and why they declined") + listed(step["refusals"]))
    parts.append(element("h3", "Operations"))
    parts.append(element("pre", escape("\n".join(o["text"] for o in step["operations"]))))
    if step["code"]:
        launch = [f"{loop['comment']}: {loop['origin']}" for loop in step["loops"] if "Idx" in loop["comment"]]
        parts.append(element("h3", "The kernel, beside the loops that it came from"))
        if launch:
            parts.append(element("p", "Bound to the launch, so that no loop is written:") + listed(launch))
        parts.append(kernel_rows(step["code"], step["loops"]))
    return "".join(parts)


# The page -------------------------------------------------------------------------------------------


def page(definition, description):
    """The file's text. `definition`: Python text; `description`: of FusionExecutorCache.describe()."""
    steps = description["steps"]
    count = f"{len(steps)} step{'s' if len(steps) != 1 else ''}"
    summary = f"{count} on {description['device']}, a call {description['call_ms']:.4f} ms, results waited for."
    views = [f"{output} is a view of {source}: no step computes it" for output, source in description["views"]]
    parts = [
        element("h1", "How a fusion was run"),
        element("p", escape(summary)),
        element("h2", "The fusion"),
        element(
            "p",
            "Each box is a step, in it are its operations; yellow: inputs, green: outputs. Orange lines go through "
            "memory, grey ones stay inside a kernel. Point at an operation or a line to see its tensor.",
            class_="legend",
        ),
        element("div", picture(description), class_="picture"),
        listed(views),
        element("h2", "What each step costs"),
        steps_table(description),
        element("h2", "Why these are not one kernel"),
        borders_section(description),
        *(step_section(number, step) for number, step in enumerate(steps, 1)),
        element("h2", "The definition"),
        element("pre", escape(definition)),
    ]
    head = f'<meta charset="utf-8"><title>How a fusion was run</title><style>{STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>\n' + "\n".join(parts) + "\n</body></html>\n"


def write(path, definition, description):
    """Writes the page to `path`."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"explain: html must be a path, not a {type(path).__name__}")
    Path(path).write_text(page(definition, description), encoding="utf-8")
