/** The start page: the demo, the agents on this machine, and earlier conversations. */

import { useEffect, useState } from "preact/hooks";
import type { Agent, Overview, Summary } from "../model";
import { Icon, IconButton } from "./parts";
import type { Store } from "./store";
import { t } from "./strings";

/** The fewest letters for which conversations are read. */
const SEARCHED_FROM = 2;
/** Milliseconds after the last letter. */
const SEARCH_AFTER = 200;

export function Start({ store, overview }: { store: Store; overview: Overview }) {
  const agents = overview.agents.filter((one) => one.source === "configured" || (one.source === "found" && one.installed));
  return (
    <div class="start" tabIndex={-1}>
      <h1>{t("Agents that see what you type")}</h1>
      <p class="lead">{t("Agents read your unsaved text and work while you type. You keep, reject or undo their changes.")}</p>
      <button class="try" onClick={() => store.send({ type: "tryIt" })}>
        <Icon name="play-circle" />
        <span>
          <b>{t("Try it")}</b>
          <span class="muted">{t("A scripted demo agent: no AI, no account, no download")}</span>
        </span>
      </button>
      <h2>{heading(overview, agents.length > 0)}</h2>
      <Agents store={store} agents={agents} />
      <button class="add-agent" onClick={() => store.send({ type: "action", id: "addAgent" })}>
        <Icon name="add" /> {t("Add agent…")}
      </button>
      {overview.sessions.length > 0 && (
        <>
          <h2>{t("Recent conversations")}</h2>
          <Rows store={store} sessions={overview.sessions.slice(0, 4)} />
          {overview.sessions.length > 4 && (
            <button class="quiet" onClick={() => store.show("sessions")}>
              {t("All {0} conversations", overview.sessions.length)}
            </button>
          )}
        </>
      )}
    </div>
  );
}

/** Which agents there are is known once there is the demo agent, which is always there. */
function heading({ agents, trouble }: Overview, found: boolean): string {
  if (found) return t("Agents");
  if (agents.length) return t("No agent found on this machine");
  return trouble ? t("Agents") : t("acp-sidecar is starting…");
}

/** `pick`: what the button of an installed agent does. */
export function Agents({ store, agents, pick }: { store: Store; agents: Agent[]; pick?: { words: string; label: (agent: string) => string; run: (agent: string) => void } }) {
  const { words, label, run } = pick ?? {
    words: t("Start"),
    label: (name) => t("Start with {0}", name),
    run: (agent) => store.send({ type: "newSession", agent }),
  };
  return (
    <ul class="agents">
      {agents.map((one) => (
        <li key={one.id}>
          <div class="agent">
            <div class="grow">
              <b>{one.name}</b> {one.version && <span class="muted">{one.version}</span>}
              {one.source === "demo" && <span class="tag">{t("demo, no AI")}</span>}
              {one.needs ? (
                <div class="needs">
                  <Icon name="warning" /> {one.needs}
                </div>
              ) : (
                one.description && <div class="muted">{one.description}</div>
              )}
            </div>
            {one.remedy ? (
              <button onClick={() => store.send({ type: "remedy", agent: one.id, id: one.remedy!.id })}>{one.remedy.label}</button>
            ) : (
              one.installed && (
                <button aria-label={label(one.name)} onClick={() => run(one.id)}>
                  {words}
                </button>
              )
            )}
          </div>
        </li>
      ))}
    </ul>
  );
}

/** The choice of an agent for a new conversation, or for a message that waits for one. */
export function Choose({ store, overview }: { store: Store; overview: Overview }) {
  const { unsent } = store;
  const send = unsent && {
    words: t("Send"),
    label: (name: string) => t("Send to {0}", name),
    run: (agent: string) => store.sendMessage(unsent.text, unsent.attachments, agent),
  };
  return (
    <div class="start">
      <div class="page-head">
        <h1>{unsent ? t("Choose or add an agent") : t("New conversation with")}</h1>
        {overview.vacant !== "choosing" && <IconButton icon="close" label={t("Close")} onClick={() => store.show("conversation")} />}
      </div>
      {unsent && <p class="unsent muted">{t("Your message goes to the agent that you choose: {0}", unsent.text.trim().split("\n")[0]!.slice(0, 200))}</p>}
      <Agents store={store} agents={overview.agents} {...(send ? { pick: send } : {})} />
      <button class="add-agent" onClick={() => store.send({ type: "action", id: "addAgent" })}>
        <Icon name="add" /> {t("Add agent…")}
      </button>
    </div>
  );
}

