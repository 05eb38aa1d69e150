import { type Clock, Administration, type Order, type OrderLimits, type ElectionState } from "@leasehold/core/provider";
import type { LeaseSnapshot } from "@leasehold/core";
import type { Acknowledgement, Break, LeaderReply, LeaderStatus, Transfer } from "./messages.ts";
import { NAME } from "./capabilities.ts";
import { isAnswerOf, poll, pollToKeep, unanswered, type Electorate } from "./poll.ts";
import { LeaderStatuses } from "./leader-statuses.ts";

/** The orders of an administrator to servers that vote: to break a term, or to transfer it. A majority keeps an order. */
export function administrationOf(server: Electorate): Administration {
  const { clock } = server;
  return new Administration({ name: NAME, clock, read: (election, limits) => look(server, election, limits) });
}

async function look(server: Electorate, election: string, limits: OrderLimits): Promise<ElectionState | undefined> {
  const { signs, snapshot: sighted } = await sightedBy(server, election, limits);
  if (!sighted) return undefined;
  const isBroken = signs.filter(({ broken }) => broken).length >= server.majority;
  // This read may be all that a caller relies on. So persist the write counters, by which a server that loses the break is
  // noticed.
  if (isBroken) await server.remember();
  // Until a majority has the order to break, the leader may go on. So the snapshot does not show the break before.
  const unbroken = signs.map((sign) => ({ ...sign, broken: undefined }));
  const snapshot = isBroken ? sighted : (snapshotOf(server.clock, election, unbroken) as LeaseSnapshot);
  return {
    snapshot,
    lastHolder: signs.find(({ candidateId }) => candidateId !== "")?.candidateId,
    isCarriedOut: ({ id }) =>
      signs.filter(({ broken, transfer }) => broken?.id === id || transfer?.id === id).length >= server.majority,
    isClaiming: (candidateId) => signs.some(({ votedFor }) => votedFor === candidateId),
    carryOut: async (order) => {
      const afterBreak = signs.some(({ broken }) => broken);
      return await carryOut(server, requestOf(election, snapshot.term, afterBreak, order), limits);
    },
  };
}

/** Asks all servers for an election's status now, and waits for a majority. Returns the statuses of the latest term. */
export async function sightedBy(
  server: Electorate,
  election: string,
  limits: OrderLimits,
): Promise<{ readonly signs: readonly LeaderStatus[]; readonly snapshot: LeaseSnapshot | undefined }> {
  const all = await statusesOf(server, election, limits);
  const signs = all.filter(({ term }) => term === Math.max(...all.map((each) => each.term)));
  return { signs, snapshot: snapshotOf(server.clock, election, signs) };
}

/** Asks all servers for an election's status, and waits for a majority. Servers that know no leader are not in the result. */
export async function statusesOf(
  server: Electorate,
  election: string,
  { timeoutMs, signal }: OrderLimits,
): Promise<readonly LeaderStatus[]> {
  const request = { kind: "READ", election } as const;
  const result = await poll(server, { request, timeoutMs, signal, isAnswer: isAnswerOf<LeaderReply>("READ"), isYes: () => true });
  if (result.outcome !== "yes") throw unanswered(election, "READ", result, false);
  return [...result.answers.values()].flatMap(({ sign }) => sign ?? []);
}

/** Merges the statuses of one term. Its orders and its last LEAD may be known to different servers. */
function snapshotOf(clock: Clock, election: string, signs: readonly LeaderStatus[]): LeaseSnapshot | undefined {
  const sightings = new LeaderStatuses(clock);
  const broken = signs.find((sign) => sign.broken)?.broken;
  // A server without the break may have a transfer that the break has lifted.
  const knowing = signs.filter((sign) => !broken || sign.broken);
  const last = knowing.toSorted((one, other) => (other.transfer?.leftMs ?? 0) - (one.transfer?.leftMs ?? 0))[0];
  for (const sign of signs) sightings.see(election, { ...sign, broken, transfer: last?.transfer });
  return sightings.snapshot(election);
}

function requestOf(election: string, term: number, afterBreak: boolean, order: Order): Break | Transfer {
  const about = { election, term, id: order.id };
  if (order.kind === "break") return { kind: "BREAK", ...about, reason: order.reason, immediate: order.immediate };
  return { kind: "TRANSFER", ...about, candidateId: order.candidateId, timeoutMs: order.timeoutMs, afterBreak };
}

async function carryOut(server: Electorate, request: Break | Transfer, { timeoutMs }: OrderLimits): Promise<boolean> {
  const { kind, election } = request;
  const isAnswer = isAnswerOf<Acknowledgement>(kind);
  const result = await pollToKeep(server, { request, timeoutMs, isAnswer, isYes: ({ taken }) => taken });
  if (result.outcome === "open") throw unanswered(election, kind, result, true);
  return result.outcome === "yes";
}
