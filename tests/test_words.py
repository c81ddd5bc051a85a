"""What people read is in the field's terms: docs, strings of the program, docstrings and comments."""

from __future__ import annotations

import ast
import inspect
import io
import json
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest
from support_samples import ROOT
from words import OLD_WORDS, old_words

import multitracer as mt

PACKAGE = ROOT / "multitracer"
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")),
    ROOT / "sample_traces" / "README.md",
    ROOT / "benchmarks" / "README.md",
    *sorted((ROOT / "studies").rglob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]

FILES = sorted(PACKAGE.rglob("*.py"))
CORE = [
    path
    for room in ("core", "python")
    for path in sorted((ROOT / "rust" / room / "src").rglob("*.rs"))
    if path.name != "tests.rs" and "tests" not in path.parts
]
SCRIPTS = sorted(PACKAGE.rglob("*.js"))
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def said(findings: list[tuple[int, str, str]]) -> str:
    return "\n".join(f"line {line}: {word!r}: say {say}" for line, word, say in findings)


def is_command(function: ast.FunctionDef) -> bool:
    return any(re.search(r"command|group", ast.unparse(one)) for one in function.decorator_list)


def strings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """String constants that can reach users: all but docstrings, those of commands included."""
    inner = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list) or (isinstance(node, ast.FunctionDef) and is_command(node)):
            continue  # click prints the docstring of a command
        inner |= {id(line.value) for line in body if isinstance(line, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner:
            yield node.lineno, node.value


def prose(code: str) -> Iterator[tuple[int, str]]:
    """All docstrings, those of values included, and comments, each with its lines joined, without marks."""
    for node in ast.walk(ast.parse(code)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            yield node.lineno, node.value.value
    begin, end, lines = 0, 0, list[str]()
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type != tokenize.COMMENT:
            continue
        if token.start[0] != end + 1 and lines:
            yield begin, "\n".join(lines)
            lines = []
        begin = begin if lines else token.start[0]
        end = token.start[0]
        lines.append(token.string.lstrip("#: "))
    if lines:
        yield begin, "\n".join(lines)


LITERAL = {
    ".rs": re.compile(r'//[^\n]*|r(#+)"(.*?)"\1|"((?:[^"\\]|\\.)*)"', re.DOTALL),
    ".js": re.compile(r"""//[^\n]*|(`|"|')((?:(?!\1)[^\\]|\\.)*)\1""", re.DOTALL),
}
"""Comments, which are no strings, and strings of other languages."""


def literals(code: str, language: str) -> Iterator[tuple[int, str]]:
    """The same of Rust, without its unit tests, and of JavaScript."""
    code = code.partition("#[cfg(test)]\nmod tests {")[0]
    for match in LITERAL[language].finditer(code):
        text = next((group for group in reversed(match.groups()) if group), "")
        yield code.count("\n", 0, match.start()) + 1, re.sub(r"\\\n\s*", "", text)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_docs_are_in_the_fields_terms(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    # Output of an earlier version is quoted as it was, between two marks.
    found = old_words(re.sub(r"<!-- before -->\n```\n.*?```\n<!-- after -->", "", text, flags=re.DOTALL))
    assert not found, said([tuple(one) for one in found])


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_strings_are_in_the_fields_terms(file: Path) -> None:
    found = [
        (line, one.word, one.say)
        for line, text in strings(ast.parse(file.read_text(encoding="utf-8")))
        for one in old_words(text)
    ]
    assert not found, said(found)


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_docstrings_and_comments_are_in_the_fields_terms(file: Path) -> None:
    found = [
        (line, one.word, one.say)
        for line, text in prose(file.read_text(encoding="utf-8"))
        for one in old_words(text)
    ]
    assert not found, said(found)


@pytest.mark.parametrize(("files", "some"), [(CORE, "tcpdump"), (SCRIPTS, "Copied")], ids=["rust", "js"])
def test_strings_of_other_languages_are_in_the_fields_terms(files: list[Path], some: str) -> None:
    texts = [
        (name_of(file), line, text)
        for file in files
        for line, text in literals(file.read_text(encoding="utf-8"), file.suffix)
    ]
    assert any(some in text for *_, text in texts)
    found = [(f"{name}:{line}", one) for name, line, text in texts for one in old_words(text)]
    assert found == []


@pytest.mark.parametrize("page", NOTEBOOKS, ids=name_of)
def test_notebooks_are_in_the_fields_terms(page: Path) -> None:
    cells = json.loads(page.read_text(encoding="utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    texts = ["".join(cell["source"]) for cell in cells]
    texts += ["".join(one.get("text", one.get("data", {}).get("text/plain", []))) for one in outputs]
    assert len(texts) > len(cells) > 3
    found = [tuple(one) for text in texts for one in old_words(text)]
    assert not found, said(found)


def public() -> dict[str, str]:
    """Every public name of `import multitracer` and its docstring; those of classes with their members."""
    texts: dict[str, str] = {}
    for name in dir(mt):
        one = getattr(mt, name)
        if name.startswith("_"):
            continue
        texts[name] = inspect.getdoc(one) or ""
        for member in dir(one) if inspect.isclass(one) else ():
            if not member.startswith("_"):
                listed = re.search(rf"^{member} : .*", texts[name], re.MULTILINE)  # under "Attributes"
                own = inspect.getdoc(inspect.getattr_static(one, member))
                texts[f"{name}.{member}"] = own or (listed[0] if listed else "")
    return texts


def test_what_python_shows_is_documented_in_the_fields_terms() -> None:
    texts = public()
    assert {"analyze", "Measurement.events", "Analysis.to_json"} <= set(texts)
    assert [name for name, text in texts.items() if not text] == []
    found = {name: old_words(text) for name, text in texts.items()}
    assert {name: words for name, words in found.items() if words} == {}


def test_rooms_are_there() -> None:
    rooms = {path.relative_to(PACKAGE).parts[0] for path in FILES}
    assert {"cli", "diagnosis", "analyzers", "plots", "report", "batch", "export"} <= rooms


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("35 segments sent\n  again", ["sent again"]),
        ("It was Sent Twice; a hole.", ["Sent Twice", "hole"]),
        ("a whole packet; the wholesale pipeline; `pipe` of RFC 6675", []),
        ("round-trip time; test_round_trips", []),
        ("smallest round trip", ["round trip"]),
        ("only the log can tell; the receiver told it", ["tell", "told"]),
        ("copies cannot be told apart; what tells a loss apart", ["told apart"]),
        ("frames heard; `heard`", ["frames heard"]),
        ("slow start behind a timeout", ["behind a timeout", "start behind"]),
    ],
)
def test_words_are_found(text: str, words: list[str]) -> None:
    assert sorted(one.word for one in old_words(text)) == sorted(words)


def test_docstrings_of_commands_count_and_others_do_not() -> None:
    code = '''
"""A hole."""
@command
def run():
    """A hole in a command."""
    f"{x} was sent again"
def helper():
    """A hole that nobody reads."""
    return "ruined"
'''
    texts = [text for _, text in strings(ast.parse(code))]
    assert sorted(one.word for text in texts for one in old_words(text)) == ["hole", "ruined", "sent again"]


def test_docstrings_and_comments_are_found() -> None:
    code = '''
X = 1  # a
"""A value."""
# sent
# again
def helper():
    """A hole."""
    return "ruined"
'''
    assert sorted(prose(code)) == [(2, "a"), (3, "A value."), (4, "sent\nagain"), (7, "A hole.")]


def test_strings_of_other_languages_are_found() -> None:
    rust = 'a("one \\"two\\""); // "three"\nb(r#"fo"ur"#, "fi\\\n   ve");\n#[cfg(test)]\nmod tests { "six" }'
    assert list(literals(rust, ".rs")) == [(1, 'one \\"two\\"'), (1, ""), (2, 'fo"ur'), (2, "five")]
    assert [text for _, text in literals("""x = `a "b"` + "it's"; // 'c'""", ".js")] == ['a "b"', "it's", ""]


def test_replacements_are_given() -> None:
    assert all(old.say for old in OLD_WORDS)
