"""The bytes on the disk after an agent's edit of one line, in real editors with the sidecar: the file's own, with that line changed.

What editors do to a file by themselves is in tests/workspace/test_fidelity.py, over every habit; here is that it holds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.e2e import scripted, sidecar
from tests.e2e.emacs import Emacs
from tests.e2e.helix import Helix
from tests.e2e.nvim import Neovim
from tests.support import tools
from tests.support.waiting import eventually

FILES = {
    "lf": b"one\ntwo\nthree\n",
    "crlf": b"one\r\ntwo\r\nthree\r\n",
    "mixed": b"one\r\ntwo\nthree\r\n",
    "bom": b"\xef\xbb\xbfone\ntwo\nthree\n",
    "bom-crlf": b"\xef\xbb\xbfone\r\ntwo\r\nthree\r\n",
    "no-final-end": b"one\ntwo\nthree",
}
OPENED = ("lf", "crlf", "bom", "bom-crlf", "no-final-end")
ENDED = b"one\nTWO\nthree\n"
"""These editors end the last line of a file when it is saved, whoever changed it."""


def content(data: bytes) -> str:
    return data.decode().removeprefix("\ufeff").replace("two", "TWO")


def steps(path: Path, data: bytes) -> str:
    return scripted.steps(scripted.read(path), scripted.write(path, content(data)))


def edited(name: str) -> bytes:
    return FILES[name].replace(b"two", b"TWO")


def saved(name: str) -> bytes:
    return ENDED if name == "no-final-end" else edited(name)


def folder_of_files(folder: Path) -> dict[str, Path]:
    files = {name: folder / f"{name}.txt" for name in FILES}
    for name, path in files.items():
        path.write_bytes(FILES[name])
    return files


def holds(path: Path, wanted: bytes) -> None:
    def held() -> bytes | None:
        try:
            return path.read_bytes()
        except FileNotFoundError:  # Helix moves the old file away before it writes the new one
            return None

    eventually(lambda: held() == wanted, f"{path.name} is {wanted!r}", otherwise=lambda: repr(held()))


def test_neovim(nvim: Neovim, workspace: Path) -> None:
    files = folder_of_files(workspace)
    nvim.setup(sidecar.COMMAND, scripted.settings(), workspace)
    nvim.ex("set hidden")
    nvim.open(files["lf"])
    nvim.wait_until_ready()
    for name in OPENED:
        nvim.open(files[name])
        order: dict[str, Any] = {"prompt": steps(files[name], FILES[name]), "wait": True}
        nvim.command("sidecar.prompt", order)
        holds(files[name], saved(name))
    nvim.command("sidecar.prompt", {"prompt": steps(files["mixed"], FILES["mixed"]), "wait": True})
    holds(files["mixed"], edited("mixed"))


def test_neovim_not_open(nvim: Neovim, workspace: Path) -> None:
    files = folder_of_files(workspace)
    other, empty = workspace / "other.txt", workspace / "empty.txt"
    other.write_text("x\n")
    empty.write_bytes(b"")
    nvim.setup(sidecar.COMMAND, scripted.settings(), workspace)
    nvim.open(other)
    nvim.wait_until_ready()
    everything = [
        one
        for name, path in files.items()
        for one in (scripted.read(path), scripted.write(path, content(FILES[name])))
    ]
    new = {
        "new.txt": "a\n",
        "new-crlf.txt": "a\r\nb\r\n",
        "new-no-end.txt": "a",
        "new-empty-line.txt": "\n",
        "empty.txt": "a\n",
    }
    everything += [scripted.write(workspace / name, text) for name, text in new.items()]
    nvim.command("sidecar.prompt", {"prompt": scripted.steps(*everything), "wait": True})
    assert {name: path.read_bytes() for name, path in files.items()} == {name: edited(name) for name in files}
    assert {name: (workspace / name).read_bytes() for name in new} == {
        name: text.encode() for name, text in new.items()
    }


def test_emacs(emacs: Emacs, workspace: Path) -> None:
    files = folder_of_files(workspace)
    emacs.setup(sidecar.COMMAND, scripted.settings())
    emacs.open(files["lf"])
    emacs.start()
    for name in OPENED:
        emacs.open(files[name])
        emacs.request("sidecar.prompt", {"prompt": steps(files[name], FILES[name]), "wait": True})
        holds(files[name], saved(name))
    emacs.request("sidecar.prompt", {"prompt": steps(files["mixed"], FILES["mixed"]), "wait": True})
    holds(files["mixed"], edited("mixed"))


def test_helix(tmp_path: Path, workspace: Path) -> None:
    """By the chat, as Helix passes no arguments to commands; saved by the user, as it saves nothing for a server."""
    tool, tmux = tools.require("hx"), tools.require("tmux")
    files, trace = folder_of_files(workspace), tmp_path / "trace"
    everything = [
        one
        for name, path in files.items()
        for one in (scripted.read(path), scripted.write(path, content(FILES[name])))
    ]
    settings = scripted.settings(trace=trace)
    with Helix(tool, tmux, tmp_path / "hx", workspace, sidecar.COMMAND[:-1], files["lf"], settings) as helix:
        for name in OPENED[1:]:
            helix.command(f"open {files[name].name}")
            helix.terminal.wait_for(files[name].name)

        helix.prompt(scripted.steps(*everything))
        eventually(
            lambda: len(scripted.answers(trace)) == len(everything),
            "all is answered",
            otherwise=helix.log,
        )
        holds(files["mixed"], edited("mixed"))  # nobody has it open
        for name in OPENED:
            assert files[name].read_bytes() == FILES[name], "not saved for the user"
        helix.command("write-all")
        for name in OPENED:
            holds(files[name], saved(name))
