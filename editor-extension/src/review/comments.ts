/**
 * Comments on agents' changes. A comment goes to the agent as the next prompt of its session, with the file, the lines
 * and both texts: it asks for another change, or gives the reason why this one was rejected.
 */

import * as vscode from "vscode";
import { reject } from "../lsp_ext";
import { TELL_AGENT } from "../session";
import { deliver, type Subject, subjectOf, type Verdict, wholeFile } from "./remark";
import { commands, openDocument, pathOf, type Review } from "./state";
import { blockWith, fromPeek, idsOf } from "./target";

export function comments(review: Review): vscode.Disposable {
  const controller = vscode.comments.createCommentController("acpSidecar.review", vscode.l10n.t("Agent Changes"));
  controller.options = {
    prompt: vscode.l10n.t("Write to the agent about this change…"),
    placeHolder: vscode.l10n.t("What should be different, or why do you reject it?"),
  };
  const about = new Map<vscode.CommentThread, Subject>();
  const discard = (thread: vscode.CommentThread): void => {
    about.delete(thread);
    thread.dispose();
  };
  /** Those whose changes were rejected already, at an earlier try, after which the agent could not be told. */
  const out = new WeakSet<Subject>();
  const say = (subject: Subject, text: string, verdict: Verdict): Promise<void> =>
    deliver(subject, text, verdict, {
      reject: async (ids, reason) => {
        if (out.has(subject)) {
          return { impossible: [], told: false };
        }
        const { impossible, told } = await review.session.client.command(reject, { changeIds: [...ids], reason });
        if (impossible.length === 0) {
          out.add(subject);
        }
        return { impossible: impossible.map((one) => one.reason), told: told.length > 0 };
      },
      tell: async (told) => {
        await vscode.commands.executeCommand(TELL_AGENT, told);
      },
      path: pathOf(subject.uri),
      rejected: vscode.l10n.t("I rejected this change."),
    });

  /** A file that is gone, or is not text, has no line for a thread to stand at. */
  const askAboutFile = async (subject: Subject): Promise<void> => {
    const title = vscode.l10n.t("To {0}, about its change to {1}", subject.agent, pathOf(subject.uri));
    const verdicts = [
      { label: vscode.l10n.t("Ask for a Change"), verdict: "ask" as const },
      { label: vscode.l10n.t("Reject with This Reason"), verdict: "reject" as const },
    ];
    for (let text: string | undefined = ""; ; ) {
      text = await vscode.window.showInputBox({ title, value: text, prompt: controller.options?.placeHolder ?? "", ignoreFocusOut: true });
      const chosen = text?.trim() ? await vscode.window.showQuickPick(verdicts, { title, ignoreFocusOut: true }) : undefined;
      if (text === undefined || chosen === undefined) {
        return;
      }
      try {
        return await say(subject, text, chosen.verdict);
      } catch (error) {
        notSent(error);
      }
    }
  };

  const begin = async (argument?: unknown): Promise<void> => {
    const block = blockWith(review, idsOf(review, argument) ?? []);
    if (block === undefined) {
      vscode.window.setStatusBarMessage(vscode.l10n.t("There is no agent change here."), 3000);
      return;
    }
    const file = block.changes[0]!.file;
    if (file !== undefined) {
      await askAboutFile(wholeFile(block, file));
      return;
    }
    const uri = vscode.Uri.parse(block.uri);
    const document = openDocument(block.uri) ?? (await vscode.workspace.openTextDocument(uri));
    const subject = subjectOf(block, (line) => document.lineAt(line).text, document.lineCount);
    const line = Math.min(subject.lines.end, document.lineCount) - 1;
    await vscode.window.showTextDocument(document, { preview: true, selection: new vscode.Range(line, 0, line, 0) });
    const thread = controller.createCommentThread(uri, new vscode.Range(line, 0, line, 0), []);
    thread.label = vscode.l10n.t("To {0}, about this change", subject.agent);
    thread.collapsibleState = vscode.CommentThreadCollapsibleState.Expanded;
    about.set(thread, subject);
  };

  /** The text stays in the thread until the agent has it. */
  const send = async ({ thread, text }: vscode.CommentReply, verdict: Verdict): Promise<void> => {
    const subject = about.get(thread);
    if (subject === undefined || text.trim() === "") {
      return;
    }
    const said = (label: string): vscode.Comment => ({
      author: { name: vscode.l10n.t("You") },
      body: new vscode.MarkdownString().appendText(text),
      mode: vscode.CommentMode.Preview,
      label,
    });
    thread.comments = [said(vscode.l10n.t("Sending…"))];
    try {
      await say(subject, text, verdict);
    } catch (error) {
      thread.comments = [said(vscode.l10n.t("Not sent"))];
      notSent(error);
      return;
    }
    discard(thread);
  };
  return vscode.Disposable.from(
    controller,
    vscode.commands.registerCommand(commands.comment, (...args: unknown[]) => begin(fromPeek(review, args) ?? args[0])),
    vscode.commands.registerCommand(commands.askForChange, (reply: vscode.CommentReply) => send(reply, "ask")),
    vscode.commands.registerCommand(commands.rejectWithReason, (reply: vscode.CommentReply) => send(reply, "reject")),
    vscode.commands.registerCommand(commands.discardComment, discard),
  );
}

function notSent(error: unknown): void {
  void vscode.window.showErrorMessage(vscode.l10n.t("Your comment was not sent: {0}", error instanceof Error ? error.message : String(error)));
}
