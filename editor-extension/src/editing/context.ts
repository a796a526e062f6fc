/** `sidecar/context`: what is selected, and the problems that VS Code shows, for agents that ask. */

import * as vscode from "vscode";
import type { Diagnostic, DiagnosticSeverity, Range } from "vscode-languageclient/node";

export interface Shown {
  uri: string;
  range?: Range;
  diagnostics: Diagnostic[];
}

/** Of these documents; without any, of the active one, with its selection. */
export function shown(uris?: string[]): Shown[] {
  if (uris !== undefined) {
    return uris.map((uri) => ({ uri, diagnostics: problems(vscode.Uri.parse(uri)) }));
  }
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) {
    return [];
  }
  const { uri } = editor.document;
  return [{ uri: uri.toString(), range: plain(editor.selection), diagnostics: problems(uri) }];
}

function problems(uri: vscode.Uri): Diagnostic[] {
  return vscode.languages.getDiagnostics(uri).map(({ range, message, severity, source, code }) => {
    const value = typeof code === "object" ? code.value : code;
    return {
      range: plain(range),
      message,
      severity: (severity + 1) as DiagnosticSeverity, // LSP counts from 1
      ...(source === undefined ? {} : { source }),
      ...(value === undefined ? {} : { code: value }),
    };
  });
}

function plain({ start, end }: vscode.Range): Range {
  return { start: { line: start.line, character: start.character }, end: { line: end.line, character: end.character } };
}
