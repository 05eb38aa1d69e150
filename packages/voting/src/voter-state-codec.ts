import { isBroken, isTransferOrder } from "./message-shapes.ts";
import type { Broken, TransferOrder } from "./messages.ts";

/** A voter's state of one election. The voter writes a change of it to its disk before it answers. */
export interface Ballot {
  readonly term: number;
  /**
   * The `termId` of the claim that has this voter's only vote of the term. Null if it has not voted in it, e.g. after another's
   * LEAD.
   */
  readonly votedFor: string | null;
  /** The lease that may still be valid. After a start, the voter votes for nobody for this time. */
  readonly leaseDurationMs: number;
  /** The break that has ended the term. */
  readonly broken?: Broken | undefined;
  /** The last transfer order to the term that no break has lifted. */
  readonly transfer?: TransferOrder | undefined;
}

/** The state of all elections that a voter keeps on its disk. */
export interface StoredVoterState {
  /** The term of each election that is not in `elections`: a new one, or one whose ballot was dropped. */
  readonly floor: number;
  /**
   * The voter votes only for terms above this one. A first start takes it from the clock. LEADs of lower terms are still
   * accepted.
   */
  readonly clockFloor: number;
  /** The voter has neither voted nor accepted a LEAD since its first start. */
  readonly isFresh: boolean;
  readonly elections: Readonly<Record<string, Ballot>>;
}

/** The state that a server writes to its disk. */
export interface StoredState extends StoredVoterState {
  /**
   * How often the state was written. The other servers remember the highest number that they have heard, and so recognise an
   * older file.
   */
  readonly writes: number;
  /** The highest `writes` that this server has heard from each other server. */
  readonly seen: Readonly<Record<string, number>>;
}

const SCHEMA = 1;

export function textOf(kept: StoredState): string {
  return JSON.stringify({ schema: SCHEMA, ...kept });
}

/** Reads the text of a file. Returns undefined if it is not what was written; the state then counts as lost. */
export function decodeStoredState(text: string | undefined): StoredState | undefined {
  if (text === undefined) return undefined;
  try {
    const { schema, writes, floor, clockFloor, isFresh, elections, seen } = JSON.parse(text) as StoredState & {
      readonly schema: unknown;
    };
    const isWhole =
      schema === SCHEMA &&
      typeof isFresh === "boolean" &&
      isCount(writes) &&
      isCount(floor) &&
      isCount(clockFloor) &&
      isRecord(seen, isCount) &&
      isRecord(elections, isBallot);
    return isWhole ? { writes, floor, clockFloor, isFresh, elections, seen } : undefined;
  } catch {
    return undefined;
  }
}

function isBallot(value: unknown): boolean {
  const { term, votedFor, leaseDurationMs, broken, transfer } = (value ?? {}) as Partial<Ballot>;
  const isVote = isCount(term) && (votedFor === null || typeof votedFor === "string") && Number.isFinite(leaseDurationMs);
  return isVote && (broken === undefined || isBroken(broken)) && (transfer === undefined || isTransferOrder(transfer));
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isRecord(value: unknown, isIt: (entry: unknown) => boolean): boolean {
  return typeof value === "object" && value !== null && Object.values(value).every(isIt);
}
