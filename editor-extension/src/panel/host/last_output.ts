/** What the last command in a terminal of the user's said, for `@terminal`. Known where the shell tells VS Code of its commands (shell integration). */

import * as vscode from "vscode";

/** The most characters that are kept: the last ones. */
const KEPT = 32_000;

export interface Output {
  terminal: string;
  command: string;
  text: string;
}

export class LastOutput implements vscode.Disposable {
  private last: Output | undefined;
  private readonly listening: vscode.Disposable;

  constructor() {
    this.listening = vscode.window.onDidStartTerminalShellExecution((event) => void this.follow(event));
  }

  /** That of the command that was started last; undefined before there is any output. */
  get(): Output | undefined {
    return this.last?.text.trim() ? { ...this.last, text: plain(this.last.text) } : undefined;
  }

  dispose(): void {
    this.listening.dispose();
  }

  private async follow({ terminal, execution }: vscode.TerminalShellExecutionStartEvent): Promise<void> {
    const mine: Output = { terminal: terminal.name, command: execution.commandLine.value, text: "" };
    const stream = execution.read(); // only what comes after this call
    for await (const data of stream) {
      mine.text = (mine.text + data).slice(-KEPT);
      this.last = mine;
    }
  }
}

// eslint-disable-next-line no-control-regex -- terminals speak in control characters
const SEQUENCES = /\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-~]/g;

/** The text without colours and cursor movements. Of a line that was written over, the last version. */
export function plain(output: string): string {
  const lines = output.replace(SEQUENCES, "").replace(/\r+\n/g, "\n").split("\n");
  const shown = lines.map((line) => line.replace(/\r+$/, "").split("\r").at(-1) ?? "");
  // eslint-disable-next-line no-control-regex -- what is left of them
  return shown.join("\n").replace(/[\x00-\x08\x0b-\x1f\x7f]/g, "").trim();
}
