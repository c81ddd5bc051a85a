"""Draw the subpackages (rooms) and which imports which, and list them in docs/architecture.md: `make map`.

The subpackages, their first lines and the arrows are read from the source with ast; nothing of the package is
imported. A room stands one floor above the highest that it imports. Arrows that follow from others are left
out.
"""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "multitracer"
PAGE = ROOT / "docs" / "architecture.md"
PICTURE = ROOT / "docs" / "images" / "architecture.svg"
BEGIN, END = "<!-- subpackages -->", "<!-- end of subpackages -->"
FACE = ("__init__", "__main__")


def rooms() -> dict[str, str]:
    """Rooms (packages and the registry) with the first lines of their docstrings; the face is none."""
    found = {}
    for path in sorted(PACKAGE.iterdir()):
        file = path / "__init__.py" if path.is_dir() else path
        if file.suffix == ".py" and file.is_file() and path.stem not in FACE:
            text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
            found[path.stem] = text.splitlines()[0] if text else ""
    return found


def imports(known: dict[str, str]) -> dict[str, set[str]]:
    """The rooms that each room imports, wherever in its files."""
    found: dict[str, set[str]] = {name: set() for name in known}
    for path in PACKAGE.rglob("*.py"):
        room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if room not in known:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            for parts in (name.split(".") for name in names):
                if parts[0] == "multitracer" and len(parts) > 1 and parts[1] in known and parts[1] != room:
                    found[room].add(parts[1])
    return found


def floors(graph: dict[str, set[str]]) -> dict[str, int]:
    """How high each room stands: one above the highest that it imports; 0 without any."""
    known: dict[str, int] = {}

    def floor(name: str, above: tuple[str, ...] = ()) -> int:
        if name in above:
            raise SystemExit(f"subpackages import each other in a circle: {' -> '.join((*above, name))}")
        if name not in known:
            known[name] = max((floor(other, (*above, name)) + 1 for other in graph[name]), default=0)
        return known[name]

    for name in graph:
        floor(name)
    return known


def direct(graph: dict[str, set[str]]) -> list[tuple[str, str]]:
    """The arrows that do not follow from two or more others."""

    def below(name: str) -> set[str]:
        return set(graph[name]).union(*(below(other) for other in graph[name]))

    return [
        (name, other)
        for name, others in sorted(graph.items())
        for other in sorted(others)
        if not any(other in below(between) for between in others)
    ]


def table(known: dict[str, str], graph: dict[str, set[str]]) -> str:
    """Rooms from the top floor down, as Markdown."""
    height = floors(graph)
    rows = ["| level | subpackage | contents | imports |", "|---|---|---|---|"]
    for name in sorted(known, key=lambda name: (-height[name], name)):
        what = known[name].rstrip(".").replace("``", "`")
        rows.append(f"| {height[name]} | `{name}` | {what} | {', '.join(sorted(graph[name])) or '-'} |")
    return "\n".join(rows)


def draw(known: dict[str, str], graph: dict[str, set[str]]) -> None:
    """The picture, as SVG with text as text; equal code gives equal bytes."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams |= {
        "svg.fonttype": "none",
        "svg.hashsalt": "multitracer",
        "font.family": "DejaVu Sans",
    }
    from matplotlib import pyplot as plt

    height = floors(graph)
    place: dict[str, tuple[float, float]] = {}
    for level in sorted(set(height.values())):
        row = sorted(name for name in known if height[name] == level)
        for at, name in enumerate(row):
            place[name] = ((at + 0.5) * 12 / len(row), 1.25 * level)
    figure, axes = plt.subplots(figsize=(12, 1.25 * (max(height.values()) + 1)))
    for name, other in direct(graph):
        axes.annotate(
            "",
            xy=(place[other][0], place[other][1] + 0.32),
            xytext=(place[name][0], place[name][1] - 0.32),
            arrowprops={"arrowstyle": "-|>", "color": "#7a8aa0", "lw": 1.1, "shrinkA": 0, "shrinkB": 0},
        )
    for name, (x, y) in place.items():
        axes.text(
            x,
            y,
            name,
            ha="center",
            va="center",
            fontsize=12,
            bbox={"boxstyle": "round,pad=0.5", "facecolor": "#eef3fa", "edgecolor": "#33507a"},
        )
    axes.set(xlim=(0, 12), ylim=(-0.7, 1.25 * max(height.values()) + 0.7))
    axes.axis("off")
    figure.savefig(PICTURE, metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)


def main() -> None:
    """Write the picture and the page's table."""
    known = rooms()
    graph = imports(known)
    draw(known, graph)
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{table(known, graph)}\n{END}{after}", encoding="utf-8")
    print(
        f"{len(known)} subpackages on {len(set(floors(graph).values()))} levels: {PICTURE.relative_to(ROOT)}"
    )


if __name__ == "__main__":
    main()
