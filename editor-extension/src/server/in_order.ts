/**
 * Sends the events of a document in the order in which they happened. The library sends an edit some steps after its
 * event, but a close at once. So in "revert and close" the close overtakes the edit: the server then gets an edit for a
 * document that is not open, and its file cannot be read until somebody opens it again. Nothing here knows the editor.
 */

/** The events of one document, by the name of the middleware's hook. */
export type Kind = "didOpen" | "didChange" | "didSave" | "didClose";

const METHODS: Readonly<Record<string, Kind>> = {
  "textDocument/didOpen": "didOpen",
  "textDocument/didChange": "didChange",
  "textDocument/didSave": "didSave",
  "textDocument/didClose": "didClose",
};

interface Event {
  readonly kind: Kind;
  /** Sends the event. Set when it is ready to be sent, but earlier ones are not. */
  ready?: () => void;
}

export class InOrder {
  /** By URI: events that happened and have not been sent, oldest first. */
  private readonly events = new Map<string, Event[]>();

  /** An event happened. `tell` eventually leads to `send`, or fails. */
  async happened(kind: Kind, uri: string, tell: () => Promise<void>): Promise<void> {
    const event: Event = { kind };
    this.events.set(uri, [...(this.events.get(uri) ?? []), event]);
    try {
      await tell();
    } finally {
      this.done(uri, event); // it was sent, or never will be
    }
  }

  /** A message is ready to be sent. It waits for earlier events of its document. */
  send(method: string, uri: string | undefined, pass: () => Promise<void>): Promise<void> {
    const kind = METHODS[method];
    const events = uri === undefined || kind === undefined ? [] : (this.events.get(uri) ?? []);
    const event = events.find((one) => one.kind === kind && one.ready === undefined);
    if (event === undefined) {
      return pass();
    }
    return new Promise((resolve, reject) => {
      event.ready = () => {
        pass().then(resolve, reject);
        this.done(uri!, event);
      };
      this.sendFirst(uri!);
    });
  }

  private sendFirst(uri: string): void {
    this.events.get(uri)?.[0]?.ready?.();
  }

  private done(uri: string, event: Event): void {
    const events = this.events.get(uri) ?? [];
    const left = events.filter((one) => one !== event);
    if (left.length === events.length) {
      return;
    }
    if (left.length === 0) {
      this.events.delete(uri);
    } else {
      this.events.set(uri, left);
    }
    this.sendFirst(uri);
  }
}
