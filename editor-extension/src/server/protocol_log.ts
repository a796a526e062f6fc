/**
 * The protocol log: every message between editor and server, in its own output channel, when it is switched on. The
 * client library logs them only at the level "trace" and only while the channel has that level. One command is easier
 * than finding that level, so the library gets a channel that pretends to have it and always writes its lines.
 */

import * as vscode from "vscode";

export class ProtocolLog implements vscode.Disposable {
  private isOn = false;
  private readonly real: vscode.LogOutputChannel;
  private readonly levels = new vscode.EventEmitter<vscode.LogLevel>();

  /** The channel that the client library gets. */
  readonly channel: vscode.LogOutputChannel;

  constructor(name: string) {
    const real = vscode.window.createOutputChannel(name, { log: true });
    const level = (): vscode.LogLevel => this.level;
    this.real = real;
    this.channel = {
      name,
      get logLevel() {
        return level();
      },
      onDidChangeLogLevel: this.levels.event,
      trace: (line) => real.info(line),
      debug: (line) => real.debug(line),
      info: (line) => real.info(line),
      warn: (line) => real.warn(line),
      error: (line) => real.error(line),
      append: (text) => real.append(text),
      appendLine: (line) => real.appendLine(line),
      replace: (text) => real.replace(text),
      clear: () => real.clear(),
      // eslint-disable-next-line @typescript-eslint/no-deprecated -- the interface has both overloads under this name
      show: () => real.show(true),
      hide: () => real.hide(),
      dispose: () => undefined, // the log outlives the client
    };
  }

  get on(): boolean {
    return this.isOn;
  }

  /** Switches the log. Shows it when it is switched on. */
  toggle(): void {
    this.isOn = !this.isOn;
    this.levels.fire(this.level);
    if (this.isOn) {
      this.real.show(true);
    }
  }

  dispose(): void {
    this.levels.dispose();
    this.real.dispose();
  }

  private get level(): vscode.LogLevel {
    return this.isOn ? vscode.LogLevel.Trace : vscode.LogLevel.Info;
  }
}
