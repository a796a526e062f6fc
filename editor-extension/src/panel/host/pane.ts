/** A pane shows conversations, one at a time: the view in the side bar, or an editor tab. It has a page, which comes and goes as it is shown and hidden. */

import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import type { Overview } from "../model";
import { FromWebview, parse, type ToWebview } from "../protocol";
import { html } from "./html";
import type { Live } from "./live";
import { Outbox, type Page } from "./outbox";

export interface Around {
  extensionUri: vscode.Uri;
  overview(pane: Pane): Overview;
  received(pane: Pane, message: FromWebview): Promise<void>;
  failed(pane: Pane, error: unknown): void;
  /** Its page is there, or gone. */
  turned(pane: Pane): void;
  log(words: string): void;
}

export class Pane {
  current: Live | null = null;
  /** What was last looked for. */
  searched = "";
  /** The page has the keyboard's focus. */
  isFocused = false;
  /** The search for `@` that is under way. */
  completing: vscode.CancellationTokenSource | undefined;
  private webview: vscode.Webview | undefined;
  /** The page has asked for everything. It is created again whenever it was hidden. */
  private ready = false;
  private later: ToWebview[] = [];
  private readonly outbox: Outbox;

  constructor(
    readonly place: Overview["place"],
    private readonly around: Around,
  ) {
    this.outbox = new Outbox({ post: (one) => this.post(one), overview: () => ({ type: "overview", overview: around.overview(this) }) });
  }

  attach(webview: vscode.Webview): void {
    this.webview = webview;
    const dist = vscode.Uri.joinPath(this.around.extensionUri, "dist");
    webview.options = { enableScripts: true, localResourceRoots: [dist], enableCommandUris: false, enableForms: false };
    webview.html = html({
      script: webview.asWebviewUri(vscode.Uri.joinPath(dist, "webview.js")).toString(),
      style: webview.asWebviewUri(vscode.Uri.joinPath(dist, "webview.css")).toString(),
      csp: webview.cspSource,
      nonce: randomBytes(16).toString("base64"),
      language: vscode.env.language,
    });
    webview.onDidReceiveMessage((data: unknown) => {
      const received = parse(FromWebview, data);
      if (!received) this.around.log("panel: a message that is not understood");
      else if (received.type === "ready") this.opened();
      else void this.around.received(this, received).catch((error: unknown) => this.around.failed(this, error));
    });
  }

  /** Its page is gone, until it is shown again. */
  hidden(): void {
    this.outbox.closed();
    this.ready = this.isFocused = false;
    this.around.turned(this);
  }

  /** It is gone itself. What it shows goes on. */
  detached(): void {
    this.hidden();
    this.completing?.cancel();
    this.webview = undefined;
  }

  /** `page`: the page that the user navigated to, if they did. */
  show(live: Live | null, page?: Page): void {
    this.current = live;
    if (live) live.unseen = false;
    this.outbox.show(live, page);
  }

  changed(live: Live | null): void {
    this.outbox.changed(live);
  }

  /** Posts a message at once. A page that is not there does not get it. */
  post(one: ToWebview): void {
    void this.webview?.postMessage(one);
  }

  /** Posts a message after all earlier ones. A page that is still loading gets it when it is ready. */
  tell(one: ToWebview): void {
    if (!this.ready) {
      this.later.push(one);
      return;
    }
    this.outbox.flush();
    this.post(one);
  }

  private opened(): void {
    this.post({ type: "strings", bundle: vscode.l10n.bundle ?? {} });
    this.outbox.opened();
    this.outbox.flush();
    this.ready = true;
    for (const one of this.later.splice(0)) this.post(one);
    this.around.turned(this);
  }
}