export function Sessions({ store, overview }: { store: Store; overview: Overview }) {
  const [query, setQuery] = useState("");
  useEffect(() => {
    if (query.trim().length < SEARCHED_FROM) return;
    const timer = setTimeout(() => store.send({ type: "search", query }), SEARCH_AFTER);
    return () => clearTimeout(timer);
  }, [query]);
  const inside = store.found.query === query ? store.found.at : undefined;
  const found = overview.sessions.filter((one) => `${one.title} ${one.agent}`.toLowerCase().includes(query.toLowerCase()) || inside?.has(one.sessionId));
  return (
    <div class="start">
      <div class="page-head">
        <h1>{t("Conversations")}</h1>
        <IconButton icon="refresh" label={t("Refresh")} onClick={() => store.send({ type: "refreshSessions" })} />
        <IconButton icon="close" label={t("Close")} onClick={() => store.show("conversation")} />
      </div>
      <input type="search" class="search" value={query} maxLength={200} placeholder={t("Search titles and words")} aria-label={t("Search conversations")} onInput={(event) => setQuery(event.currentTarget.value)} />
      <Rows store={store} sessions={found} excerpts={inside} />
      {found.length === 0 && <p class="muted">{t("Nothing here yet.")}</p>}
    </div>
  );
}

function Rows({ store, sessions, excerpts }: { store: Store; sessions: Summary[]; excerpts?: ReadonlyMap<string, string> | undefined }) {
  return (
    <ul class="sessions">
      {sessions.map((one) => (
        <SessionRow key={one.sessionId} session={one} excerpt={excerpts?.get(one.sessionId)} store={store} />
      ))}
    </ul>
  );
}

export function stateIcon(session: Pick<Summary, "state" | "unseen" | "recorded">): { name: string; spin: boolean; words: string } {
  if (session.state === "waiting") return { name: "bell-dot", spin: false, words: t("waiting for you") };
  if (session.state === "running" || session.state === "starting") return { name: "loading", spin: true, words: t("running") };
  if (session.state === "failed") return { name: "error", spin: false, words: t("failed") };
  if (session.unseen) return { name: "circle-filled", spin: false, words: t("finished") };
  return { name: session.recorded ? "history" : "comment", spin: false, words: session.recorded ? t("recorded") : t("open") };
}

function SessionRow({ session, excerpt, store }: { session: Summary; excerpt?: string | undefined; store: Store }) {
  const [editing, setEditing] = useState<string | null>(null);
  const [asking, setAsking] = useState(false);
  const state = stateIcon(session);
  const { sessionId } = session;
  if (editing !== null) {
    return (
      <li>
        <input
          autoFocus
          value={editing}
          aria-label={t("Title")}
          onInput={(event) => setEditing(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && editing.trim()) store.send({ type: "renameSession", sessionId, title: editing.trim() });
            if (event.key === "Enter" || event.key === "Escape") setEditing(null);
          }}
        />
      </li>
    );
  }
  return (
    <li class={session.unseen ? "unseen" : ""}>
      <button class="session" onClick={() => store.send({ type: "openSession", sessionId })}>
        <Icon name={state.name} spin={state.spin} />
        <span class="sr">{state.words}</span>
        <span class="title">{session.title || t("Untitled")}</span>
        <span class="muted">
          {session.agent}
          {session.used !== undefined && ` · ${ago(session.used)}`}
        </span>
        {excerpt !== undefined && <span class="excerpt muted">{excerpt}</span>}
      </button>
      {asking ? (
        <>
          <button class="danger" onClick={() => store.send({ type: "deleteSession", sessionId })}>
            {t("Delete")}
          </button>
          <button onClick={() => setAsking(false)}>{t("Keep")}</button>
        </>
      ) : (
        <span class="row-actions">
          <IconButton icon="multiple-windows" label={t("Open {0} in an editor tab", session.title)} onClick={() => store.send({ type: "openInEditor", sessionId })} />
          {session.forks && <IconButton icon="repo-forked" label={t("Fork {0}", session.title)} onClick={() => store.send({ type: "forkSession", sessionId })} />}
          <IconButton icon="edit" label={t("Rename {0}", session.title)} onClick={() => setEditing(session.title)} />
          <IconButton icon="export" label={t("Export {0}", session.title)} onClick={() => store.send({ type: "exportSession", sessionId })} />
          <IconButton icon="trash" label={t("Delete {0}", session.title)} onClick={() => setAsking(true)} />
        </span>
      )}
    </li>
  );
}

function ago(time: number): string {
  const minutes = Math.max(0, Math.round((Date.now() - time) / 60_000));
  if (minutes < 1) return t("now");
  if (minutes < 60) return t("{0} min", minutes);
  if (minutes < 48 * 60) return t("{0} h", Math.round(minutes / 60));
  return t("{0} d", Math.round(minutes / 1440));
}
