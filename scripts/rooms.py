"""How the subpackages (rooms) depend on each other, in numbers: `python scripts/rooms.py [PACKAGE]`.

A room is a folder of the package, or a file that stands loose beside the folders; ``__init__`` and
``__main__`` are the package's face and no rooms. A floor is one above the highest that is imported; rooms in
a circle stand on one floor. Imports count wherever they stand: at the top of a file, inside a function, for
type checkers. Any tree can be counted: ``git archive COMMIT multitracer | tar x -C DIR``, then
``python scripts/rooms.py DIR/multitracer``.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

FACE = ("__init__", "__main__")


def imports(tree: ast.AST, package: str, top: bool = True) -> Iterator[tuple[str, bool]]:
    """Dotted names that are imported from the package, and whether at the top of the file."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                if node.module.split(".")[0] == package:
                    yield f"{node.module}.{alias.name}", top
        elif isinstance(node, ast.Import):
            yield from ((alias.name, top) for alias in node.names if alias.name.split(".")[0] == package)
        else:
            inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            typing = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
            yield from imports(node, package, top and not inside and not typing)


def files(package: Path) -> dict[str, list[tuple[str, bool]]]:
    """By file as a dotted name: the files that it imports, and whether at its top."""
    paths = {
        ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__"): path
        for path in package.rglob("*.py")
    }
    found: dict[str, list[tuple[str, bool]]] = {}
    for name, path in paths.items():
        found[name] = []
        for imported, top in imports(ast.parse(path.read_text(encoding="utf-8")), package.name):
            while imported not in paths:
                imported = imported.rpartition(".")[0]
            if imported != name:
                found[name].append((imported, top))
    return found


def components(graph: Mapping[str, Iterable[str]]) -> list[set[str]]:
    """Sets of nodes that reach each other (Tarjan 1972)."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[set[str]] = []

    def visit(node: str) -> None:
        number[node] = low[node] = len(number)
        stack.append(node)
        for other in graph[node]:
            if other not in number:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == number[node]:
            at = stack.index(node)
            found.append(set(stack[at:]))
            del stack[at:]

    for node in graph:
        if node not in number:
            visit(node)
    return found


def floors(graph: Mapping[str, set[str]]) -> dict[str, int]:
    """Of each room; rooms in a circle stand on the same."""
    height: dict[str, int] = {}
    for group in components(graph):  # what is imported comes first
        below = {other for room in group for other in graph[room]} - group
        height |= dict.fromkeys(group, max((height[other] + 1 for other in below), default=0))
    return height


def main(package: Path) -> None:
    """Count and print."""
    sys.setrecursionlimit(10_000)
    everything = files(package)
    loose = sorted(path.stem for path in package.glob("*.py"))
    faces = {package.name, *(f"{package.name}.{stem}" for stem in FACE)}
    graph = {
        name: [(other, top) for other, top in imported if other not in faces]
        for name, imported in everything.items()
        if name not in faces
    }

    def room(name: str) -> str:
        return name.split(".")[1]

    rooms: dict[str, set[str]] = {room(name): set() for name in graph}
    at_top: dict[str, set[str]] = {room(name): set() for name in graph}
    for name, imported in graph.items():
        rooms[room(name)] |= {room(other) for other, _ in imported} - {room(name)}
        at_top[room(name)] |= {room(other) for other, top in imported if top} - {room(name)}
    knots = [group for group in components(rooms) if len(group) > 1]
    within = {room: group for group in knots for room in group}
    mutual = {
        (name, other)
        for name, imported in graph.items()
        for other, _ in imported
        if room(name) != room(other) and room(other) in within.get(room(name), ())
    }
    circles = [
        group
        for group in components({name: [other for other, _ in rest] for name, rest in graph.items()})
        if len(group) > 1
    ]

    def sizes(groups: list[set[str]]) -> str:
        return f" (of {', '.join(str(n) for n in sorted(map(len, groups), reverse=True))})" if groups else ""

    print(f"loose files: {len(loose)}")
    print(f"subpackages: {len(rooms)} on {len(set(floors(at_top).values()))} levels by imports at the top")
    print(f"levels by all imports: {len(set(floors(rooms).values()))}")
    print(f"circles of subpackages: {len(knots)}{sizes(knots)}, held by {len(mutual)} imports of files")
    print(f"circles of files: {len(circles)}{sizes(circles)}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent / "multitracer"))
