import { UnsupportedError, type Clock, type LeaseSnapshot } from "@leasehold/core";
import { Administration, type Order, type OrderLimits, type Standing } from "@leasehold/core/provider";
import { unanswered } from "./claim.ts";
import type { Acknowledgement, Answer, Sighted } from "./messages.ts";
import { poll, pollToKeep, type Electorate } from "./poll.ts";
import { Sightings } from "./sightings.ts";

/** What an administrator can order of servers that vote: the end of a term, which a majority keeps. */
export function administrationOf(server: Electorate): Administration {
  const { clock } = server;
  return new Administration({ name: "voting", clock, look: (election, limits) => look(server, clock, election, limits) });
}

async function look(server: Electorate, clock: Clock, election: string, limits: OrderLimits): Promise<Standing | undefined> {
  const { answers, snapshot: sighted } = await sightedBy(server, clock, election, limits);
  if (!sighted) return undefined;
  const { term } = sighted;
  const isBroken = answers.filter(({ sign }) => sign?.term === term && sign.broken).length >= server.majority;
  // Somebody may go by that who has not given the order.
  if (isBroken) await server.remember();
  const snapshot = isBroken ? sighted : unbroken(clock, election, answers);
  return {
    snapshot,
    lastHolder: snapshot.holder,
    isCarriedOut: ({ id }) =>
      answers.filter(({ sign }) => sign?.term === term && sign.broken?.id === id).length >= server.majority,
    carryOut: (order) => breakTerm(server, election, term, order, limits),
  };
}

/** Before a majority has an order, its leader may go on. */
function unbroken(clock: Clock, election: string, answers: readonly Sighted[]): LeaseSnapshot {
  const sightings = new Sightings(clock);
  for (const { sign } of answers) sightings.see(election, sign && { ...sign, broken: undefined });
  return sightings.snapshot(election) as LeaseSnapshot;
}

/** What a majority has heard of an election, now. */
export async function sightedBy(
  server: Electorate,
  clock: Clock,
  election: string,
  { timeoutMs, signal }: OrderLimits,
): Promise<{ readonly answers: readonly Sighted[]; readonly snapshot: LeaseSnapshot | undefined }> {
  const request = { kind: "READ", election } as const;
  const result = await poll(server, { request, timeoutMs, signal, isAnswer: isSighted, isYes: () => true });
  if (result.outcome !== "yes") throw unanswered(election, "READ", result, false);
  const answers = [...result.answers.values()];
  const sightings = new Sightings(clock);
  for (const { sign } of answers) sightings.see(election, sign);
  return { answers, snapshot: sightings.snapshot(election) };
}

async function breakTerm(
  server: Electorate,
  election: string,
  term: number,
  order: Order,
  { timeoutMs }: OrderLimits,
): Promise<boolean> {
  if (order.kind !== "break") throw new UnsupportedError("Servers that vote hand over to nobody in particular.", { election });
  const { id, reason, immediate } = order;
  const request = { kind: "BREAK", election, term, id, reason, immediate } as const;
  const result = await pollToKeep(server, { request, timeoutMs, isAnswer: isBreak, isYes: ({ taken }) => taken });
  if (result.outcome === "open") throw unanswered(election, "BREAK", result, true);
  return result.outcome === "yes";
}

function isSighted(answer: Answer): answer is Sighted {
  return answer.kind === "READ";
}

function isBreak(answer: Answer): answer is Acknowledgement {
  return answer.kind === "BREAK";
}
