/** The panel's own page: a second bundle, which knows no `vscode` module. */

export {};
