"""One measurement: read, analysed, its page written, its record kept; or the kept record of before."""

from __future__ import annotations

import gc
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from multitracer.batch.naming import page_file, record_file
from multitracer.batch.outcome import flagged_for
from multitracer.batch.rows import record_of
from multitracer.batch.storage import Store, filesystem, is_remote, store
from multitracer.batch.version import program
from multitracer.model.errors import MultiTracerError, UnreadableFile, UsageError

RECORD = 1
"""Version of the form of records."""

Job = dict[str, Any]


class _Unread(Exception):
    """The traces, not the output, are to blame."""


def process(job: Job) -> dict[str, Any]:
    """Analyse a measurement, unless a record of the same content by the same program is there.

    Parameters
    ----------
    job : dict
        ``root``, ``output``, ``name``, ``files``, ``whole``, ``version``, ``page`` ("all",
        "flagged", "none"), ``flag_below`` (percent), ``filter``, ``conns`` and ``point`` (by file).

    Returns
    -------
    dict
        ``record`` (see `multitracer.batch.rows.record_of`) and ``cached``.

    Raises
    ------
    UsageError
        If this program is of another version than the one that started the run.
    MultiTracerError
        The output cannot be written.
    """
    import multitracer

    if job["version"] != multitracer.__version__:
        raise UsageError(
            f"this worker runs multitracer {multitracer.__version__}, the run was started by "
            f"{job['version']}; install the same version everywhere"
        )
    place = store(job["output"])
    name = job["name"]
    try:
        key = _key(job)
    except (OSError, MultiTracerError) as error:
        return {"record": _failure(job, "", _words(error)), "cached": False}
    kept = _kept(place, job, key)
    if kept is not None:
        return {"record": kept, "cached": True}
    # A record states that its page exists: it is removed first and written last.
    place.remove(record_file(name))
    try:
        record, page = _analyse(job, key)
    except _Unread as error:
        record, page = _failure(job, key, str(error)), None
    if page is None:
        place.remove(page_file(name))
    else:
        content = page.encode("utf-8", "backslashreplace")
        place.write(page_file(name), content)
        record["page"] = page_file(name)
        record["page_sha256"] = hashlib.sha256(content).hexdigest()
    record["seal"] = _seal(record)
    place.write(record_file(name), json.dumps(record, indent=1, allow_nan=False).encode())
    gc.collect()
    return {"record": record, "cached": False}


def _failure(job: Job, key: str, text: str) -> dict[str, Any]:
    return {
        "form": RECORD,
        "key": key,
        "name": job["name"],
        "status": "failed",
        "error": {"kind": "unreadable", "text": text},
        "page": None,
    }


def _seal(record: dict[str, Any]) -> str:
    """A digest of a record without its seal: one that was cut or changed is made anew."""
    said = {name: value for name, value in record.items() if name != "seal"}
    return hashlib.sha256(json.dumps(said, sort_keys=True, allow_nan=False).encode()).hexdigest()


def _kept(place: Store, job: Job, key: str) -> dict[str, Any] | None:
    content = place.read(record_file(job["name"]))
    if content is None:
        return None
    try:
        record = json.loads(content)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or record.get("key") != key or record.get("name") != job["name"]:
        return None
    try:
        if record.get("seal") != _seal(record):
            return None
    except ValueError:  # NaN, which none of ours holds
        return None
    if _wants_page(job, record) or record.get("page"):
        page = place.read(page_file(job["name"]))
        if page is None or hashlib.sha256(page).hexdigest() != record.get("page_sha256"):
            return None
    return record


def _wants_page(job: Job, record: dict[str, Any]) -> bool:
    if record["status"] != "done" or job["page"] == "none":
        return False
    return job["page"] == "all" or bool(flagged_for(record, job["flag_below"]))


