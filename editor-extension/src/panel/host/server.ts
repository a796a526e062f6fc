/** The server's commands, as the panel's sessions call them. */

import * as lsp from "../../lsp_ext";
import type { Session } from "../../session";
import type { Server } from "./ports";

export function serverOf({ client }: Session): Server {
  return {
    newSession: (argument) => client.command(lsp.newSession, argument),
    prompt: (argument) => client.command(lsp.prompt, argument),
    cancel: (sessionId) => client.command(lsp.cancel, { sessionId }),
    stopCommand: (sessionId, terminalId) => client.command(lsp.stopCommand, { sessionId, terminalId }),
    close: (sessionId) => client.command(lsp.closeSession, { sessionId }),
    listAgents: () => client.command(lsp.listAgents, {}),
    listSessions: () => client.command(lsp.listSessions, {}),
    load: (sessionId, replay) => client.command(lsp.loadSession, { sessionId, replay }),
    fork: (sessionId) => client.command(lsp.forkSession, { sessionId }),
    remove: (sessionId) => client.command(lsp.deleteSession, { sessionId }),
    transcript: (sessionId) => client.command(lsp.transcript, { sessionId }),
    setMode: (sessionId, modeId) => client.command(lsp.setMode, { sessionId, modeId }),
    setOption: (sessionId, configId, value) => client.command(lsp.setConfigOption, { sessionId, configId, value }),
    revertTurn: (sessionId, turn) => client.command(lsp.revertTurn, { sessionId, turn }),
    keep: (sessionId, turn) => client.command(lsp.keep, { sessionId, turn }),
    reject: (sessionId, turn) => client.command(lsp.reject, { sessionId, turn }),
    changes: (sessionId) => client.command(lsp.listChanges, { sessionId }),
    authenticate: (agent, methodId, finished) =>
      client.command(lsp.authenticate, {
        agent,
        ...(methodId === undefined ? {} : { methodId }),
        ...(finished === undefined ? {} : { finished }),
      }),
  };
}
