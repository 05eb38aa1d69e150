import { UnsupportedError } from "@leasehold/core";
import type { AdminStore, Order, OrderLimits, ElectionState } from "@leasehold/core/provider";
import { STORE_NAME } from "./etcd-errors.ts";
import type { ElectionKeys } from "./keys.ts";
import type { StoreParts } from "./parts.ts";
import type { Note } from "./schema.ts";
import { namesOf, type Head } from "./observed-election.ts";
import type { Json } from "./transport.ts";
import { createdAt, deleting, onLease, putting } from "./wire.ts";

type Break = Extract<Order, { kind: "break" }>;

/** Returns the store in the form that core's `Administration` needs to give orders. It supports breaks only. */
export function administered(parts: StoreParts): AdminStore {
  return { name: STORE_NAME, clock: parts.clock, read: async (election, limits) => await standingOf(parts, election, limits) };
}

async function standingOf(parts: StoreParts, election: string, limits: OrderLimits): Promise<ElectionState | undefined> {
  const { reader } = parts;
  const keys = parts.keysOf(election);
  const observed = await reader.read(keys, election, limits);
  const snapshot = await reader.snapshot(observed, limits);
  if (!snapshot) return undefined;
  const { head } = observed;
  return {
    snapshot,
    lastHolder: snapshot.holder,
    isCarriedOut: ({ id }) => head?.note?.kind === "break" && head.note.id === id,
    carryOut: async (order) =>
      head !== undefined && order.kind === "break" && (await carryOut(parts, election, head, order, limits)),
  };
}

/**
 * Carries out a break, on the condition that the term has not changed since it was read. Reports whether etcd carried the break
 * out.
 * @throws {UnsupportedError} for a holder that does not read notes, unless the order ends its term at once.
 */
async function carryOut(parts: StoreParts, election: string, head: Head, order: Break, limits: OrderLimits): Promise<boolean> {
  const keys = parts.keysOf(election);
  // A hold moves the key to another lease. A note on the first lease would replace the hold's note, and expire before the key.
  const compare = [createdAt(keys.candidate(head.hex), head.term), onLease(keys.candidate(head.hex), head.leaseNumber)];
  const success = endsAtOnce(head, order) ? ending(keys, head, order) : [noting(election, keys, head, order)];
  return (await parts.requests.write("break", election, { compare, success }, limits)).succeeded;
}

/** Reports whether a break takes effect at once. A hold needs no wait, because it has no leader. */
function endsAtOnce({ note }: Head, { immediate }: Break): boolean {
  return immediate || note?.kind === "hold";
}

/**
 * Returns operations that delete the key, so that the next candidate may follow. A note tells the holder the reason, as long as
 * its lease lasts.
 */
function ending(keys: ElectionKeys, { hex, info, note, leaseNumber }: Head, order: Break): readonly Json[] {
  const told = info && !note ? putting(keys.note(hex), noteOf(order), leaseNumber) : deleting(keys.note(hex));
  return [deleting(keys.candidate(hex)), deleting(keys.info(hex)), told];
}

/**
 * Returns the operation that writes the note. The note is on the holder's lease, so etcd deletes the note together with the key.
 */
function noting(election: string, keys: ElectionKeys, head: Head, order: Break): Json {
  if (head.info) return putting(keys.note(head.hex), noteOf(order), head.leaseNumber);
  throw new UnsupportedError(
    `The leader of '${election}', ${namesOf(head).holder}, is not a candidate of Leasehold's: a note would not end its term. ` +
      "With immediate: true the break deletes its key, but that leader does not notice it and goes on: stop its process first.",
    { election },
  );
}

function noteOf({ id, reason }: Break): string {
  return JSON.stringify({ schema: 1, kind: "break", id, reason } satisfies Note);
}