def _key(job: Job) -> str:
    """Program, names, contents and what is selected of them in one digest."""
    digest = hashlib.sha256(f"{RECORD}\n{program()}\n{job['name']}\n{job['whole']}\n".encode())
    digest.update(json.dumps([job["filter"], job["conns"], job["point"]], sort_keys=True).encode() + b"\n")
    if is_remote(job["root"]):
        system, _, base = filesystem(job["root"])
        for name in job["files"]:
            digest.update(f"{name}\0{_stamp(system, f'{base}/{name}')}\n".encode("utf-8", "surrogateescape"))
        return digest.hexdigest()
    for name in job["files"]:
        path = os.path.join(job["root"], *name.split("/"))
        try:
            with open(path, "rb") as file:
                content = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            content = f"unreadable: {error.strerror}"  # reported again, with advice, when it is read
        digest.update(f"{name}\0{content}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _stamp(system: Any, path: str) -> str:
    """The tag of an object in a store, which changes with its content; else its content's digest."""
    try:
        about = system.info(path)
        tag = about.get("ETag") or about.get("etag") or about.get("md5Hash")
        return f"{about.get('size')} {tag}" if tag else hashlib.sha256(system.cat_file(path)).hexdigest()
    except Exception as error:
        raise UnreadableFile(f"{path}: {error}; check address and credentials") from error


@contextmanager
def _at_hand(job: Job) -> Iterator[str]:
    """The root as a local directory: itself, or a copy of the files of this measurement."""
    if not is_remote(job["root"]):
        yield job["root"]
        return
    system, _, base = filesystem(job["root"])
    copy = tempfile.mkdtemp(prefix="multitracer-")
    try:
        for name in job["files"]:
            target = os.path.join(copy, *name.split("/"))
            os.makedirs(os.path.dirname(target), exist_ok=True)
            try:
                system.get_file(f"{base}/{name}", target)
            except Exception as error:
                raise _Unread(f"{name}: cannot be fetched: {error}") from error
        yield copy
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def _analyse(job: Job, key: str) -> tuple[dict[str, Any], str | None]:
    import multitracer as mt
    from multitracer.api.pipeline import refuse_without_tcp
    from multitracer.api.selection import select

    before = os.getcwd()
    with _at_hand(job) as root:
        # Paths in results are relative to the root: the same wherever it lies.
        os.chdir(root)
        try:
            try:
                paths = _directory(job) if job["whole"] else [_as_file(name) for name in job["files"]]
                measurement = mt.read(*paths, detail="auto", point=job["point"] or None)
                refuse_without_tcp(measurement)
                measurement = select(measurement, job["conns"], job["filter"])
                analysis = mt.analyze(measurement)
                contract = analysis.to_dict()
            except (OSError, MultiTracerError) as error:
                raise _Unread(_words(error)) from error
            record = record_of(contract, measurement.settings)
            record = {
                "form": RECORD,
                "key": key,
                "name": job["name"],
                "status": "done",
                "page": None,
                **record,
            }
            page = None
            if _wants_page(job, record):
                from multitracer.report import render

                _number_anew()
                page = render(analysis, job["name"] if job["name"] != "." else None)
            return record, page
        finally:
            os.chdir(before)


def _number_anew() -> None:
    """Let Bokeh count its models from the start, so that a page does not depend on those before it.

    It offers no call for that; in this process, no model of an earlier page is alive any more.
    """
    from multitracer.plots import libraries

    libraries.bokeh_models()
    import bokeh.layouts
    import bokeh.plotting  # noqa: F401  makes models of its own when it is loaded
    from bokeh.util import serialization

    if hasattr(serialization, "_simple_id"):
        serialization._simple_id = 9_999


def _as_file(name: str) -> str:
    """A path that is not taken for standard input."""
    return f"./{name}" if name.startswith("-") else name


def _directory(job: Job) -> list[str]:
    """Where the files are; not always the name, which is unquoted where it is an address."""
    return [_as_file(os.path.dirname(job["files"][0]) or ".") if job["files"] else job["name"]]


def _words(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{error.filename or ''}: {error.strerror or error}".removeprefix(": ")
    return str(error)
