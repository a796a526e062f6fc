/** The parts of the panel, by which those that carry out what a page or a command asks for reach the others. */

import type { Session } from "../../session";
import type { Beginnings } from "./beginnings";
import type { Box } from "./box";
import type { Followed } from "./followed";
import type { Live } from "./live";
import type { Memory } from "./memory";
import type { Places } from "./places";
import type { Server } from "./ports";
import type { Sessions } from "./sessions";
import type { Tour } from "./tour";

export interface Parts {
  readonly session: Session;
  readonly server: Server;
  readonly sessions: Sessions;
  readonly memory: Memory;
  readonly places: Places;
  readonly beginnings: Beginnings;
  readonly box: Box;
  readonly tour: Tour;
  readonly followed: Followed;
  /** Asks the server again which agents and sessions there are. */
  readonly refresh: () => Promise<void>;
  /** The conversation, or its state, is another one. */
  readonly changed: (live: Live) => void;
}
