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
 * Lists the elections that a majority of the servers knows. A leader has the votes of a majority, so every majority has its name. An
 * election of which no server has heard a leader since its start is `unknown`, with the latest term that a server keeps. A
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
  const latest = new Map<string, number>();
  for (const { terms } of result.answers.values()) {
    for (const [election, term] of Object.entries(terms)) latest.set(election, Math.max(term, latest.get(election) ?? 0));
  }
  for (const [election, term] of latest) {
    if (!election.startsWith(prefix)) continue;
    limits.signal?.throwIfAborted();
    // After a start, a server knows an election by its term until it hears a leader.
    yield (await read(election)) ?? { election, state: "unknown", term };
  }
}

/** Reports whether a server has told its state. The state of one that takes no part may lack an election. */
function hasState(answer: VoterReply): answer is StateReply {
  return answer.kind === "TELL" && !answer.forgot && answer.takesPart !== false;
}
