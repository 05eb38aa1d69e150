import type * as messages from "./messages.ts";
import { LONGEST_LEASE_MS, MAX_VALUE_BYTES } from "./capabilities.ts";

type Check = (value: unknown) => boolean;
type Shape = Readonly<Record<string, Check>>;
/** One check for each field. The compiler reports a missing one. */
type ShapeOf<T> = { readonly [Field in Exclude<keyof T, "kind">]-?: Check };

/** No name, reason or value is longer. So a message takes little memory, also one with a wrong field. */
export const isText: Check = (value) => typeof value === "string" && value.length <= MAX_VALUE_BYTES;
export const areTexts: Check = (value) => Array.isArray(value) && value.every(isText);
export const isFlag: Check = (value) => typeof value === "boolean";
export const isNumber: Check = (value) => Number.isFinite(value) && (value as number) >= 0;
/** A time for which a voter waits, in milliseconds. None is longer than the longest lease, so a wrong one passes. */
const isWait: Check = (value) => isNumber(value) && (value as number) <= LONGEST_LEASE_MS;
export const isCount: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
export const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);

/** Reports whether a value has all fields of a shape. */
export function isRecordOf(value: unknown, shape: Shape): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(shape).every(([name, check]) => check((value as Record<string, unknown>)[name]));
}

export const recordOf =
  (check: Check): Check =>
  (value) =>
    typeof value === "object" && value !== null && Object.values(value).every(check);
const shaped =
  (shape: Shape): Check =>
  (value) =>
    isRecordOf(value, shape);

const HEARD: ShapeOf<messages.HeardCounters> = { term: isCount, number: isCount };
const BROKEN: ShapeOf<messages.Broken> = { id: isText, reason: isText, immediate: isFlag };
export const isBroken: Check = shaped(BROKEN);
const TRANSFER_ORDER: ShapeOf<messages.TransferOrder> = { id: isText, candidateId: isText, timeoutMs: isWait };
export const isTransferOrder: Check = shaped(TRANSFER_ORDER);
const TRANSFER_LEFT: ShapeOf<messages.TransferLeft> = { ...TRANSFER_ORDER, leftMs: isNumber };
const SIGN: ShapeOf<messages.LeaderStatus> = {
  ...{ ...HEARD, candidateId: isText, value: optional(isText), leaseDurationMs: isWait, ageMs: isNumber, released: isFlag },
  ...{ holdMs: isWait, broken: optional(isBroken), transfer: optional(shaped(TRANSFER_LEFT)), votedFor: optional(isText) },
};
const SIGNED = { sign: optional(shaped(SIGN)) };

const ABOUT = { election: isText, term: isCount };
const TITLE = { ...ABOUT, termId: isText, leaseDurationMs: isWait };
const ELECT: ShapeOf<messages.Elect> = {
  ...{ ...TITLE, candidateId: isText, trial: isFlag, heard: shaped(HEARD) },
  ...{ hasLed: isFlag, hasFailed: isFlag, holdMs: isWait, claimMs: isWait },
};
const LEAD: ShapeOf<messages.Lead> = { ...TITLE, number: isCount, candidateId: isText, value: optional(isText) };
const RELEASE: ShapeOf<messages.Release> = { ...TITLE, number: isCount, holdMs: isWait, transfer: optional(isTransferOrder) };
const BREAK: ShapeOf<messages.Break> = { ...BROKEN, ...ABOUT };
const TRANSFER: ShapeOf<messages.Transfer> = { ...TRANSFER_ORDER, ...ABOUT, afterBreak: isFlag };
const READ: ShapeOf<messages.Read> = { election: isText };
const REQUESTS: Readonly<Record<messages.Request["kind"], Shape>> = {
  ...{ ELECT, LEAD, RELEASE, BREAK, TRANSFER, READ, TELL: {}, PING: {} },
};

const VOTE: ShapeOf<messages.Vote> = { granted: isFlag, term: isCount, waitMs: isNumber, ...SIGNED };
const ORDERS = { broken: optional(isBroken), transfer: optional(isTransferOrder) };
const ACKNOWLEDGEMENT: ShapeOf<messages.Acknowledgement> = { taken: isFlag, term: isCount, ...ORDERS };
const PEER: ShapeOf<messages.PeerState> = { name: isText, why: isText, forMs: isNumber };
const arePeers: Check = (value) => Array.isArray(value) && value.every(shaped(PEER));
const SIGHTED: ShapeOf<messages.LeaderReply> = { ...SIGNED, absent: arePeers };
const PONG: ShapeOf<messages.Pong> = { takesPart: isFlag, why: optional(isText), syncMs: isNumber, absent: arePeers };
const TOLD: ShapeOf<messages.StateReply> = {
  ...{ forgot: isFlag, takesPart: optional(isFlag), takesPartIn: optional(areTexts), isFresh: isFlag },
  ...{ floor: isCount, clockFloor: isCount, terms: recordOf(isCount) },
  ...{ longestLeaseMs: isWait, leases: optional(recordOf(isWait)) },
};
const ANSWERS: Readonly<Record<messages.VoterReply["kind"], Shape>> = {
  ...{ LEAD: ACKNOWLEDGEMENT, RELEASE: ACKNOWLEDGEMENT, BREAK: ACKNOWLEDGEMENT, TRANSFER: ACKNOWLEDGEMENT },
  ...{ VOTE, READ: SIGHTED, TELL: TOLD, PING: PONG, SILENT: {} },
};

export function isRequest(value: unknown): value is messages.Request {
  return isOneOf(value, REQUESTS);
}

export function isAnswer(value: unknown): value is messages.VoterReply {
  return isOneOf(value, ANSWERS);
}

function isOneOf(value: unknown, shapes: Readonly<Record<string, Shape>>): boolean {
  const kind = (value as { readonly kind?: unknown } | null)?.kind;
  const shape = typeof kind === "string" && Object.hasOwn(shapes, kind) ? shapes[kind] : undefined;
  return shape !== undefined && isRecordOf(value, shape);
}
