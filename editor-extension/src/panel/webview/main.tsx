/** The panel's page: a separate bundle without the `vscode` module. */

import { render } from "preact";
import "@vscode/codicons/dist/codicon.css";
import { parse, ToWebview, type FromWebview } from "../protocol";
import { App } from "./app";
import { Store } from "./store";
import "./style.css";

declare function acquireVsCodeApi(): { postMessage(message: FromWebview): void; setState(state: { sessionId: string }): void };

const vscode = acquireVsCodeApi();
const store = new Store({ post: (message) => vscode.postMessage(message) });

window.addEventListener("message", (event: MessageEvent<unknown>) => {
  const message = parse(ToWebview, event.data);
  if (message) store.receive(message);
  else console.warn("a message that is not understood", event.data);
  if (message?.type === "conversation" && message.sessionId) vscode.setState({ sessionId: message.sessionId }); // a tab comes back with it
});

render(<App store={store} />, document.getElementById("app")!);
store.send({ type: "ready" });
window.addEventListener("focus", () => store.send({ type: "focused", on: true }));
window.addEventListener("blur", () => store.send({ type: "focused", on: false }));
store.send({ type: "focused", on: document.hasFocus() });
for (const name of ["pointerdown", "pointerup", "pointercancel"]) {
  window.addEventListener(name, () => (name === "pointerdown" ? store.pressed() : store.released()), { capture: true });
}
