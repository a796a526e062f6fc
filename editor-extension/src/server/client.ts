/**
 * The connection to the server, as the parts see it. Handlers are registered once and survive restarts of the server.
 * Requests fail with a message in words while no server is running. Each start creates a new LanguageClient, because
 * one that failed to start cannot start again.
 */

import * as vscode from "vscode";
import {
  CloseAction,
  ErrorAction,
  ErrorCodes,
  ExecuteCommandRequest,
  LanguageClient,
  ResponseError,
  RevealOutputChannelOn,
  type GenericRequestHandler,
  type InitializeResult,
  type Middleware,
  type NotificationType,
  type RequestType,
  type ServerOptions,
} from "vscode-languageclient/node";
import type { ServerCommand } from "../lsp_ext";
import { placeAt, replacement } from "../editing/replacements";
import { AtOnce, type LetGo } from "./at_once";
import { InOrder, type Kind } from "./in_order";
import { merge } from "./middleware";
import { synced } from "./selector";

export type ServerState = "stopped" | "starting" | "running" | "failed";

/** No server is running; the message tells the user so. */
export class NotRunning extends Error {
  constructor() {
    super(vscode.l10n.t("acp-sidecar is not running. Start it with the command “ACP Sidecar: Restart Server”."));
  }
}

/** The server ended before it answered; the message tells the user so. */
export class WentAway extends Error {
  constructor() {
    super(vscode.l10n.t("acp-sidecar ended before it answered. It restarts automatically. Try again when it is running."));
  }
}

type Attach = (client: LanguageClient) => vscode.Disposable;

export interface ClientOptions {
  readonly log: vscode.LogOutputChannel;
  readonly trace: vscode.LogOutputChannel;
  /** Evaluated at each start. */
  readonly initializationOptions: () => unknown;
}

export class Client implements vscode.Disposable {
  private current: LanguageClient | undefined;
  private state_: ServerState = "stopped";
  private readonly attached = new Map<Attach, vscode.Disposable | undefined>();
  private readonly listeners = new Map<string, Set<(params: unknown) => void>>();
  private readonly middleware: Middleware[] = [];
  /** Of the current connection. */
  private atOnce = new AtOnce<vscode.TextDocumentChangeEvent>();
  private readonly states = new vscode.EventEmitter<ServerState>();
  private readonly closings = new vscode.EventEmitter<void>();

  constructor(private readonly options: ClientOptions) {}

  get state(): ServerState {
    return this.state_;
  }

  /** Fires with the new state. At "running", a new server is running that does not know what the last one was told. */
  readonly onDidChangeState = this.states.event;

  /** The server ended without being asked to. */
  readonly onDidClose = this.closings.event;

  /** The server's description of itself; undefined while none is running. */
  get initializeResult(): InitializeResult | undefined {
    return this.current?.initializeResult;
  }

  /** Call it in a part's `register`. Takes effect for servers that start later. */
  use(middleware: Middleware): void {
    this.middleware.push(middleware);
    merge([...this.middleware, textsInOrder(new AtOnce())]); // two parts with the same hook fail at once
  }

  /** Throws NotRunning, WentAway, or the server's ResponseError, whose message is for the user. */
  async request<P, R, E>(type: RequestType<P, R, E>, params: P, token?: vscode.CancellationToken): Promise<R> {
    return inWords(this.running().sendRequest<R>(type.method, params, token));
  }

  /** Runs a server command; throws as `request`. */
  async command<A, R>(command: ServerCommand<A, R>, argument: A, token?: vscode.CancellationToken): Promise<R> {
    const params = { command: command.name, arguments: [argument] };
    return (await inWords(this.running().sendRequest(ExecuteCommandRequest.type, params, token))) as R;
  }

  /** Dropped while no server is running: parts send their state again at "running". */
  async notify<P>(type: NotificationType<P>, params: P): Promise<void> {
    if (this.state_ === "running") {
      await this.running().sendNotification(type.method, params);
    }
  }

  /** The document's changes wait until they are let go, perhaps as the one that they make. */
  hold(document: vscode.TextDocument): LetGo {
    return this.atOnce.begin(document.uri.toString(), ({ reason }, before) => {
      return { document, reason, contentChanges: before === undefined ? [] : changes(before, document.getText()) };
    });
  }

  onRequest<P, R, E>(
    type: RequestType<P, R, E>,
    handler: (params: P, token: vscode.CancellationToken) => R | Promise<R>,
  ): vscode.Disposable {
    return this.attach((client) => client.onRequest(type.method, handler as GenericRequestHandler<R, E>));
  }

  /** Several parts may listen to the same notification; the library would keep only the last listener. */
  onNotification<P>(type: NotificationType<P>, handler: (params: P) => void): vscode.Disposable {
    let handlers = this.listeners.get(type.method);
    if (handlers === undefined) {
      const all = (handlers = new Set());
      this.listeners.set(type.method, all);
      this.attach((client) => client.onNotification(type.method, (params: unknown) => all.forEach((one) => one(params))));
    }
    const own = handler as (params: unknown) => void;
    handlers.add(own);
    return new vscode.Disposable(() => handlers.delete(own));
  }

