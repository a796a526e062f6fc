/** Commands of agents, each shown in a terminal of VS Code: with all its room, search and copying. Nothing can be typed into them. */

import * as vscode from "vscode";
import type { Command } from "../model";
import { Harmless } from "./harmless";

const CTRL_C = "\x03";

export class AsTerminals implements vscode.Disposable {
  private readonly shown = new Map<string, Shown>();

  /** `output`: what it said so far. */
  open(sessionId: string, command: Command, name: string, output: string, stop: () => void): void {
    const known = this.shown.get(key(sessionId, command.id));
    if (known) return known.terminal.show();
    const shown = new Shown(name, output, stop, () => this.shown.delete(key(sessionId, command.id)));
    if (command.end) shown.ended(command.end);
    this.shown.set(key(sessionId, command.id), shown);
    shown.terminal.show();
  }

  said(sessionId: string, command: string, output: string): void {
    this.shown.get(key(sessionId, command))?.said(output);
  }

  ended(sessionId: string, command: string, end: NonNullable<Command["end"]>): void {
    this.shown.get(key(sessionId, command))?.ended(end);
  }

  dispose(): void {
    for (const one of this.shown.values()) one.terminal.dispose();
  }
}

function key(sessionId: string, command: string): string {
  return `${sessionId} ${command}`;
}

class Shown implements vscode.Pseudoterminal {
  readonly terminal: vscode.Terminal;
  private readonly written = new vscode.EventEmitter<string>();
  private readonly closed = new vscode.EventEmitter<void>();
  private readonly harmless = new Harmless();
  /** What came before VS Code had made the terminal; null from then on. */
  private waiting: string | null = "";
  private over = false;

  readonly onDidWrite = this.written.event;
  readonly onDidClose = this.closed.event;

  constructor(
    name: string,
    output: string,
    private readonly stop: () => void,
    private readonly gone: () => void,
  ) {
    this.said(output);
    this.terminal = vscode.window.createTerminal({ name, pty: this, isTransient: true, iconPath: new vscode.ThemeIcon("hubot") });
  }

  open(): void {
    const waiting = this.waiting ?? "";
    this.waiting = null;
    this.written.fire(waiting);
  }

  close(): void {
    this.gone();
  }

  handleInput(data: string): void {
    if (this.over) this.closed.fire();
    else if (data === CTRL_C) this.stop();
  }

  said(output: string): void {
    this.write(this.harmless.add(output));
  }

  ended(end: NonNullable<Command["end"]>): void {
    if (this.over) return;
    this.over = true;
    const last = [words(end), vscode.l10n.t("Press any key to close this terminal.")].filter(Boolean).join(" ");
    this.write(`\x1b[0m\r\n\x1b[2m${last}\x1b[0m\r\n`);
  }

  private write(text: string): void {
    if (this.waiting === null) this.written.fire(text);
    else this.waiting += text;
  }
}

/** What the command's own output does not say. */
function words({ code, signal, stopped }: NonNullable<Command["end"]>): string {
  if (stopped) return "";
  if (signal !== undefined) return vscode.l10n.t("Ended by {0}.", signal);
  return code === undefined ? vscode.l10n.t("Ended.") : vscode.l10n.t("Ended with exit code {0}.", code);
}
