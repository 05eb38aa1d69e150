import { ConfigurationError, UnsupportedError } from "@leasehold/core";
import { barOf, isoOf, vacantRecord, type LeaseRecord, type StoredRecord } from "@leasehold/core/provider";

/** The annotation that holds the record, and the fields of `spec` for which it counts. */
export const ANNOTATION = "leasehold.github.io/record";

/** `spec.leaseTransitions` is an int32. */
const MAX_TRANSITIONS = 2 ** 31 - 1;
/** Near the latest time that `spec.renewTime` can hold, since the Unix epoch: the beginning of the year 9999. */
const MAX_TIME_MS = 253_370_764_800_000;
/** The beginning of the `termId` of a holder that is no Leasehold candidate. The fields of `spec` follow it. */
const FOREIGN = "client-go ";
/** The beginning of the `holderIdentity` after a break of a client-go holder's term. */
const BROKEN = "leasehold-break-";
/** The beginning of the `holderIdentity` while a lease is free and its minimum hold has not passed. */
const HOLD = "leasehold-hold-";

/** The `spec` of a Lease: https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/lease-v1/ */
export interface LeaseSpec {
  readonly holderIdentity?: string | null;
  readonly leaseDurationSeconds?: number | null;
  readonly acquireTime?: string | null;
  readonly renewTime?: string | null;
  readonly leaseTransitions?: number | null;
  readonly strategy?: string | null;
  readonly preferredHolder?: string | null;
}

export interface LeaseObject {
  readonly kind?: string;
  readonly metadata?: {
    readonly name?: string;
    readonly resourceVersion?: string;
    readonly annotations?: Readonly<Record<string, string>> | null;
  };
  readonly spec?: LeaseSpec | null;
}

const RELEASED = { holderIdentity: "", leaseDurationSeconds: 1 } as const;

/** The fields of `spec` that every acquisition and renewal changes, whichever program writes it. */
type Binding = readonly [holderIdentity: string, transitions: number, acquireTime: string | null, renewTime: string | null];

/** The facts about a found Lease that the next write needs. They form the record's version, which the engine keeps. */
interface Basis {
  readonly resourceVersion: string;
  readonly binding: Binding;
  readonly termId: string | null;
}

/** @throws {ConfigurationError} unless the election can be the name of a Lease. */
export function checkElection(election: string): void {
  const label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
  if (election.length <= 253 && new RegExp(`^${label}(\\.${label})*$`).test(election)) return;
  throw new ConfigurationError(
    `The election ${JSON.stringify(election)} cannot be the name of a Lease: use at most 253 lower-case letters, digits, '-' and '.', with a letter or a digit at both ends and beside each '.'.`,
    { election },
  );
}

/** Converts a Lease to the engine's form. A record counts only for the `spec` that it was written with. */
export function storedOf({ metadata, spec }: LeaseObject): StoredRecord {
  const found = spec ?? {};
  const binding = bindingOf(found);
  const data = recordOf(metadata?.annotations?.[ANNOTATION], found, binding);
  const { termId = null } = (data ?? {}) as Partial<LeaseRecord>;
  const basis: Basis = { resourceVersion: metadata?.resourceVersion ?? "", binding, termId };
  return { data, version: JSON.stringify(basis) };
}

function bindingOf({ holderIdentity, leaseTransitions, acquireTime, renewTime }: LeaseSpec): Binding {
  return [holderIdentity ?? "", leaseTransitions ?? 0, acquireTime ?? null, renewTime ?? null];
}

function recordOf(annotation: string | undefined, spec: LeaseSpec, binding: Binding): unknown {
  if (spec.strategy || spec.preferredHolder) return { schema: "that of Kubernetes' coordinated election, by spec.strategy" };
  if (annotation === undefined) return foreignRecord(spec, binding);
  const { of, record } = parsed(annotation);
  if (of === undefined) return undefined;
  // If they differ, client-go has replaced `spec` and kept the annotation.
  return JSON.stringify(of) === JSON.stringify(binding) ? record : foreignRecord(spec, binding);
}

/** Returns the record of a Lease whose last writer wrote only `spec`. */
function foreignRecord({ leaseDurationSeconds }: LeaseSpec, binding: Binding): LeaseRecord | undefined {
  const [holder, term, acquireTime] = binding;
  const nonce = JSON.stringify(binding);
  if (holder === "") return vacantRecord({ term, nonce });
  // Without a duration, the end of the lease is unknown.
  if (!leaseDurationSeconds || leaseDurationSeconds < 0) return undefined;
  const record = vacantRecord({ term, candidateId: holder, nonce, leaseDurationMs: leaseDurationSeconds * 1_000 });
  return { ...record, termId: FOREIGN + JSON.stringify([holder, term, acquireTime]) };
}

