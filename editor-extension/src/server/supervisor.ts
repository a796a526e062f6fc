/**
 * Keeps one server running: decides which, starts it, shakes hands, and restarts it when the settings change. After a
 * crash it restarts the server with growing waits, until it is better to ask the user. Each failure is one sentence
 * with a button.
 */

import * as vscode from "vscode";
import * as ext from "../lsp_ext";
import type { Session } from "../session";
import { Backoff } from "./backoff";
import { mismatch } from "./handshake";
import { ServerProcess } from "./process";
import { resolve, type Resolution } from "./resolve";
import type { Python } from "./python/probe";

export type Phase =
  | { readonly kind: "stopped" }
  | { readonly kind: "looking" }
  | { readonly kind: "starting" }
  | { readonly kind: "running"; readonly python: Python | undefined; readonly command: string }
  /** It ended and will be started again in a moment. */
  | { readonly kind: "waiting"; readonly why: string }
  /** Nothing happens until the user acts. */
  | { readonly kind: "failed"; readonly why: string };

/** Milliseconds to wait for the process to end after its connection, so that its last words are complete. */
const LAST_WORDS = 1_000;

export class Supervisor implements vscode.Disposable {
  phase: Phase = { kind: "stopped" };
  private readonly phases = new vscode.EventEmitter<Phase>();
  readonly onDidChangePhase = this.phases.event;
  private readonly backoff = new Backoff();
  private readonly subscriptions: vscode.Disposable[] = [];
  private process: ServerProcess | undefined;
  /** What the running server was started with, to see whether a change of settings affects it. */
  private inForce = "";
  private startedAt = 0;
  private timer: NodeJS.Timeout | undefined;
  private work: Promise<void> = Promise.resolve();
  private queued = false;
  private disposed = false;

