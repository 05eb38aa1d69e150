import { isBroken, isCount, isFlag, isNumber, isRecordOf, isTransferOrder, optional, recordOf } from "./message-shapes.ts";
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

/** The state that a voter keeps on its disk. */
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
  try {
    const state = JSON.parse(text ?? "") as StoredState & { readonly schema: unknown };
    if (state.schema !== SCHEMA || !isRecordOf(state, STATE)) return undefined;
    const { writes, floor, clockFloor, isFresh, elections, seen } = state;
    return { writes, floor, clockFloor, isFresh, elections, seen };
  } catch {
    return undefined;
  }
}

const BALLOT = {
  ...{ term: isCount, votedFor: (value: unknown) => value === null || typeof value === "string", leaseDurationMs: isNumber },
  ...{ broken: optional(isBroken), transfer: optional(isTransferOrder) },
};
const STATE = {
  ...{ writes: isCount, floor: isCount, clockFloor: isCount, isFresh: isFlag },
  ...{ elections: recordOf((value) => isRecordOf(value, BALLOT)), seen: recordOf(isCount) },
};