function parsed(annotation: string): { readonly of?: unknown; readonly record?: unknown } {
  try {
    const value: unknown = JSON.parse(annotation);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}

/** Returns the Lease to create for a record. @throws {ConfigurationError} for a term that a Lease cannot hold. */
export function newLease(election: string, record: LeaseRecord, nowMs: number): LeaseObject {
  const spec = specOf(election, record, undefined, nowMs);
  return { metadata: { name: election, annotations: annotationOf(record, spec) }, spec };
}

/**
 * Returns the merge patch that writes a record on a found version. It changes the annotation and `spec`, and leaves labels and
 * other annotations alone. The patch's `resourceVersion` is the condition of the write:
 * https://github.com/kubernetes/kubernetes/issues/63104
 * @throws {ConfigurationError} for a term that a Lease cannot hold. {UnsupportedError} for a block while a client-go holder has
 * the Lease.
 */
export function leasePatch(
  election: string,
  record: LeaseRecord,
  version: string,
  keepsNonce: boolean,
  nowMs: number,
): LeaseObject {
  const basis = basisOf(version);
  const isForeignHolder = record.termId?.startsWith(FOREIGN) === true;
  if (isForeignHolder && record.bars) throw cannotBind(election);
  const isUnchanged = keepsNonce && !breaksForeign(record, basis);
  const spec = isUnchanged ? undefined : specOf(election, record, basis, nowMs);
  const annotations = annotationOf(record, spec ?? specOfBinding(basis.binding));
  return { metadata: { resourceVersion: basis.resourceVersion, annotations }, ...(spec ? { spec } : {}) };
}

/** Returns the error of a pause or transfer in an election that programs with client-go may join. */
export function cannotBind(election: string): UnsupportedError {
  return new UnsupportedError(
    `A pause or a transfer of '${election}' would not bind programs by client-go, which take any Lease without a holder. Stop those programs first.`,
    { election },
  );
}

/**
 * A version that the engine makes up has no basis. No Lease has `resourceVersion` 1, because etcd's first revision has no keys.
 */
function basisOf(version: string): Basis {
  if (version.startsWith("{")) return JSON.parse(version) as Basis;
  return { resourceVersion: "1", binding: ["", 0, null, null], termId: null };
}

/**
 * Reports whether a write breaks a client-go holder's term. A repair with a reason is no break: it writes a hold and a new term.
 */
function breaksForeign(record: LeaseRecord, { termId, binding }: Basis): boolean {
  const { broken } = record;
  if (!broken || barOf(record, "hold")) return false;
  return termId?.startsWith(FOREIGN) === true && binding[0] !== BROKEN + broken.id;
}

function specOf(election: string, record: LeaseRecord, basis: Basis | undefined, nowMs: number): LeaseSpec {
  const { term, termId, candidateId, nonce, leaseDurationMs, broken } = record;
  if (term > MAX_TRANSITIONS) {
    throw new ConfigurationError(
      `Term ${term} does not fit a Lease: spec.leaseTransitions holds ${MAX_TRANSITIONS} at most. Use an election of another name.`,
      { election },
    );
  }
  if (broken && basis && breaksForeign(record, basis)) {
    // A client-go holder would take back a Lease without a holder at once. So the break names another holder, and the former one
    // stops in time.
    return { ...specOfBinding(basis.binding), holderIdentity: BROKEN + broken.id };
  }
  const renewTime = timeAfter(basis?.binding[3], nowMs);
  if (termId === null) {
    const holdMs = barOf(record, "hold")?.untilMs ?? 0;
    // Without a hold, this equals what client-go writes at a release.
    const holder = holdMs > 0 ? { holderIdentity: HOLD + nonce, leaseDurationSeconds: Math.ceil(holdMs / 1_000) } : RELEASED;
    return { ...holder, acquireTime: renewTime, renewTime, leaseTransitions: term };
  }
  const isRenewal = basis?.termId === termId;
  return {
    // A Go program in this pod may use the pod's name as its identity. Without the `termId` it would believe that it leads.
    holderIdentity: `${candidateId}_${termId}`,
    leaseDurationSeconds: Math.ceil(leaseDurationMs / 1_000),
    acquireTime: isRenewal ? basis.binding[2] : renewTime,
    renewTime,
    leaseTransitions: term,
  };
}

function specOfBinding([holderIdentity, leaseTransitions, acquireTime, renewTime]: Binding): LeaseSpec {
  return { holderIdentity, leaseTransitions, acquireTime, renewTime };
}

function annotationOf(record: LeaseRecord, spec: LeaseSpec): Readonly<Record<string, string>> {
  return { [ANNOTATION]: JSON.stringify({ of: bindingOf(spec), record }) };
}

/**
 * Returns the time to write, in Kubernetes' form with six digits. It is at least a second after the previous time, because
 * client-go compares whole seconds.
 */
function timeAfter(before: string | null | undefined, nowMs: number): string {
  // oxlint-disable-next-line eslint/no-restricted-globals -- reads a text, and no clock
  const lastMs = Date.parse(before ?? "");
  const wallMs = Math.floor(Math.min(Math.max(nowMs, 0), MAX_TIME_MS));
  const nextMs = Number.isNaN(lastMs) ? wallMs : Math.max(wallMs, lastMs + 1_000);
  // At the latest time that fits, goes back a second: the time must only differ.
  return isoOf(nextMs <= MAX_TIME_MS ? nextMs : lastMs - 1_000).replace("Z", "000Z");
}