  constructor(private readonly session: Session) {
    this.subscriptions.push(
      session.client.onDidClose(() => void this.closed()),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration("acpSidecar")) {
          void this.changed();
        }
      }),
    );
  }

  /** Ends the running server, if any, and starts one. One start at a time: all requests during a start become one more start after it. */
  start(): Promise<void> {
    if (!this.queued) {
      this.queued = true;
      this.work = this.work.then(async () => {
        this.queued = false;
        await this.startNow();
      });
    }
    return this.work;
  }

  /** Started by the user: earlier crashes no longer count. */
  restart(): Promise<void> {
    this.backoff.reset();
    return this.start();
  }

  async stop(): Promise<void> {
    clearTimeout(this.timer);
    await this.session.client.stop();
    const process = this.process;
    this.process = undefined;
    await process?.end();
    this.enter({ kind: "stopped" });
  }

  dispose(): void {
    this.disposed = true;
    clearTimeout(this.timer);
    for (const subscription of this.subscriptions) {
      subscription.dispose();
    }
    this.phases.dispose();
  }

  private async startNow(): Promise<void> {
    if (this.disposed) {
      return;
    }
    await this.stop();
    this.enter({ kind: "looking" });
    try {
      await vscode.workspace.fs.createDirectory(this.session.context.globalStorageUri);
      this.inForce = this.wanted();
      const resolution = await resolve(this.session);
      if (resolution.kind === "command") {
        await this.launch(resolution);
      } else {
        this.cannotStart(resolution);
      }
    } catch (error) {
      const why = vscode.l10n.t("acp-sidecar could not be started: {0}", words(error));
      this.session.log.error(why);
      this.fail(why, [restartIt, showLog]);
    }
  }

  private async launch({ command, python }: Extract<Resolution, { kind: "command" }>): Promise<void> {
    this.enter({ kind: "starting" });
    const { client, context, log } = this.session;
    log.info(`starting ${[command.program, ...command.args].join(" ")}`);
    this.startedAt = Date.now();
    let process: ServerProcess;
    try {
      process = await ServerProcess.start(command, context.globalStorageUri.fsPath, this.session.settings().env, (line) =>
        log.info(line),
      );
    } catch (error) {
      const why = vscode.l10n.t("{0} cannot be run: {1}.", command.program, words(error));
      log.error(why);
      this.fail(why, [openSettings, restartIt, showLog]);
      return;
    }
    this.process = process;
    try {
      await client.start(() => Promise.resolve({ reader: process.output, writer: process.input }));
    } catch (error) {
      log.error(`initialize: ${words(error)}`);
      await process.ended(LAST_WORDS);
      this.crashed(process);
      return;
    }
    const own = (context.extension.packageJSON as { version: string }).version;
    const wrong = mismatch(client.initializeResult?.serverInfo, own, command.program);
    if (wrong !== undefined) {
      log.warn(wrong);
      void ask(this, wrong, [openSettings, showLog]);
    }
    this.enter({ kind: "running", python, command: [command.program, ...command.args].join(" ") });
  }

  private async closed(): Promise<void> {
    const process = this.process;
    await process?.ended(LAST_WORDS);
    if (process === this.process && process !== undefined) {
      this.crashed(process);
    }
  }

  private crashed(process: ServerProcess): void {
    this.process = undefined;
    void process.end();
    const end = process.ending ?? vscode.l10n.t("its output ended");
    const last = process.lastWords === "" ? end : `${end}: ${shortened(process.lastWords)}`;
    const wait = this.backoff.next(Date.now() - this.startedAt);
    this.session.log.error(`the server went away (${last})`);
    if (wait === undefined) {
      const why = vscode.l10n.t("acp-sidecar ended {0} times in a row ({1}).", this.backoff.count, last);
      this.fail(why, [restartIt, showLog]);
      return;
    }
    this.enter({ kind: "waiting", why: last });
    this.timer = setTimeout(() => void this.start(), wait);
  }

  private cannotStart(resolution: Exclude<Resolution, { kind: "command" }>): void {
    this.session.log.error(resolution.message);
    setContext("noPython", resolution.kind === "none");
    this.fail(resolution.message, resolution.kind === "none" ? [getPython, chooseIt, showLog] : [openSettings, showLog]);
  }

  /** Settings that affect the server changed. Asks before a running turn is ended. */
  private async changed(): Promise<void> {
    if (this.wanted() === this.inForce) {
      return;
    }
    if (await this.isBusy()) {
      const answer = await vscode.window.showInformationMessage(
        vscode.l10n.t("The changed settings take effect when ACP Sidecar restarts. A restart ends the running turn."),
        restartIt.label(),
      );
      if (answer === undefined) {
        return;
      }
    }
    this.session.log.info("settings changed");
    await this.restart();
  }

  private async isBusy(): Promise<boolean> {
    if (this.session.client.state !== "running") {
      return false;
    }
    try {
      const { sessions } = await this.session.client.command(ext.status, {});
      return Array.isArray(sessions) && sessions.some((each: { running?: unknown }) => each.running === true);
    } catch {
      return false;
    }
  }

  private wanted(): string {
    return JSON.stringify(this.session.settings());
  }

  private fail(why: string, ways: readonly Way[]): void {
    this.enter({ kind: "failed", why });
    void ask(this, why, ways);
  }

  private enter(phase: Phase): void {
    this.phase = phase;
    setContext("running", phase.kind === "running");
    if (phase.kind === "running") setContext("noPython", false);
    if (!this.disposed) {
      this.phases.fire(phase);
    }
  }
}

/** For `when` clauses. */
function setContext(name: string, value: boolean): void {
  void vscode.commands.executeCommand("setContext", `acpSidecar.${name}`, value);
}

/** A button below a sentence. */
interface Way {
  readonly label: () => string;
  readonly go: (supervisor: Supervisor) => unknown;
}

const restartIt: Way = { label: () => vscode.l10n.t("Restart"), go: (supervisor) => supervisor.restart() };
const showLog: Way = { label: () => vscode.l10n.t("Show Log"), go: () => run("acpSidecar.showLog") };
const getPython: Way = { label: () => vscode.l10n.t("Get Python…"), go: () => run("acpSidecar.getPython") };
const chooseIt: Way = {
  label: () => vscode.l10n.t("Choose Python…"),
  go: () => run("acpSidecar.openSettings", "acpSidecar.python"),
};
const openSettings: Way = {
  label: () => vscode.l10n.t("Open Settings"),
  go: () => run("acpSidecar.openSettings"),
};

function run(command: string, ...args: unknown[]): Thenable<unknown> {
  return vscode.commands.executeCommand(command, ...args);
}

async function ask(supervisor: Supervisor, sentence: string, ways: readonly Way[]): Promise<void> {
  const answer = await vscode.window.showErrorMessage(sentence, ...ways.map((way) => way.label()));
  await ways.find((way) => way.label() === answer)?.go(supervisor);
}

function words(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** One line of a notification. */
function shortened(line: string): string {
  return line.length <= 160 ? line : `${line.slice(0, 160)}…`;
}

