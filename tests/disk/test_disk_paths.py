"""Which file a path means, beneath which root, and which paths mean none: the `paths_table` gate."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sidecar.core.policy import Access
from sidecar.core.refusal import Kind, Refusal
from sidecar.disk import Missing, Resolved, Roots, beneath, identity, name_key, order_key, resolve
from sidecar.disk.openat2 import on_special_filesystem

# A workspace as a hostile repository would lay it out. `name -> target` is a link, `name/` a folder, `name|` a FIFO, `name=` a socket.
LAYOUT = """
ws/f
ws/trail\x20
ws/d/g
ws/d/deep/h
ws/inner -> d
ws/link -> f
ws/up -> d/../f
ws/absolute -> {base}/ws/d/g
ws/dangling -> not-there
ws/dangling-far -> no/folder/there
ws/loop -> loop
ws/self -> .
ws/passwd -> /etc/passwd
ws/environ -> /proc/self/environ
ws/zero -> /dev/zero
ws/away -> ../out
ws/away-absolute -> {base}/out
ws/away-missing -> {base}/out/not-there
ws/away-loop -> {base}/out/loop
ws/round -> ../out/../ws/f
ws/there-and-back -> ../out/back
ws/fifo|
ws/sock=
ws/chain0 -> f
out/x
out/folder/
out/loop -> loop
out/back -> ../ws/f
ws-secret/s
ws2/f
alias -> ws
""" + "".join(f"ws/chain{n + 1} -> chain{n}\n" for n in range(60))


def make_world(base: Path, *, outside: bool = True) -> Path:
    for line in LAYOUT.replace("{base}", str(base)).strip("\n").splitlines():
        name, _, target = line.partition(" -> ")
        if not outside and name.startswith(("out/", "ws-secret/")):
            continue
        path = str(base / name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if target:
            os.symlink(target, path)
        elif name.endswith("/"):
            os.makedirs(path)
        elif name.endswith("|"):
            os.mkfifo(path[:-1])
        elif name.endswith("="):
            _bind(path[:-1])
        else:
            Path(path).write_text(f"I am {name}")
    if outside:
        os.link(base / "out/x", base / "ws/hard")
    return base


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_world(Path(os.path.realpath(tmp_path_factory.mktemp("world"))))


@pytest.fixture(scope="module")
def bare_world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same roots with nothing outside them."""
    return make_world(Path(os.path.realpath(tmp_path_factory.mktemp("bare"))), outside=False)


def _bind(path: str) -> None:
    here = os.getcwd()
    os.chdir(os.path.dirname(path))  # a socket's name is limited to 107 bytes
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(os.path.basename(path))
    finally:
        os.chdir(here)


@pytest.fixture
def roots(world: Path, way_in: str) -> Iterator[Roots]:
    with Roots([str(world / "ws"), str(world / "ws2")]) as roots:
        yield roots


def look(roots: Roots, path: str, access: Access = "read", *, base: str = "/nowhere") -> str:
    """What resolve says, in a few words, with names relative to `base`."""
    found = resolve(roots, path, access=access)
    match found:
        case Resolved():
            with found:
                content = found.read_bytes()
                assert isinstance(content, bytes)
                assert found.requested == path
                assert identity(found.path) == found.identity
                return f"{found.path}: {content.decode()}".replace(f"{base}/", "")
        case Missing():
            assert found.path == os.path.join(found.root.path, found.relative)
            where = "missing" if found.parent_exists else "missing with its folder"
            return f"{where}: {found.path.replace(f'{base}/', '')}"
        case Refusal():
            # Nothing but the fixed text and what the agent itself sent
            assert found.message.endswith(path) or found.kind is Kind.BAD_PATH
            assert not found.data
            return found.kind.value


OUTSIDE, ESCAPE = "path_outside_workspace", "symlink_escape"

