"""A fusion as a picture: operations in boxes, one box a step, layer by layer from the inputs down.

The layout is two layered ones: operations in their box (longest path, then barycentres), and boxes among inputs and
outputs. Boxes of one level stand beside each other; what they hand on goes downwards.
"""

from dataclasses import dataclass, field
from html import escape

CHARACTER = 7.2  # width of one in the picture's font, in pixels
ROW, GAP, PADDING, TITLE = 46, 14, 14, 24
BETWEEN = 52  # levels
HEIGHT = 24  # of a node
SWEEPS = 4
COLOURS = {"kernel": "#e8f1fb", "interpreted": "#fbeee8", "library": "#f3ecfa", "views": "#eef6ec"}


@dataclass
class Node:
    label: str
    hint: str
    reads: list  # names of tensors
    results: list
    kind: str = "operation"  # or "input", "output"
    x: float = 0
    y: float = 0
    level: int = 0

    @property
    def width(self):
        return CHARACTER * max(len(self.label), 3) + 16


@dataclass
class Box:
    """A step with its operations, or one input or output without a frame."""

    nodes: list
    title: str = ""
    kind: str = ""
    link: str = ""
    level: int = 0
    x: float = 0
    y: float = 0
    width: float = 0
    height: float = 0
    order: float = 0
    made: dict = field(default_factory=dict)  # tensor: node


def arranged(rows, neighbours):
    """The rows, each in the order of its members' barycentres among the rows above and below."""
    place = {id(member): i for row in rows for i, member in enumerate(row)}
    for sweep in range(SWEEPS):
        for row in rows if sweep % 2 == 0 else reversed(rows):
            key = {}
            for member in row:
                near = [place[id(other)] for other in neighbours(member, sweep % 2 == 0)]
                key[id(member)] = sum(near) / len(near) if near else place[id(member)]
            row.sort(key=lambda member, key=key: key[id(member)])
            place.update((id(member), i) for i, member in enumerate(row))
    return rows


def rows_of(members):
    rows = [[] for _ in range(1 + max((member.level for member in members), default=0))]
    for member in members:
        rows[member.level].append(member)
    return [row for row in rows if row]


def lay_out_box(box):
    """Places a box's operations from its corner, and tells its size."""
    for node in box.nodes:  # producers come first
        node.level = 1 + max((box.made[name].level for name in node.reads if name in box.made), default=-1)
        box.made.update((name, node) for name in node.results)

    def neighbours(node, above):
        if above:
            return [box.made[name] for name in node.reads if name in box.made]
        return [other for other in box.nodes if any(name in other.reads for name in node.results)]

    frame = bool(box.title)
    rows = arranged(rows_of(box.nodes), neighbours) if len(box.nodes) > 1 else [box.nodes]
    inside = max(sum(node.width for node in row) + GAP * (len(row) - 1) for row in rows)
    box.width = max(inside, CHARACTER * len(box.title) if frame else 0) + (2 * PADDING if frame else 0)
    y = TITLE + PADDING if frame else 0
    for row in rows:
        x = (box.width - sum(node.width for node in row) - GAP * (len(row) - 1)) / 2
        for node in row:
            node.x, node.y = x, y
            x += node.width + GAP
        y += ROW
    box.height = y - ROW + HEIGHT + (PADDING if frame else 0)


def boxes_of(description):
    """Steps as boxes, and inputs and outputs as boxes of one node, with their levels."""
    tensors = {tensor["name"]: tensor for tensor in description["tensors"]}
    steps = []
    for number, step in enumerate(description["steps"]):
        nodes = [Node(o["name"], o["text"], o["reads"], o["results"]) for o in step["operations"]]
        title = step["name"] + (f" · {step['scheduler']}" if step["scheduler"] else "")
        box = Box(nodes or [Node("view", step["name"], step["inputs"], step["outputs"])], title, step["kind"])
        box.link = f"#step-{number + 1}"
        producers = [one for one in steps if set(one.step_outputs) & set(step["inputs"])]
        box.level = 2 + max((one.level for one in producers), default=-1)
        box.step_outputs, box.step_inputs = step["outputs"], step["inputs"]
        steps.append(box)
    ends = []
    for name, tensor in tensors.items():
        label = f"{name} {tensor['sizes']}".strip()
        if tensor["is_input"]:
            readers = [box.level for box in steps if name in box.step_inputs]
            node = Node(label, tensor["text"], [], [name], "input")
            ends.append(Box([node], level=min(readers, default=1) - 1))
        if tensor["is_output"]:
            source = next((source for output, source in description["views"] if output == name), name)
            makers = [box.level for box in steps if source in box.step_outputs]
            ends.append(Box([Node(label, tensor["text"], [source], [], "output")], level=max(makers, default=0) + 1))
    return steps, ends


