"""Policy: what is asked about, whichever way its name is spelled."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.core.policy import Allow, Ask, Deny, Matchers, check_request, decide, fold, in_system_folder
from sidecar.core.refusal import Kind
from sidecar.matchers import compile_matchers

ROOT = "/home/u/ws"
MATCHERS, _ = compile_matchers(home="/home/u")


def verdict(
    requested: str, access: str, resolved: str = "", *, matchers: Matchers = MATCHERS, links: int = 1
) -> str:
    requested = requested if requested.startswith("/") else f"{ROOT}/{requested}"
    resolved = f"{ROOT}/{resolved}" if resolved else requested
    decision = decide(
        requested, resolved, "write" if access == "write" else "read", matchers, roots=(ROOT,), links=links
    )
    match decision:
        case Allow():
            return "allow"
        case Ask(reason):
            return f"ask: {reason}"
        case Deny(reason):
            return f"deny: {reason}"


REQUESTS = [
    ("/ws/a.py", "fine"),
    ("/ws/a b ", "fine"),
    ("/ws/" + "a" * 4092, "fine"),
    ("/ws/\udcff", "fine"),  # a file name that is not UTF-8, as Python spells it
    ("/ws/" + "a" * 4093, "longer than 4096 bytes"),
    ("/ws/" + "é" * 2047, "longer than 4096 bytes"),
    ("", "not empty"),
    (None, "must be a string"),
    (7, "must be a string"),
    ("a.py", "must be absolute"),
    ("./a.py", "must be absolute"),
    ("~/a.py", "must be absolute"),
    ("\\\\host\\share", "must be absolute"),
    ("file:///ws/a.py", "not a URI"),
    ("vscode-remote://wsl/ws/a.py", "not a URI"),
    ("untitled:Untitled-1", "not a URI"),
    ("/ws/a\0.py", "NUL"),
    ("/ws/\ud800", "not valid Unicode"),
]


@pytest.mark.parametrize(("path", "expected"), REQUESTS)
def test_a_request_is_checked_before_any_system_call(path: object, expected: str) -> None:
    refusal = check_request(path)
    if expected == "fine":
        assert refusal is None
    else:
        assert refusal is not None
        assert refusal.kind is Kind.BAD_PATH
        assert expected in refusal.message
        assert len(refusal.message) < 400


WINDOWS_REQUESTS = [
    ("C:\\ws\\a.py", True),
    ("c:/ws/a.py", True),
    ("\\\\host\\share\\a.py", True),
    ("C:a.py", False),
    ("\\ws\\a.py", False),
    ("/ws/a.py", False),
    ("file:///C:/ws/a.py", False),
]


@pytest.mark.parametrize(("path", "fine"), WINDOWS_REQUESTS)
def test_what_is_absolute_on_windows(path: str, fine: bool) -> None:
    assert (check_request(path, windows=True) is None) == fine


SPELLINGS = [
    ".git/config",
    ".GIT/config",
    ".VSCODE/settings.json",
    ".ｇit/config",
    "．git/config",
    ".g\u200cit/config",
    "\ufeff.git/hooks/pre-commit",
    ".g\u00adit/config",
    "GIT~1/config",
    "git~2/hooks/x",
    ".git::$INDEX_ALLOCATION/config",
    ".git:$I30:$INDEX_ALLOCATION/config",
    ".vscode /settings.json",
    ".git./config",
    ".git . /config",
    ".GITHUB/WORKFLOWS/ci.yml",
    "GITMOD~1",
    "gi7eba~1",
    ".ᵍit/config",
    "sub\\.git\\config",
    ".huſky/pre-commit",
    ".K\u200dube/../.git/config",
]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_another_spelling_of_a_protected_file_is_that_file(spelling: str) -> None:
    assert verdict(spelling, "write") == "ask: protected"
    assert verdict(spelling, "read") == "allow"


DECISIONS = [
    # requested, access, verdict
    ("src/a.py", "read", "allow"),
    ("src/a.py", "write", "allow"),
    (".env", "read", "ask: secret"),
    (".env.local", "read", "ask: secret"),
    (".ENV", "read", "ask: secret"),
    ("ENV~1", "read", "ask: secret"),
    (".env", "write", "ask: secret"),  # a conflict would show the agent what is in it
    (".env.example", "read", "allow"),
    (".env.example", "write", "allow"),
    ("deploy/key.PEM", "read", "ask: secret"),
    ("a.key", "read", "ask: secret"),
    ("id_rsa.pub", "read", "ask: secret"),
    ("id_ed25519", "read", "ask: secret"),
    ("aws-credentials.json", "read", "ask: secret"),
    ("config/secrets.yml", "read", "ask: secret"),
    (".npmrc", "read", "ask: secret"),
    ("server:live.pem", "read", "ask: secret"),  # a stream on Windows, elsewhere a name that ends in .pem
    ("pre-co~1.key", "read", "ask: secret"),
    ("env~1.key", "read", "ask: secret"),
    (".env.example:live", "read", "ask: secret"),
    (
        ".env.example/.env",
        "read",
        "ask: secret",
    ),  # what is taken back is a file, not all that lies beneath the name
    ("/home/u/.docker/config.json:x", "read", "ask: secret"),
    (".vscode/a: fine.json", "write", "ask: protected"),
    ("keyboard.py", "read", "allow"),
    ("/home/u/.ssh/config", "read", "ask: secret"),
    ("/home/u/.aws/config", "read", "ask: secret"),
    ("/home/u/.kube/config", "read", "ask: secret"),
    ("/home/u/.config/gh/hosts.yml", "read", "ask: secret"),
    ("/srv/x/.ssh/known_hosts", "read", "ask: secret"),
    (".git", "write", "ask: protected"),  # a worktree's .git is a file that names a folder
    ("sub/module/.git/hooks/pre-commit", "write", "ask: protected"),
    ("/somewhere/.git/hooks/pre-commit", "write", "ask: protected"),
    (".gitignore", "write", "allow"),
    (".vscode/settings.json", "write", "ask: protected"),
    ("sub/.vscode/tasks.json", "write", "ask: protected"),
    (".vscode/readme.md", "write", "allow"),
    ("a.code-workspace", "write", "ask: protected"),
    (".idea/x/y.xml", "write", "ask: protected"),
    (".mcp.json", "write", "ask: protected"),
    (".cursor/mcp.json", "write", "ask: protected"),
    (".claude/settings.json", "write", "ask: protected"),
    (".codex/config.toml", "write", "ask: protected"),
    (".gemini/settings.json", "write", "ask: protected"),
    (".zed/settings.json", "write", "ask: protected"),
    (".github/workflows/ci.yml", "write", "ask: protected"),
    (".github/hooks/x", "write", "ask: protected"),
    (".github/agents/x.md", "write", "ask: protected"),
    (".github/CODEOWNERS", "write", "allow"),
    (".husky/pre-commit", "write", "ask: protected"),
    (".envrc", "write", "ask: secret"),
    (".gitattributes", "write", "ask: protected"),
    (".bashrc", "write", "ask: protected"),
    (".zshrc", "write", "ask: protected"),
    (".yarnrc.yml", "write", "ask: protected"),
    (".pre-commit-config.yaml", "write", "ask: protected"),
    ("/home/u/.config/fish/config.fish", "write", "ask: protected"),
    ("/proc/self/environ", "read", "deny: system"),
    ("/sys/kernel/x", "read", "deny: system"),
    ("/dev/mem", "write", "deny: system"),
    ("/run/user/1000/bus", "read", "deny: system"),
    ("/process/x", "read", "allow"),
]


@pytest.mark.parametrize(("requested", "access", "expected"), DECISIONS)
def test_decisions(requested: str, access: str, expected: str) -> None:
    assert verdict(requested, access) == expected


def test_a_rule_is_not_dodged_through_a_link() -> None:
    assert verdict("notes.txt", "read", resolved=".env") == "ask: secret"
    assert verdict("build/x", "write", resolved=".git/hooks/x") == "ask: protected"
    assert verdict(".env", "read", resolved="data/plain") == "ask: secret"


def test_another_hard_link_may_be_outside() -> None:
    assert verdict("a.py", "write", links=2) == "ask: hard link"
    assert verdict("a.py", "read", links=2) == "allow"


def test_the_folders_above_a_root_do_not_make_its_files_secret() -> None:
    root = "/home/u/.cursor/worktrees/credentials/ws"
    assert decide(f"{root}/a.py", f"{root}/a.py", "write", MATCHERS, roots=(root,)) == Allow()
    # but a session opened in there is still in there
    for root, access in (("/home/u/ws/.git", "write"), ("/home/u/.ssh", "read")):
        path = f"{root}/config"
        assert isinstance(
            decide(path, path, "write" if access == "write" else "read", MATCHERS, roots=(root,)), Ask
        )


def test_a_root_the_user_put_among_the_systems_folders_is_theirs() -> None:
    assert in_system_folder("/dev/shm/ws/a")
    assert not in_system_folder("/dev/shm/ws/a", "/dev/shm/ws")
    assert not in_system_folder("/run/media/u/stick/a", "/run/media/u/stick")
    assert in_system_folder("/run/media/u/stick/a", "/")
    assert in_system_folder("/proc/self/environ", "/proc/self")
    assert in_system_folder("/proc")
    assert not in_system_folder("/processes")


HOME_AS_ROOT = [
    ("/home/u/.hiddenrc", "/home/u", "ask: protected"),
    ("/home/u/.config/autostart/x.desktop", "/home/u", "ask: protected"),
    ("/home/u/.local/bin/git", "/home", "ask: protected"),
    ("/home/u/.config/nvim/init.lua", "/", "ask: protected"),
    ("/home/u/ws/.prettierrc", "/home/u", "allow"),
    ("/home/u/notes.txt", "/home/u", "allow"),
    ("/home/u/.dotfiles/vim/colours.vim", "/home/u/.dotfiles", "allow"),  # a checkout is a checkout
    ("/home/u2/.hiddenrc", "/home/u2", "allow"),
]


@pytest.mark.parametrize(("path", "root", "expected"), HOME_AS_ROOT)
def test_what_is_hidden_in_the_home_folder_programs_obey(path: str, root: str, expected: str) -> None:
    assert isinstance(decide(path, path, "read", MATCHERS, roots=(root,)), Allow)
    decision = decide(path, path, "write", MATCHERS, roots=(root,))
    assert decision == (Allow() if expected == "allow" else Ask("protected"))


def test_the_sidecars_own_folders_are_secrets() -> None:
    own, _ = compile_matchers(home="/home/u", own=["/home/u/state/acp-sidecar"])
    for name, expected in (
        ("acp-sidecar/approvals.json", Ask("secret")),
        ("acp-sidecar/journal/a.db", Ask("secret")),
        ("acp-sidecar", Ask("secret")),
        ("acp-sidecar-notes", Allow()),
    ):
        path = f"/home/u/state/{name}"
        assert decide(path, path, "read", own, roots=("/home/u",)) == expected
        assert decide("/home/u/link", path, "write", own, roots=("/home/u",)) == expected


def test_folders_in_other_letters_are_the_same_folders() -> None:
    """macOS resolves links and leaves the letter case as it was asked for."""
    matchers, _ = compile_matchers(home="/Users/Zo\u00eb", own=["/Users/Zo\u00eb/Library/acp-sidecar"])
    for zoe in ("/Users/Zo\u00eb", "/users/ZOE\u0308", "/USERS/zo\u00eb"):
        for name in ("Library/acp-sidecar/approvals.json", "LIBRARY/ACP-Sidecar/x", ".Kube/config"):
            assert decide(f"{zoe}/{name}", f"{zoe}/{name}", "read", matchers, roots=(zoe,)) == Ask("secret")
        for root in (zoe, "/USERS", "/"):
            assert decide("", f"{zoe}/.hiddenrc", "write", matchers, roots=(root,)) == Ask("protected")
        assert decide("", f"{zoe}/ws/.prettierrc", "write", matchers, roots=(zoe,)) == Allow()
    assert decide("", "/users/zoe/.hiddenrc", "write", matchers, roots=("/users/zoe",)) == Allow(), (
        "another user"
    )


def test_windows_separators() -> None:
    matchers, _ = compile_matchers(home=r"C:\Users\u")
    root = r"C:\Users\u\credentials\ws"
    for name, expected in (
        (r"src\a.py", Allow()),
        (r".git\hooks\x", Ask("protected")),
        (r"x\.ENV", Ask("secret")),
    ):
        path = rf"{root}\{name}"
        assert decide(path, path, "write", matchers, roots=(root,)) == expected
        assert decide(path.replace("\\", "/"), path, "write", matchers, roots=(root,)) == expected
    path = r"C:\Users\u\.kube\config"
    assert decide(path, path, "read", matchers, roots=("C:\\",)) == Ask("secret")


def test_the_users_patterns_come_after_the_defaults() -> None:
    matchers, problems = compile_matchers(
        ["*.Sqlite", "!secrets.*", "~/Notes/", "cle\u0301s.txt"], ["/Makefile", "!.husky"], home="/home/u"
    )
    assert problems == []
    assert verdict("a/db.sqlite", "read", matchers=matchers) == "ask: secret"
    assert verdict("secrets.yml", "read", matchers=matchers) == "allow"
    for written in ("cl\u00e9s.txt", "cle\u0301s.txt", "CL\u00c9S.TXT"):
        assert verdict(written, "read", matchers=matchers) == "ask: secret"
    assert verdict("/home/u/notes/x", "read", matchers=matchers) == "ask: secret"
    assert verdict("Makefile", "write", matchers=matchers) == "ask: protected"
    assert verdict("sub/Makefile", "write", matchers=matchers) == "allow"
    assert verdict(".husky/x", "write", matchers=matchers) == "allow"
    assert verdict(".env", "read", matchers=matchers) == "ask: secret"


def test_a_pattern_that_is_none_is_named_and_left_out() -> None:
    matchers, problems = compile_matchers(["!", "*.db"], home="/home/u")
    assert len(problems) == 1
    assert "'!'" in problems[0]
    assert verdict("a.db", "read", matchers=matchers) == "ask: secret"


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=12))
def test_folding_is_stable_and_never_longer_in_components(name: str) -> None:
    once = fold(f"/a/{name}/b")
    assert fold(once) == once
    assert once.startswith("a/")
    assert once.endswith("/b")


@given(st.sampled_from([".git", ".vscode", ".env", ".husky"]), st.data())
def test_every_mix_of_letter_case_width_and_ignorables_folds_to_the_name(
    name: str, data: st.DataObject
) -> None:
    spelled = ""
    for letter in name:
        wide = chr(ord(letter) + 0xFEE0)
        spelled += data.draw(st.sampled_from([letter, letter.upper(), wide, wide.upper()]))
        spelled += data.draw(st.sampled_from(["", "", "\u200b", "\u2060", "\ufe0f", "\U000e0061"]))
    spelled += data.draw(st.sampled_from(["", " ", ".", ". .", "::$DATA", ":x"]))
    assert fold("/ws/" + unicodedata.normalize("NFD", spelled)) == f"ws/{name}"
