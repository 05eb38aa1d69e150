import type { Ballot, StoredVoterState } from "./voter-state.ts";
import { isBroken, isTransferOrder } from "./message-shapes.ts";

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
