/** The server's process: starts it outside the workspace, logs its stderr, and makes sure that it ends. */

import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import * as readline from "node:readline";
import * as vscode from "vscode";

export interface Command {
  /** An absolute path, or a name on PATH. */
  readonly program: string;
  readonly args: readonly string[];
}

/** Milliseconds from the end of the connection until the process is killed. The server needs up to 5 s to end its agents. */
const GRACE = 6_000;

export class ServerProcess {
  /** How it ended, in words. */
  ending: string | undefined;
  /** The last line that it wrote to stderr; "" if there was none. */
  lastWords = "";
  private readonly gone: Promise<void>;

  private constructor(
    private readonly child: ChildProcessWithoutNullStreams,
    log: (line: string) => void,
  ) {
    readline.createInterface({ input: child.stderr }).on("line", (line) => {
      this.lastWords = line.trim() === "" ? this.lastWords : line.trim();
      log(line);
    });
    this.gone = new Promise((resolve) => {
      child.once("exit", (code, signal) => {
        this.ending =
          signal === null ? vscode.l10n.t("exit code {0}", code ?? 0) : vscode.l10n.t("ended by {0}", signal);
        resolve();
      });
    });
  }

  /** Rejects if the program cannot be run. `cwd` must not be the workspace; `env` is added to the editor's own environment. */
  static start(
    command: Command,
    cwd: string,
    env: Readonly<Record<string, string>>,
    log: (line: string) => void,
  ): Promise<ServerProcess> {
    return new Promise((resolve, reject) => {
      const child = spawn(command.program, command.args, {
        cwd,
        env: { ...process.env, ...env },
        stdio: "pipe",
        windowsHide: true,
      });
      child.once("error", reject);
      child.once("spawn", () => {
        // the end of the process reports a dead server, not an unhandled error of its stdin
        child.stdin.on("error", () => undefined);
        resolve(new ServerProcess(child, log));
      });
    });
  }

  get input(): NodeJS.WritableStream {
    return this.child.stdin;
  }

  get output(): NodeJS.ReadableStream {
    return this.child.stdout;
  }

  /** Resolves when the process has ended. Kills it after a while. */
  async end(): Promise<void> {
    this.child.stdin.end();
    const timer = setTimeout(() => this.child.kill("SIGKILL"), GRACE);
    await this.gone;
    clearTimeout(timer);
  }

  /** Resolves when the process ends, or after this many milliseconds: the connection may close a little before the process ends. */
  async ended(limit: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await Promise.race([this.gone, new Promise((resolve) => (timer = setTimeout(resolve, limit)))]);
    clearTimeout(timer);
  }
}