PATHS = [
    ("/ws/f", "ws/f: I am ws/f"),
    ("/ws2/f", "ws2/f: I am ws2/f"),
    ("/ws/d/deep/h", "ws/d/deep/h: I am ws/d/deep/h"),
    ("/ws/d/../f", "ws/f: I am ws/f"),
    ("/ws/./d//deep/../g", "ws/d/g: I am ws/d/g"),
    ("/ws/../ws/f", "ws/f: I am ws/f"),
    ("/ws/../ws2/f", "ws2/f: I am ws2/f"),
    ("/alias/f", OUTSIDE),  # not a spelling the root was given by
    ("/none/../ws/f", OUTSIDE),
    # trailing blanks are part of a name
    ("/ws/trail ", "ws/trail : I am ws/trail "),
    ("/ws/f ", "missing: ws/f "),
    ("/ws /f", OUTSIDE),
    ('/ws"/f', OUTSIDE),
    # sibling prefix
    ("/ws-secret/s", OUTSIDE),
    ("/ws-secret/none", OUTSIDE),
    # the root itself
    ("/ws", "not_a_file"),
    ("/ws/d/../", "not_a_file"),
    ("/ws/d/../../ws", "not_a_file"),
    ("/ws/self", "not_a_file"),
    ("/ws/away/../ws", ESCAPE),
    # dots lead out
    ("/ws/../out/x", OUTSIDE),
    ("/ws/../out/none", OUTSIDE),
    ("/ws/d/../../out/x", OUTSIDE),
    ("/../../../../../../../../etc/passwd", OUTSIDE),
    # links inside
    ("/ws/link", "ws/f: I am ws/f"),
    ("/ws/up", "ws/f: I am ws/f"),
    ("/ws/inner/g", "ws/d/g: I am ws/d/g"),
    ("/ws/inner/new", "missing: ws/d/new"),
    ("/ws/inner/deep/../g", "ws/d/g: I am ws/d/g"),
    ("/ws/inner/../f", "ws/f: I am ws/f"),
    ("/ws/absolute", "ws/d/g: I am ws/d/g"),
    ("/ws/dangling", "missing: ws/not-there"),
    ("/ws/dangling-far", "missing with its folder: ws/no/folder/there"),
    ("/ws/chain39", "ws/f: I am ws/f"),
    ("/ws/chain60", "bad_path"),
    ("/ws/loop", "bad_path"),
    ("/ws/loop/x", "bad_path"),
    # links out: leaf, folder, missing leaf
    ("/ws/passwd", ESCAPE),
    ("/ws/environ", ESCAPE),
    ("/ws/zero", ESCAPE),
    ("/ws/away/x", ESCAPE),
    ("/ws/away/none", ESCAPE),
    ("/ws/away/none/deeper", ESCAPE),
    ("/ws/away-absolute/x", ESCAPE),
    ("/ws/away-missing", ESCAPE),
    ("/ws/away-missing/x", ESCAPE),
    ("/ws/away-loop", ESCAPE),
    ("/ws/away", ESCAPE),
    # whether a folder outside exists must not show either
    ("/ws/round", ESCAPE),
    ("/ws/away/folder/../../ws/f", ESCAPE),
    ("/ws/away/none/../../ws/f", ESCAPE),
    ("/out/folder/../../ws/f", OUTSIDE),
    ("/out/none/../../ws/f", OUTSIDE),
    ("/ws/there-and-back", ESCAPE),
    # not files
    ("/ws/d", "not_a_file"),
    ("/ws/d/", "not_a_file"),
    ("/ws/f/", "not_a_file"),
    ("/ws/d/.", "not_a_file"),
    ("/ws/d/..", "not_a_file"),
    ("/ws/none/", "not_a_file"),
    ("/ws/f/x", "not_a_file"),
    ("/ws/f/x/y", "not_a_file"),
    ("/ws/fifo", "not_a_file"),
    ("/ws/sock", "not_a_file"),
    # missing
    ("/ws/new", "missing: ws/new"),
    ("/ws/n/m/new", "missing with its folder: ws/n/m/new"),
    ("/ws/none/../f", "not_found"),
    ("/ws/" + "n" * 300, "bad_path"),
    ("/ws/" + "n/" * 2100 + "n", "bad_path"),
    ("/ws/f\0", "bad_path"),
    ("/ws/\ud800", "bad_path"),
    # a hard link is a file like any other; policy asks before it is written
    ("/ws/hard", "ws/hard: I am out/x"),
]


@pytest.mark.parametrize(("path", "expected"), PATHS)
@pytest.mark.timeout(10)
def test_paths_table(roots: Roots, world: Path, path: str, expected: str) -> None:
    assert look(roots, f"{world}{path}", base=str(world)) == expected
    assert look(roots, f"{world}{path}", "write", base=str(world)) == expected
    found = resolve(roots, f"{world}{path}", access="read")
    if not isinstance(found, Refusal):
        assert found.path == os.path.realpath(found.path)
        if isinstance(found, Resolved):
            found.close()