  /** Conversions between the protocol's and the editor's types. They work without a server. */
  readonly fromProtocol = {
    uri: (uri: string): vscode.Uri => vscode.Uri.parse(uri),
    range: (range: import("vscode-languageclient/node").Range): vscode.Range =>
      new vscode.Range(range.start.line, range.start.character, range.end.line, range.end.character),
  };
  readonly toProtocol = {
    uri: (uri: vscode.Uri): string => uri.toString(),
  };

  /** Resolves when the server has answered `initialize`. Rejects if it cannot be started. */
  async start(server: ServerOptions): Promise<void> {
    await this.stop();
    this.atOnce = new AtOnce();
    const client = new LanguageClient(
      "acpSidecar",
      "ACP Sidecar",
      server,
      {
        documentSelector: synced,
        outputChannel: this.options.log,
        traceOutputChannel: this.options.trace,
        revealOutputChannelOn: RevealOutputChannelOn.Never,
        initializationOptions: this.options.initializationOptions,
        initializationFailedHandler: () => false,
        middleware: merge([...this.middleware, textsInOrder(this.atOnce)]),
        // the supervisor restarts servers: it knows the back-off and asks the user
        errorHandler: {
          error: () => ({ action: ErrorAction.Continue, handled: true }),
          closed: () => {
            if (this.current === client) {
              this.current = undefined;
              if (this.state_ === "running") {
                this.set("stopped");
                this.closings.fire();
              }
            }
            return { action: CloseAction.DoNotRestart, handled: true };
          },
        },
      },
    );
    this.current = client;
    for (const attach of this.attached.keys()) {
      this.attached.set(attach, attach(client));
    }
    this.set("starting");
    try {
      await client.start();
      if (this.current !== client) {
        throw new Error(vscode.l10n.t("it ended while it was starting"));
      }
    } catch (error) {
      if (this.current === client || this.current === undefined) {
        this.current = undefined;
        this.set("failed");
      }
      throw error;
    }
    this.set("running");
  }

  /** Asks the server to end, and ends it by force if it does not. Never rejects. */
  async stop(): Promise<void> {
    const client = this.current;
    this.current = undefined;
    if (client === undefined) {
      return;
    }
    this.set("stopped");
    try {
      await client.dispose();
    } catch (error) {
      this.options.log.warn(`stopping the server: ${String(error)}`);
    }
  }

  dispose(): void {
    void this.stop();
    this.states.dispose();
    this.closings.dispose();
  }

  private attach(attach: Attach): vscode.Disposable {
    this.attached.set(attach, this.current === undefined ? undefined : attach(this.current));
    return new vscode.Disposable(() => {
      this.attached.get(attach)?.dispose();
      this.attached.delete(attach);
    });
  }

  private running(): LanguageClient {
    if (this.current === undefined || this.state_ !== "running") {
      throw new NotRunning();
    }
    return this.current;
  }

  private set(state: ServerState): void {
    if (state !== this.state_) {
      this.state_ = state;
      this.states.fire(state);
    }
  }
}

/** Replaces the library's own messages for a lost connection, which only speak of connections. */
async function inWords<R>(answer: Promise<R>): Promise<R> {
  try {
    return await answer;
  } catch (error) {
    const code = error instanceof ResponseError ? error.code : undefined;
    throw code === ErrorCodes.PendingResponseRejected || code === ErrorCodes.ConnectionInactive ? new WentAway() : error;
  }
}

function changes(before: string, after: string): vscode.TextDocumentContentChangeEvent[] {
  if (before === after) {
    return [];
  }
  const { start, end, text } = replacement(before, after);
  const from = placeAt(before, start);
  const to = placeAt(before, end);
  const range = new vscode.Range(from.line, from.character, to.line, to.character);
  return [{ range, rangeOffset: start, rangeLength: end - start, text }];
}

/** The state of one connection. */
function textsInOrder(atOnce: AtOnce<vscode.TextDocumentChangeEvent>): Middleware {
  const order = new InOrder();
  const of = (kind: Kind) => (document: vscode.TextDocument, next: (document: vscode.TextDocument) => Promise<void>) =>
    order.happened(kind, document.uri.toString(), () => next(document));
  return {
    didOpen: of("didOpen"),
    didSave: of("didSave"),
    didClose: of("didClose"),
    didChange: (event, next) => {
      const uri = event.document.uri.toString();
      return order.happened("didChange", uri, () => atOnce.changed(uri, event.document.version, event, next));
    },
    sendNotification: (type, next, params) => {
      const method = typeof type === "string" ? type : type.method;
      const uri = (params as { textDocument?: { uri?: string } } | undefined)?.textDocument?.uri;
      return order.send(method, uri, () => next(type, params));
    },
  };
}
