/** The panel's commands. What goes wrong in one is said in the conversation, or in a message. */

import * as vscode from "vscode";
import { TELL_AGENT } from "../../session";
import type { Told } from "../model";
import { addAgent } from "./agents";
import { problem } from "./mentions";
import type { Pane } from "./pane";
import type { Parts } from "./parts";
import { save } from "./save";

export function commands(parts: Parts, failed: (error: unknown, pane: Pane) => void): vscode.Disposable[] {
  const { session, sessions, places, beginnings, box, tour, followed, refresh } = parts;
  const { side } = places;
  const all: Record<string, (...args: never[]) => unknown> = {
    "acpSidecar.panel.new": async () => {
      await places.turnTo(side);
      await beginnings.begin(side, beginnings.onlyAgent());
    },
    "acpSidecar.panel.newInEditor": async () => {
      const agent = beginnings.onlyAgent();
      const tab = places.newTab(); // without an agent, its page asks for one
      if (agent !== undefined) await beginnings.begin(tab, agent);
    },
    "acpSidecar.panel.focusPrompt": (way?: unknown) =>
      way === "back" ? vscode.commands.executeCommand("workbench.action.focusActiveEditorGroup") : box.compose("", [], true),
    "acpSidecar.panel.sessions": async () => {
      await places.turnTo(side);
      await refresh();
      side.tell({ type: "show", what: "sessions" });
    },
    "acpSidecar.panel.export": () => (side.current ? save(side.current) : undefined),
    "acpSidecar.panel.exportTab": () => {
      const live = places.tabs.active()?.current;
      return live && save(live);
    },
    "acpSidecar.panel.fork": async () => {
      if (side.current) places.show(await sessions.fork(side.current.id), side);
    },
    "acpSidecar.panel.openInEditor": async (sessionId?: unknown) => {
      const live = typeof sessionId === "string" ? await sessions.open(sessionId) : side.current;
      if (live) places.inEditor(live);
    },
    "acpSidecar.panel.openInSideBar": () => places.inSideBar(places.here()),
    "acpSidecar.panel.question": async () => {
      const live = sessions.waiting()[0];
      if (!live) return;
      const pane = places.of(live) ?? side;
      await places.turnTo(pane);
      places.show(live, pane);
      pane.tell({ type: "show", what: "question" });
    },
    "acpSidecar.panel.add": (target?: unknown, more?: unknown) => box.addChosen(target, more),
    "acpSidecar.panel.fix": (uri: vscode.Uri, diagnostics: vscode.Diagnostic[], fix: boolean) =>
      box.compose(
        !fix ? "" : diagnostics.length === 1 ? vscode.l10n.t("Fix this problem.") : vscode.l10n.t("Fix these problems."),
        diagnostics.map((one) => problem(uri, one)),
        true,
      ),
    "acpSidecar.panel.addAgent": () => addAgent(session, refresh),
    "acpSidecar.panel.tryIt": () => tour.start(),
    "acpSidecar.panel.follow": () => followed.set(places.recent(), !followed.on),
  };
  const shown = Object.entries(all).map(([name, run]) =>
    vscode.commands.registerCommand(name, async (...args: never[]) => {
      try {
        return await run(...args);
      } catch (error) {
        return failed(error, places.recent());
      }
    }),
  );
  return [...shown, vscode.commands.registerCommand(TELL_AGENT, (what: Told) => beginnings.deliver(what))];
}
