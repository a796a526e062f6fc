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
  bundle: undefined,
  t: (message: string, ...args: unknown[]): string =>
    message.replace(/\{(\d+)\}/g, (_, at: string) => String(args[Number(at)])),
};

/** What `extensions.getExtension` finds, by id; a test fills it. */
export const installed = new Map<string, { activate(): Promise<unknown> }>();

export const extensions = {
  getExtension: (id: string) => installed.get(id),
};

/** What is open and what is wrong there; a test fills them. */
export const window = {
  activeTextEditor: undefined as unknown,
  createWebviewPanel: (_kind: string, title: string): FakeWebviewPanel => {
    const panel = new FakeWebviewPanel(title);
    panels.push(panel);
    return panel;
  },
  registerWebviewPanelSerializer: (kind: string, serializer: { deserializeWebviewPanel(panel: FakeWebviewPanel, state: unknown): Promise<void> }): Disposable => {
    serializers.set(kind, serializer);
    return new Disposable(() => serializers.delete(kind));
  },
};
export const problems = new Map<string, unknown[]>();

export const languages = { getDiagnostics: (uri: { toString(): string }) => problems.get(uri.toString()) ?? [] };

export const Uri = {
  parse: (uri: string) => ({ toString: () => uri }),
  joinPath: (uri: { toString(): string }, ...parts: string[]) => Uri.parse([uri.toString(), ...parts].join("/")),
};

export const env = { language: "en" };

export const ViewColumn = { Active: -1 };

/** A page that a test plays: what it was sent, and how it speaks. */
export class FakeWebview {
  html = "";
  options: unknown;
  readonly cspSource = "csp";
  readonly posted: Record<string, unknown>[] = [];
  private readonly said = new EventEmitter<unknown>();
  readonly onDidReceiveMessage = this.said.event;

  asWebviewUri(uri: unknown): unknown {
    return uri;
  }

  postMessage(message: Record<string, unknown>): Promise<boolean> {
    this.posted.push(message);
    return Promise.resolve(true);
  }

  say(message: unknown): void {
    this.said.fire(message);
  }
}

/** An editor tab with a page. */
export class FakeWebviewPanel {
  readonly webview = new FakeWebview();
  iconPath: unknown;
  visible = true;
  active = true;
  revealed = 0;
  gone = false;
  private readonly turned = new EventEmitter<unknown>();
  private readonly ended = new EventEmitter<unknown>();
  readonly onDidChangeViewState = this.turned.event;
  readonly onDidDispose = this.ended.event;
  /** Each title it was given. */
  readonly titles: string[];

  constructor(title: string) {
    this.titles = [title];
  }

  get title(): string {
    return this.titles.at(-1)!;
  }

  set title(title: string) {
    this.titles.push(title);
  }

  reveal(): void {
    this.revealed += 1;
  }

  /** The user turned to it, or away from it. */
  turn(visible: boolean): void {
    this.visible = this.active = visible;
    this.turned.fire(undefined);
  }

  dispose(): void {
    this.gone = true;
    this.ended.fire(undefined);
  }
}

/** The tabs that were opened, and what brings back those of before a reload. */
export const panels: FakeWebviewPanel[] = [];
export const serializers = new Map<string, { deserializeWebviewPanel(panel: FakeWebviewPanel, state: unknown): Promise<void> }>();
