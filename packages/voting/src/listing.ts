import type { LeaseSnapshot, ListedElection } from "@leasehold/core";
import { unanswered } from "./claim.ts";
import type { StateReply, VoterReply } from "./messages.ts";
import { poll, type Electorate } from "./poll.ts";

/** The limits of a list. */
interface ListLimits {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Lists the elections that a majority of the servers knows. A leader has the votes of a majority, so every majority has its name. A
 * server drops elections that are over when there are too many. All names are in memory meanwhile.
 *
 * @param read reads one election.
 */
export async function* listElections(
  server: Electorate,
  prefix: string,
  limits: ListLimits,
  read: (election: string) => Promise<LeaseSnapshot | undefined>,
): AsyncGenerator<ListedElection> {
  // The election is the prefix, for messages.
  const request = { kind: "TELL", election: prefix } as const;
  const result = await poll(server, { ...limits, request, isAnswer: hasState, isYes: () => true });
  if (result.outcome !== "yes") throw unanswered(prefix, "TELL", result, false);
  const names = new Set([...result.answers.values()].flatMap(({ terms }) => Object.keys(terms)));
  for (const election of names) {
    if (!election.startsWith(prefix)) continue;
    limits.signal?.throwIfAborted();
    const snapshot = await read(election);
    if (snapshot) yield snapshot;
  }
}

/** Reports whether a server has told its state. The state of one that takes no part may lack an election. */
function hasState(answer: VoterReply): answer is StateReply {
  return answer.kind === "TELL" && !answer.forgot && answer.takesPart !== false;
}