def test_the_table_would_notice_an_open_that_follows_links(
    roots: Roots, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beneath, "open_beneath", lambda root, path, flags: os.open(path, flags, dir_fd=root))
    wrong = [path for path, expected in PATHS if look(roots, f"{world}{path}", base=str(world)) != expected]
    assert len(wrong) > 5


COMPONENTS = [
    ".",
    "..",
    "..",
    "..",
    "d",
    "deep",
    "f",
    "g",
    "h",
    "inner",
    "self",
    "link",
    "up",
    "absolute",
    "dangling",
    "loop",
    "away",
    "away-absolute",
    "away-missing",
    "round",
    "there-and-back",
    "fifo",
    "none",
    "ws",
    "ws2",
    "out",
    "x",
    "folder",
    "back",
    "alias",
    "chain3",
    "environ",
]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=400)
@given(st.lists(st.sampled_from(COMPONENTS), min_size=1, max_size=7), st.sampled_from(["/", "//", "/./"]))
def test_any_path(way_in: str, world: Path, bare_world: Path, names: list[str], separator: str) -> None:
    """Served means beneath a root and the file that the system means; and the answer is the same when there is nothing outside."""
    path = separator.join(["/ws", *names])
    answers: list[str] = []
    for base in (world, bare_world):
        with Roots([str(base / "ws"), str(base / "ws2")]) as roots:
            answers.append(look(roots, f"{base}{path}", base=str(base)))
            found = resolve(roots, f"{base}{path}", access="write")
            if isinstance(found, Resolved):
                found.close()
            if not isinstance(found, Refusal):
                assert found.path == os.path.realpath(f"{base}{path}")
                assert found.path.startswith((f"{base}/ws/", f"{base}/ws2/"))
    assert answers[0] == answers[1]


@pytest.mark.parametrize("path", ["", "f", "./f", "~/f", "file:///f", "\0", "C:\\f"])
def test_what_is_no_absolute_path_reaches_no_system_call(
    roots: Roots, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beneath, "open_beneath", None)
    monkeypatch.setattr(os, "stat", None)
    monkeypatch.setattr(os, "readlink", None)
    found = resolve(roots, path, access="read")
    monkeypatch.undo()
    assert isinstance(found, Refusal)
    assert found.kind is Kind.BAD_PATH


def test_what_is_lexically_outside_is_not_even_looked_at(
    roots: Roots, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beneath, "open_beneath", None)
    monkeypatch.setattr(os, "stat", None)
    monkeypatch.setattr(os, "readlink", None)
    kinds = [
        resolve(roots, f"{world}{path}", access="read")
        for path in ("/out/x", "/out/none", "/ws-secret/s", "/alias/f", "/out/../ws/f", "/w")
    ]
    monkeypatch.undo()
    assert {kind.kind for kind in kinds if isinstance(kind, Refusal)} == {Kind.OUTSIDE}
    assert len(kinds) == 6


