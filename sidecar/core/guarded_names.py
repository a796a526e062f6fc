"""guarded_names: the names of files that agents read or write only after the user was asked, in groups with their source.

gitignore syntax beneath each root. A name without a slash matches at any depth and covers everything beneath it. A leading `~/` anchors the
name at the home folder. An agent added to the table of known agents (acp/known.py) needs its settings here: a test checks that.
"""

from __future__ import annotations

from collections.abc import Mapping

SECRETS: Mapping[str, tuple[str, ...]] = {
    "what people call a file with a password or a key in it, unless it is program text: `password.py` is none": (
        "password.*",
        "passwords.*",
        "*private_key.*",
        "*private-key.*",
        "!*.c",
        "!*.cpp",
        "!*.cs",
        "!*.go",
        "!*.h",
        "!*.java",
        "!*.js",
        "!*.kt",
        "!*.php",
        "!*.py",
        "!*.rb",
        "!*.rs",
        "!*.swift",
        "!*.ts",
        "!*.tsx",
    ),
    "what people call a file with a secret in it": (
        "*credentials*",
        "secrets.*",
        "*.secrets.*",
        ".secret",
        ".secrets",
        "*.secret",
        "*.secrets",
        "*password*.txt",
        "*passwd*.txt",
        "private_key",
        "private-key",
    ),
    "environments: dotenv's names, with a stage before or behind": (
        ".env*",
        "!.env.example",
        "*.env",
        "*.env.local",
        "!example.env",
        "!sample.env",
        ".dev.vars",
    ),
    "keys and certificates: OpenSSL's, Java's, Apple's, PuTTY's and Kerberos' endings; Zed's `private_files`": (
        "*.pem",
        "*.key",
        "*.p8",
        "*.p12",
        "*.pfx",
        "*.crt",
        "*.cer",
        "*.der",
        "*.jks",
        "*.keystore",
        "*.ppk",
        "*.keytab",
        "*.kdbx",
        "*.agekey",
    ),
    "what ssh-keygen makes (its manual, FILES)": ("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*"),
    "where programs keep logins: their manuals": (
        ".netrc",
        "_netrc",
        ".npmrc",
        ".pypirc",
        ".pgpass",
        ".my.cnf",
        ".htpasswd",
        ".dockercfg",
        ".git-credentials",
        ".vault-token",
        ".vault_pass*",
        "kubeconfig",
        "*.tfstate*",
    ),
    "the home folder's: ssh, gpg, clouds, containers": (
        "~/.ssh",
        "~/.aws",
        "~/.gnupg",
        "~/.kube",
        "~/.docker/config.json",
        "~/.config/gh",
        "~/.config/gcloud",
    ),
}
"""Reading (or replacing) such a file asks. The order counts: a pattern with `!` takes back what the patterns before it say."""

AGENT_SETTINGS: Mapping[str, tuple[str, ...]] = {
    "claude-code": (".claude", ".mcp.json"),
    "codex": (".codex",),
    "copilot": (".copilot", "**/.github/agents", "**/.github/hooks", "**/.github/mcp.json"),
    "cursor": (".cursor",),
    "fast-agent": (".fast-agent", ".fastagent", "fastagent.config.*", "fastagent.secrets.*"),
    "gemini": (".gemini",),
    "goose": (".goose", ".goosehints", "~/.config/goose"),
    "kilo": (".kilo", ".kilocode"),
    "kimi": (".kimi",),
    "opencode": (".opencode", "opencode.json*", "~/.config/opencode"),
    "openhands": (".openhands",),
    "others": (
        ".crush",
        "crush.json",
        ".crush.json",
        ".continue",
        ".aider*",
        ".roo",
        ".windsurf",
        ".amazonq",
        ".amp",
        ".augment",
        ".cline",
        ".clinerules",
        ".factory",
        ".junie",
        ".kiro",
        ".trae",
    ),
    "pi": (".pi",),
    "qwen": (".qwen",),
    "vibe": (".vibe",),
}
"""For each agent: the files with what it runs and obeys (hooks, plugins, MCP servers, permissions), according to its manual."""

PROTECTED: Mapping[str, tuple[str, ...]] = {
    "git: hooks, filters, drivers (gitattributes(5), gitmodules(5))": (
        ".git",
        ".gitattributes",
        ".gitmodules",
        ".gitconfig",
    ),
    "editors: tasks, language servers, commands; each editor's manual": (
        ".vscode/*.json",
        "**/.vscode/*.json",
        "*.code-workspace",
        ".idea",
        ".zed",
        ".helix",
        ".fleet",
        ".nvim.lua",
        ".nvimrc",
        ".exrc",
        ".vimrc",
        ".lazy.lua",
        ".dir-locals*.el",
        "*.sublime-project",
        ".kateproject",
    ),
    "continuous integration: each service's manual": (
        "**/.github/workflows",
        "**/.github/actions",
        ".gitlab-ci.yml",
        ".gitlab",
        ".circleci",
        ".buildkite",
        ".travis.yml",
        ".drone.yml",
        ".woodpecker*",
        ".gitea",
        ".forgejo",
        "azure-pipelines*.yml",
        "bitbucket-pipelines.yml",
        "Jenkinsfile*",
        "appveyor.yml",
        ".appveyor.yml",
        "cloudbuild.yaml",
    ),
    "containers that editors start (containers.dev, gitpod.io)": (
        ".devcontainer",
        ".devcontainer.json",
        ".gitpod*",
    ),
    "hooks: husky, lefthook, pre-commit, overcommit": (
        ".husky",
        ".githooks",
        "lefthook.y*ml",
        ".lefthook*",
        ".pre-commit-config.y*ml",
        ".overcommit.yml",
    ),
    "shells and what sets variables when a folder is entered (direnv, mise, asdf)": (
        ".envrc",
        ".mise*",
        "mise.toml",
        ".asdfrc",
        ".bashrc",
        ".bash_profile",
        ".bash_login",
        ".bash_logout",
        ".bash_aliases",
        ".profile",
        ".zshrc",
        ".zshenv",
        ".zprofile",
        ".zlogin",
        ".zlogout",
        ".kshrc",
        ".cshrc",
        ".tcshrc",
        ".inputrc",
        "~/.config/fish",
        ".ripgreprc",
    ),
    "package managers: registries, scripts, plugins (VS Code's `chat.tools.edits.autoApprove`)": (
        ".npmrc",
        ".yarnrc*",
        ".pnpmfile.*",
        "bunfig.toml",
        "**/.cargo/config*",
    ),
}
"""Files that make programs run. Writing one asks in every mode, even if it does not exist yet."""

SECRET_PATTERNS: tuple[str, ...] = tuple(pattern for group in SECRETS.values() for pattern in group)
PROTECTED_PATTERNS: tuple[str, ...] = tuple(
    pattern for groups in (PROTECTED, AGENT_SETTINGS) for group in groups.values() for pattern in group
)


def plain_names() -> list[str]:
    """The names in the lists that stand for one file or folder: those that have a short name on NTFS."""
    found = (
        part
        for pattern in (*SECRET_PATTERNS, *PROTECTED_PATTERNS)
        for part in pattern.removeprefix("~/").removeprefix("**/").rstrip("*").split("/")[:1]
    )
    return sorted(
        {name.casefold() for name in found if not set("!*?[") & set(name)}, key=lambda n: (-len(n), n)
    )
