import type {
  Acknowledgement,
  VoterReply,
  Break,
  Broken,
  Elect,
  HeardCounters,
  Lead,
  PeerState,
  Pong,
  Read,
  Release,
  Request,
  LeaderReply,
  LeaderStatus,
  StateReply,
  Transfer,
  TransferLeft,
  TransferOrder,
  Vote,
} from "./messages.ts";
import { LONGEST_LEASE_MS, MAX_VALUE_BYTES } from "./capabilities.ts";

type Check = (value: unknown) => boolean;
type Shape = Readonly<Record<string, Check>>;
/** One check for each field. The compiler reports a missing one. */
type ShapeOf<T> = { readonly [Field in Exclude<keyof T, "kind">]-?: Check };

/** No name, reason or value is longer. So a message takes little memory, also one with a wrong field. */
export const isText: Check = (value) => typeof value === "string" && value.length <= MAX_VALUE_BYTES;
const isFlag: Check = (value) => typeof value === "boolean";
const isNumber: Check = (value) => Number.isFinite(value) && (value as number) >= 0;
/** A time for which a voter waits, in milliseconds. None is longer than the longest lease, so a wrong one passes. */
const isWait: Check = (value) => isNumber(value) && (value as number) <= LONGEST_LEASE_MS;
export const isCount: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);

/** Reports whether a value has all fields of a shape. */
export function isRecordOf(value: unknown, shape: Shape): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(shape).every(([name, check]) => check((value as Record<string, unknown>)[name]));
}

const HEARD: ShapeOf<HeardCounters> = { term: isCount, number: isCount };

const BROKEN: ShapeOf<Broken> = { id: isText, reason: isText, immediate: isFlag };
export const isBroken: Check = (value) => isRecordOf(value, BROKEN);

const TRANSFER_ORDER: ShapeOf<TransferOrder> = { id: isText, candidateId: isText, timeoutMs: isWait };
const TRANSFER_LEFT: ShapeOf<TransferLeft> = { ...TRANSFER_ORDER, leftMs: isNumber };
export const isTransferOrder: Check = (value) => isRecordOf(value, TRANSFER_ORDER);
const isTransferLeft: Check = (value) => isRecordOf(value, TRANSFER_LEFT);

const SIGN: ShapeOf<LeaderStatus> = {
  term: isCount,
  number: isCount,
  candidateId: isText,
  value: optional(isText),
  leaseDurationMs: isWait,
  ageMs: isNumber,
  released: isFlag,
  holdMs: isWait,
  broken: optional(isBroken),
  transfer: optional(isTransferLeft),
  votedFor: optional(isText),
};

const isHeard: Check = (value) => isRecordOf(value, HEARD);
const isSign: Check = (value) => isRecordOf(value, SIGN);
const recordOf =
  (check: Check): Check =>
  (value) =>
    typeof value === "object" && value !== null && Object.values(value).every(check);

const TITLE = { election: isText, term: isCount, termId: isText, leaseDurationMs: isWait };
const ELECT: ShapeOf<Elect> = {
  ...TITLE,
  candidateId: isText,
  trial: isFlag,
  heard: isHeard,
  hasLed: isFlag,
  hasFailed: isFlag,
  holdMs: isWait,
  claimMs: isWait,
};
const LEAD: ShapeOf<Lead> = { ...TITLE, number: isCount, candidateId: isText, value: optional(isText) };
const RELEASE: ShapeOf<Release> = { ...TITLE, number: isCount, holdMs: isWait, transfer: optional(isTransferOrder) };
const BREAK: ShapeOf<Break> = { ...BROKEN, election: isText, term: isCount };
const TRANSFER: ShapeOf<Transfer> = { ...TRANSFER_ORDER, election: isText, term: isCount, afterBreak: isFlag };
const READ: ShapeOf<Read> = { election: isText };
const NOTHING: Shape = {};
const REQUESTS: Readonly<Record<Request["kind"], Shape>> = {
  ...{ ELECT, LEAD, RELEASE, BREAK, TRANSFER, READ },
  TELL: NOTHING,
  PING: NOTHING,
};

const VOTE: ShapeOf<Vote> = { granted: isFlag, term: isCount, waitMs: isNumber, sign: optional(isSign) };
const ACKNOWLEDGEMENT: ShapeOf<Acknowledgement> = {
  taken: isFlag,
  term: isCount,
  broken: optional(isBroken),
  transfer: optional(isTransferOrder),
};
const PEER: ShapeOf<PeerState> = { name: isText, why: isText, forMs: isNumber };
const arePeers: Check = (value) => Array.isArray(value) && value.every((each) => isRecordOf(each, PEER));
const SIGHTED: ShapeOf<LeaderReply> = { sign: optional(isSign), absent: arePeers };
const PONG: ShapeOf<Pong> = { takesPart: isFlag, syncMs: isNumber, absent: arePeers };
const TOLD: ShapeOf<StateReply> = {
  forgot: isFlag,
  takesPart: optional(isFlag),
  isFresh: isFlag,
  floor: isCount,
  clockFloor: isCount,
  terms: recordOf(isCount),
  longestLeaseMs: isWait,
};
const ANSWERS: Readonly<Record<VoterReply["kind"], Shape>> = {
  VOTE,
  LEAD: ACKNOWLEDGEMENT,
  RELEASE: ACKNOWLEDGEMENT,
  BREAK: ACKNOWLEDGEMENT,
  TRANSFER: ACKNOWLEDGEMENT,
  READ: SIGHTED,
  TELL: TOLD,
  PING: PONG,
  SILENT: NOTHING,
};

export function isRequest(value: unknown): value is Request {
  return isOneOf(value, REQUESTS);
}

export function isAnswer(value: unknown): value is VoterReply {
  return isOneOf(value, ANSWERS);
}

function isOneOf(value: unknown, shapes: Readonly<Record<string, Shape>>): boolean {
  const kind = (value as { readonly kind?: unknown } | null)?.kind;
  const shape = typeof kind === "string" && Object.hasOwn(shapes, kind) ? shapes[kind] : undefined;
  return shape !== undefined && isRecordOf(value, shape);
}