def test_nothing_outside_is_opened(roots: Roots, world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    real = beneath.open_beneath

    def record(folder: int, path: str, flags: int) -> int:
        descriptor = real(folder, path, flags)
        opened.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        return descriptor

    if not os.path.exists("/proc/self/fd"):
        pytest.skip("no /proc to ask for a descriptor's name")
    monkeypatch.setattr(beneath, "open_beneath", record)
    for path, expected in PATHS:
        if expected in (OUTSIDE, ESCAPE):
            look(roots, f"{world}{path}")
    assert [path for path in opened if not path.startswith(str(world / "ws"))] == []


@pytest.mark.parametrize(
    "path",
    [
        "/proc/self/environ",
        "/proc/1/root/etc/passwd",
        "/proc/self/root/etc/passwd",
        "/sys/kernel",
        "/dev/zero",
        "/dev/null",
        "/run/x",
    ],
)
@pytest.mark.timeout(10)
def test_the_systems_own_files_are_no_files_even_beneath_the_root_folder(way_in: str, path: str) -> None:
    with Roots(["/"]) as roots:
        assert look(roots, path) == "not_a_file"
        assert look(roots, f"/usr/..{path}") == "not_a_file"


def test_the_root_folder_as_a_root(way_in: str, world: Path) -> None:
    with Roots(["/"]) as roots:
        assert look(roots, f"{world}/ws/f", base=str(world)) == "ws/f: I am ws/f"
        assert look(roots, f"{world}/ws/away/x", base=str(world)) == "out/x: I am out/x"
        assert look(roots, f"{world}/ws/environ") == "not_a_file"
        assert look(roots, f"{world}/ws/zero") == "not_a_file"
        assert look(roots, "/../etc/not-there") == "missing: /etc/not-there"


@pytest.mark.skipif(not os.path.exists("/proc/self/environ"), reason="no /proc")
def test_proc_is_known_wherever_it_is_mounted(base: Path) -> None:
    (base / "f").write_text("")
    for path, special in (("/proc/self/environ", True), (str(base / "f"), False)):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            assert on_special_filesystem(descriptor) == special
        finally:
            os.close(descriptor)


def test_a_device_node_in_a_root(roots: Roots, world: Path) -> None:
    path = world / "ws/device"
    if not path.exists():
        try:
            os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 5))
        except PermissionError:
            pytest.skip("NOT TESTED HERE: making a device node needs root")
    found = resolve(roots, str(path), access="read")
    assert isinstance(found, Refusal)
    # Where device nodes are switched off, as on containers' file systems, opening it fails before it can be looked at
    switched_off = os.statvfs(path).f_flag & os.ST_NODEV
    assert found.kind is (Kind.IO_ERROR if switched_off else Kind.NOT_A_FILE)


def test_a_writer_of_a_fifo_does_not_make_it_a_file(roots: Roots, world: Path) -> None:
    reader = os.open(world / "ws/fifo", os.O_RDONLY | os.O_NONBLOCK)
    writer = os.open(world / "ws/fifo", os.O_WRONLY | os.O_NONBLOCK)
    try:
        os.write(writer, b"not a file's text")
        assert look(roots, f"{world}/ws/fifo") == "not_a_file"
        assert os.read(reader, 100) == b"not a file's text"
    finally:
        os.close(reader)
        os.close(writer)


def test_the_deepest_of_nested_roots_is_the_files_root(way_in: str, world: Path) -> None:
    with Roots([str(world), str(world / "ws/d")]) as roots:
        found = resolve(roots, f"{world}/ws/d/g", access="read")
        assert isinstance(found, Resolved)
        with found:
            assert found.root.path == f"{world}/ws/d"
        assert look(roots, f"{world}/ws/away/x", base=str(world)) == "out/x: I am out/x"


def test_a_root_by_two_names_is_one_root(way_in: str, world: Path) -> None:
    with Roots(
        [str(world / "alias"), str(world / "ws"), str(world / "not-there"), str(world / "ws/f")]
    ) as roots:
        assert [root.spellings for root in roots.roots] == [(str(world / "ws"), str(world / "alias"))]
        assert roots.unusable == [str(world / "not-there"), str(world / "ws/f")]
        assert look(roots, f"{world}/alias/d/../link", base=str(world)) == "ws/f: I am ws/f"
        assert look(roots, f"{world}/alias/away/none", base=str(world)) == ESCAPE
        assert look(roots, f"{world}/alias/new", base=str(world)) == "missing: ws/new"


def test_no_roots_no_files(way_in: str, world: Path) -> None:
    with Roots([]) as roots:
        assert look(roots, f"{world}/ws/f") == OUTSIDE


def test_roots_that_are_closed_refuse(way_in: str, ws: Path) -> None:
    (ws / "f").write_text("x")
    roots = Roots([str(ws)])
    roots.close()
    roots.close()
    assert look(roots, str(ws / "f")) in ("io_error", OUTSIDE)


def test_what_is_read_is_what_was_resolved(roots: Roots, world: Path, ws: Path) -> None:
    """The name is looked up once: whatever is at it later, the handle is the file that policy was asked about."""
    (ws / "f").write_text("first")
    with Roots([str(ws)]) as own:
        found = resolve(own, str(ws / "f"), access="read")
        assert isinstance(found, Resolved)
        with found:
            os.unlink(ws / "f")
            os.symlink("/etc/passwd", ws / "f")
            assert found.read_bytes() == b"first"
        assert look(own, str(ws / "f")) == ESCAPE


