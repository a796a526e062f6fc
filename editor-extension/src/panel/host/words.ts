/** What the sessions say to the user, in the user's language. */

import * as vscode from "vscode";
import type { Words } from "./ports";

export function words(): Words {
  return {
    mode: vscode.l10n.t("Mode"),
    undoIncomplete: (count, reason) =>
      count === 1
        ? vscode.l10n.t("One change could not be undone: {0}", reason)
        : vscode.l10n.t("{0} changes could not be undone. The first: {1}", count, reason),
    allowed: (option) => option,
    cancelled: vscode.l10n.t("Cancelled"),
    signIn: vscode.l10n.t("Sign in"),
    signInFirst: (agent) => vscode.l10n.t("{0} wants you to sign in first.", agent),
    lost: vscode.l10n.t("The agent does not remember the messages above. It could not continue the conversation."),
    forked: (title) => vscode.l10n.t("{0} (fork)", title),
    forkedFrom: (title) =>
      title
        ? vscode.l10n.t("Forked from “{0}”. Both conversations contain the messages above; from here on they are separate.", title)
        : vscode.l10n.t("Forked. Both conversations contain the messages above; from here on they are separate."),
    given: vscode.l10n.t("The conversation is attached to your next message."),
    earlier: vscode.l10n.t("The conversation so far"),
  };
}
