/** What waits for the user: the badge on the view's icon, and a message where they look elsewhere. */

import * as vscode from "vscode";
import type { Live } from "./live";
import type { Places } from "./places";
import type { Sessions } from "./sessions";

export class Attention {
  constructor(
    private readonly sessions: Sessions,
    private readonly places: Places,
  ) {}

  /** The user is looking at the panel, so what it shows is no longer unseen. */
  look(): void {
    for (const pane of this.places.all()) {
      if (!this.places.isVisible(pane) || !vscode.window.state.focused || !pane.current) continue;
      pane.current.unseen = false;
      pane.changed(pane.current);
    }
    this.count();
  }

  /** Brings the badge up to date. */
  count(): void {
    const waiting = this.sessions.waiting().length;
    const unseen = [...this.sessions.all.values()].filter((one) => one.unseen).length;
    const value = waiting + unseen;
    void vscode.commands.executeCommand("setContext", "acpSidecar.question", waiting > 0);
    this.places.badge =
      value === 0
        ? undefined
        : { value, tooltip: waiting > 0 ? vscode.l10n.t("An agent is waiting for you") : vscode.l10n.t("An agent has finished") };
  }

  /** Tells the user if they are looking elsewhere. The message only leads to the panel; it does not answer the question. */
  news(live: Live, what: "ended" | "asks"): void {
    const pane = this.places.of(live);
    const hidden = !this.places.isVisible(pane ?? this.places.side);
    if (pane && !hidden && vscode.window.state.focused) return;
    if (what === "ended") live.unseen = true;
    this.count();
    const wanted = vscode.workspace.getConfiguration("acpSidecar").get<boolean>("notify", true);
    // a question that nobody sees would block the turn for ever
    if (!(what === "asks" && hidden) && !(wanted && (hidden || !vscode.window.state.focused))) return;
    const show = vscode.l10n.t("Show");
    const words =
      what === "asks"
        ? vscode.l10n.t("{0} asks for your permission: {1}", live.agentName, live.title)
        : vscode.l10n.t("{0} has finished: {1}", live.agentName, live.title);
    void vscode.window.showInformationMessage(words, show).then((chosen) => {
      if (chosen !== show) return;
      this.places.show(live, this.places.of(live) ?? this.places.side);
      void this.places.turnTo(this.places.of(live) ?? this.places.side);
    });
  }
}
