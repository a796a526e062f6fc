/**
 * A document that the workbench may reload, while it may: what is told of it (`Taking`), and how it gets back what belongs on top of the disk's
 * text.
 */

import * as vscode from "vscode";
import { carried, typedOn, undone, type Place } from "./caret";
import { isUnsaved, tabsOf } from "./documents";
import { placeAt, replacement, type Replacement } from "./replacements";
import { Taking, type Taken } from "./taking";
import { apply, replaceInEditor, type UndoStops } from "./texts";

/** How long a cursor that was put somewhere may take to be there. */
const BACK_MS = 2000;

export class Watched implements vscode.Disposable {
  taking: Taking;
  wasUnsaved: boolean;
  private readonly isShown: boolean;
  private readonly watch: vscode.Disposable;

  /** `own`: the editor of the document that is to be reloaded. Without one, it may be reloaded by mistake: then a save is none, and a reload may follow. */
  constructor(
    readonly document: vscode.TextDocument,
    private readonly own?: vscode.TextEditor,
  ) {
    this.isShown = tabsOf(document.uri).length > 0;
    this.wasUnsaved = isUnsaved(document);
    this.taking = new Taking(document.getText(), this.wasUnsaved, this.caret);
    this.watch = vscode.Disposable.from(
      vscode.workspace.onDidChangeTextDocument((event) => {
        if (event.document === document) {
          const { isDirty, version } = document;
          this.taking.tell({ edits: event.contentChanges.map(asReplacement), isDirty, version, text: document.getText() });
          if (own === undefined && this.taking.isSaved) {
            this.wasUnsaved = isUnsaved(document);
            this.taking = new Taking(document.getText(), this.wasUnsaved, this.caret);
          }
        }
      }),
      vscode.window.onDidChangeTextEditorSelection((event) => {
        if (event.textEditor === this.editor) {
          this.taking.place(this.caret, event.kind !== undefined);
        }
      }),
      vscode.window.onDidChangeActiveTextEditor((editor) => {
        if (own === undefined && editor?.document === document) {
          this.taking.place(this.caret, false);
        }
      }),
    );
  }

  dispose(): void {
    this.watch.dispose();
  }

  /** In UTF-16 units from 0. */
  get caret(): number {
    return this.editor === undefined ? 0 : this.document.offsetAt(this.editor.selection.active);
  }

  async edit(edits: readonly Replacement[], stops: UndoStops): Promise<boolean> {
    return this.editor === undefined ? apply(this.document, edits) : replaceInEditor(this.editor, edits, stops);
  }

  /** It was reloaded: gets what belongs there, with what was typed meanwhile. False if it does not take that, or was closed. */
  async becomes(taken: Taken, meant: Place, stops: UndoStops): Promise<boolean> {
    const { document, taking } = this;
    let landed: Place = { text: taken.text, caret: taken.landed };
    const { isBefore, rest } = undone(taken.replaced, taken.led.text, taken.lost);
    let planned = isBefore ? typedOn(taken.led, taken.led, taken.lost) : typedOn(meant, taken.led, rest);
    for (let version = -1; version !== document.version; ) {
      if (this.isGone) {
        return false; // the user has decided what becomes of the unsaved text
      }
      version = document.version;
      // refused if something was typed meanwhile, which then belongs to what should be there
      const { here, wanted } = taking.goneOn(planned, landed);
      const text = document.getText();
      if (text === wanted.text) {
        if (this.caret !== wanted.caret && !taking.isPlaced) {
          this.place(wanted); // an edit, even of nothing, would leave something unsaved
        }
        return true;
      }
      const edits = text === here.text ? carried(here, wanted) : [replacement(text, wanted.text)];
      taking.makes(wanted.text);
      if (await this.edit(edits, stops)) {
        if (here.caret < here.text.length || wanted.caret === wanted.text.length) {
          return true;
        }
        // the cursor went behind all of it, and with it the keys that are pressed until it is back
        landed = { text: wanted.text, caret: wanted.text.length };
        planned = wanted;
        version = -1;
        const isBack = taking.puts(wanted.caret);
        this.place(wanted);
        await Promise.race([isBack, new Promise((resolve) => setTimeout(resolve, BACK_MS))]);
      }
    }
    return false;
  }

  /** It was closed. */
  get isGone(): boolean {
    return this.document.isClosed || (this.isShown && tabsOf(this.document.uri).length === 0);
  }

  private place({ text, caret }: Place): void {
    if (this.editor !== undefined) {
      const { line, character } = placeAt(text, caret);
      this.editor.selection = new vscode.Selection(line, character, line, character);
    }
  }

  private get editor(): vscode.TextEditor | undefined {
    const active = vscode.window.activeTextEditor;
    return this.own ?? (active?.document === this.document ? active : vscode.window.visibleTextEditors.find((one) => one.document === this.document));
  }
}

function asReplacement(change: vscode.TextDocumentContentChangeEvent): Replacement {
  return { start: change.rangeOffset, end: change.rangeOffset + change.rangeLength, text: change.text };
}