def test_file_names_that_are_not_utf8(roots: Roots, way_in: str, ws: Path) -> None:
    name = os.fsencode(str(ws)) + b"/\xff\xfe.txt"
    try:
        descriptor = os.open(name, os.O_CREAT | os.O_WRONLY)
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    os.close(descriptor)
    with Roots([str(ws)]) as own:
        assert look(own, os.fsdecode(name), base=str(ws)) == "\udcff\udcfe.txt: "


SWAPS = [
    # what is done to the root `ws`, what a read of ws/f says then
    ("nothing", "old"),
    ("cloned again", "new"),
    ("link to outside", OUTSIDE),
    ("moved away and linked", "old"),
    ("gone", OUTSIDE),
    ("folder above linked", OUTSIDE),
    ("a file", OUTSIDE),
]


@pytest.mark.parametrize(("swap", "expected"), SWAPS)
def test_a_root_that_was_swapped_is_noticed(way_in: str, base: Path, swap: str, expected: str) -> None:
    ws, out = base / "up/ws", base / "out/ws"
    for folder, text in ((ws, "old"), (out, "secret")):
        folder.mkdir(parents=True)
        (folder / "f").write_text(text)
    with Roots([str(ws)]) as roots:
        match swap:
            case "cloned again":
                os.rename(ws, base / "before")
                ws.mkdir()
                (ws / "f").write_text("new")
            case "link to outside":
                os.rename(ws, base / "before")
                ws.symlink_to(out)
            case "moved away and linked":
                os.rename(ws, base / "up/elsewhere")
                ws.symlink_to("elsewhere")
            case "gone":
                os.rename(ws, base / "before")
            case "folder above linked":
                os.rename(base / "up", base / "before")
                (base / "up").symlink_to("out")
            case "a file":
                os.rename(ws, base / "before")
                ws.write_text("x")
            case _:
                pass
        for _ in range(2):
            assert look(roots, str(ws / "f")).rpartition(": ")[2] == expected


def test_a_root_of_another_owner_is_not_taken_over(way_in: str, ws: Path) -> None:
    (ws / "f").write_text("x")
    with Roots([str(ws)]) as roots:
        os.rename(ws, ws.with_name("before"))
        ws.mkdir()
        (ws / "f").write_text("x")
        roots.roots[0].owner += 1
        assert look(roots, str(ws / "f")) == OUTSIDE


def test_an_alias_that_was_turned_elsewhere_is_noticed(way_in: str, base: Path, ws: Path) -> None:
    (ws / "f").write_text("x")
    (base / "other").mkdir()
    (base / "name").symlink_to("ws")
    with Roots([str(base / "name")]) as roots:
        assert look(roots, str(base / "name/f"), base=str(base)) == "ws/f: x"
        (base / "name").unlink()
        (base / "name").symlink_to("other")
        assert look(roots, str(base / "name/f")) == OUTSIDE
        assert look(roots, str(base / "ws/f"), base=str(base)) == "ws/f: x"


KEYS = [
    ("/ws/f", "/ws/f"),
    ("/ws/link", "/ws/f"),
    ("/alias/inner/../link", "/ws/f"),
    ("/ws/inner/new", "/ws/d/new"),
    ("/ws/n/m", "/ws/n/m"),
    ("/ws/none/../f", "/ws/f"),
    ("/ws/loop", "/ws/loop"),
]


@pytest.mark.parametrize(("path", "expected"), KEYS)
def test_requests_about_one_file_queue_under_one_name(world: Path, path: str, expected: str) -> None:
    assert order_key(f"{world}{path}") == os.path.normcase(f"{world}{expected}")


@pytest.mark.parametrize(("path", "expected"), [*KEYS[:1], *KEYS[3:], ("/alias/link", "/ws/link")])
def test_what_stands_under_a_name_queues_under_that_name(world: Path, path: str, expected: str) -> None:
    assert name_key(f"{world}{path}") == os.path.normcase(f"{world}{expected}")


def test_a_name_for_queueing_is_given_for_anything() -> None:
    for path in ("", "relative", "\0", "/\ud800", "/" + "x/" * 5000):
        assert isinstance(order_key(path), str)
        assert isinstance(name_key(path), str)
