/** The little of the `vscode` module that unit tests need. What it lacks is undefined, so a test that needs more says so. */

export class Disposable {
  constructor(private readonly callOnDispose: () => void) {}
  dispose(): void {
    this.callOnDispose();
  }
}

export class EventEmitter<T> {
  private readonly listeners = new Set<(value: T) => void>();
  readonly event = (listener: (value: T) => void): Disposable => {
    this.listeners.add(listener);
    return new Disposable(() => this.listeners.delete(listener));
  };
  fire(value: T): void {
    for (const listener of [...this.listeners]) {
      listener(value);
    }
  }
  dispose(): void {
    this.listeners.clear();
  }
}

export const l10n = {
  t: (message: string, ...args: unknown[]): string =>
    message.replace(/\{(\d+)\}/g, (_, at: string) => String(args[Number(at)])),
};

/** What `extensions.getExtension` finds, by id; a test fills it. */
export const installed = new Map<string, { activate(): Promise<unknown> }>();

export const extensions = {
  getExtension: (id: string) => installed.get(id),
};

/** What is open and what is wrong there; a test fills them. */
export const window: { activeTextEditor: unknown } = { activeTextEditor: undefined };
export const problems = new Map<string, unknown[]>();

export const languages = { getDiagnostics: (uri: { toString(): string }) => problems.get(uri.toString()) ?? [] };

export const Uri = { parse: (uri: string) => ({ toString: () => uri }) };
