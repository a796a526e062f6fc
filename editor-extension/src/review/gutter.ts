/**
 * Bars in the gutter, each of which opens the editor's own peek with the removed lines, and Keep and Reject in its
 * title. Only a source control can have them, so there is one while agents' changes are under review; it lists their
 * files. Users' git keeps its own bars beside these.
 */

import * as vscode from "vscode";
import { commands, pathOf, type Review } from "./state";
import { beforeUri } from "./texts";

const SETTING = "acpSidecar.review.gutter";

export function gutter(review: Review): vscode.Disposable {
  let control: Control | undefined;
  const refresh = (): void => {
    const wanted = vscode.workspace.getConfiguration().get<boolean>(SETTING, true) && !review.model.isEmpty;
    if (!wanted) {
      control?.dispose();
      control = undefined;
    } else {
      control ??= new Control(review);
      control.refresh();
    }
  };
  refresh();
  return vscode.Disposable.from(
    review.model.onDidChange(refresh),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration(SETTING)) {
        refresh();
      }
    }),
    new vscode.Disposable(() => control?.dispose()),
  );
}

class Control {
  private readonly control = vscode.scm.createSourceControl("acpSidecar", vscode.l10n.t("Agent Changes"));
  private readonly group = this.control.createResourceGroup("review", vscode.l10n.t("To review"));
  private known = "";

  constructor(private readonly review: Review) {
    this.control.inputBox.visible = false;
    this.control.count = 0; // the view of agents' changes has the badge
    this.control.quickDiffProvider = {
      provideOriginalResource: (uri) =>
        review.model.of(uri.toString()).length > 0 ? beforeUri({ uri: uri.toString() }) : undefined,
    };
  }

  refresh(): void {
    const uris = this.review.model.uris;
    const now = JSON.stringify(uris);
    if (now === this.known) {
      return;
    }
    this.known = now;
    // The editor asks the provider again when a source control's files change.
    this.group.resourceStates = uris.map((uri) => ({
      resourceUri: vscode.Uri.parse(uri),
      command: { title: vscode.l10n.t("Open Diff"), command: commands.openDiff, arguments: [{ uri }] },
      decorations: { tooltip: pathOf(uri) },
    }));
  }

  dispose(): void {
    this.control.dispose();
  }
}