def edges_of(steps, ends):
    """(from, to, tensor, whether it goes through memory)."""
    made = {}
    for box in steps:
        made.update((name, box.made[name]) for name in box.step_outputs if name in box.made)
    made.update((box.nodes[0].results[0], box.nodes[0]) for box in ends if box.nodes[0].kind == "input")
    edges = []
    for box in (*steps, *ends):
        for node in box.nodes:
            for name in dict.fromkeys(node.reads):
                inside = box.made.get(name) if node.kind == "operation" else None
                maker = inside or made.get(name)
                if maker is not None and maker is not node:
                    edges.append((maker, node, name, inside is None))
    return edges


def place_boxes(steps, ends):
    """Corners of all boxes; gives the picture's size."""
    boxes = [*ends, *steps]
    readers, makers = {}, {}
    for box in boxes:
        for node in box.nodes:
            for name in node.reads:
                readers.setdefault(name, []).append(box)
            if box in steps or node.kind == "input":
                for name in node.results:
                    makers.setdefault(name, box)

    def neighbours(box, above):
        names = [name for node in box.nodes for name in (node.reads if above else node.results)]
        found = [makers.get(name) for name in names] if above else [b for n in names for b in readers.get(n, [])]
        return [one for one in found if one is not None and one is not box]

    rows = arranged(rows_of(boxes), neighbours)
    widths = [sum(box.width for box in row) + 2 * GAP * (len(row) - 1) for row in rows]
    total, y = max(widths, default=0), GAP
    for row, width in zip(rows, widths, strict=True):
        x = GAP + (total - width) / 2
        for box in row:
            box.x, box.y = x, y
            x += box.width + 2 * GAP
            for node in box.nodes:
                node.x, node.y = node.x + box.x, node.y + box.y
        y += max(box.height for box in row) + BETWEEN
    return total + 2 * GAP, y - BETWEEN + GAP


def drawn_node(node):
    shape = {"operation": 6, "input": 12, "output": 12}[node.kind]
    return (
        f'<g class="{node.kind}"><title>{escape(node.hint)}</title>'
        f'<rect x="{node.x:.0f}" y="{node.y:.0f}" width="{node.width:.0f}" height="{HEIGHT}" rx="{shape}"/>'
        f'<text x="{node.x + node.width / 2:.0f}" y="{node.y + 16:.0f}">{escape(node.label)}</text></g>'
    )


def drawn_box(box):
    return (
        f'<a href="{box.link}"><rect class="step" fill="{COLOURS[box.kind]}" x="{box.x:.0f}" y="{box.y:.0f}" '
        f'width="{box.width:.0f}" height="{box.height:.0f}" rx="8"/>'
        f'<text class="title" x="{box.x + PADDING:.0f}" y="{box.y + 18:.0f}">{escape(box.title)}</text></a>'
    )


def drawn_edge(maker, reader, name, through_memory):
    x0, y0 = maker.x + maker.width / 2, maker.y + HEIGHT
    x1, y1 = reader.x + reader.width / 2, reader.y
    bend = max(12.0, (y1 - y0) / 2)
    kind = "memory" if through_memory else "inside"
    line = f"M{x0:.0f} {y0:.0f} C{x0:.0f} {y0 + bend:.0f} {x1:.0f} {y1 - bend:.0f} {x1:.0f} {y1:.0f}"
    label = ""
    if through_memory and maker.kind == reader.kind == "operation":
        label = f'<text class="tensor" x="{(x0 + x1) / 2 + 4:.0f}" y="{(y0 + y1) / 2:.0f}">{escape(name)}</text>'
    return f'<g><title>{escape(name)}</title><path class="{kind}" d="{line}" marker-end="url(#arrow)"/>{label}</g>'


def picture(description):
    """The fusion of FusionExecutorCache.describe() as an SVG element."""
    steps, ends = boxes_of(description)
    for box in (*steps, *ends):
        lay_out_box(box)
    width, height = place_boxes(steps, ends)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="the fusion\'s operations and kernels">',
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto">'
        '<path d="M0 0 L8 4 L0 8 z"/></marker></defs>',
        *(drawn_box(box) for box in steps),
        *(drawn_edge(*edge) for edge in edges_of(steps, ends)),
        *(drawn_node(node) for box in (*steps, *ends) for node in box.nodes),
        "</svg>",
    ]
    return "\n".join(parts)
