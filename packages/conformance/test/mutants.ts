import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { ConfigurationError, isLeaseholdError, StoreError, type LeaseSnapshot, type LeaseStore } from "@leasehold/core";
import { REQUEST_CHANNEL, type StoreRequest } from "@leasehold/core/diagnostics";
import {
  barOf,
  type Clock,
  instantOf,
  RECORD_SCHEMA,
  RecordLeaseStore,
  RecordOccurrenceStore,
  type AcquireRequest,
  type Lease,
  type LeaseRecord,
  type ListedRecord,
  type PutOptions,
  type RecordStore,
  type StoredRecord,
} from "@leasehold/core/provider";
import { kindOf, withBars, type Bar } from "@leasehold/core/testing";
import type { RecordServiceOptions } from "./record-place.ts";

/** A store with one bug. */
export interface Mutant {
  readonly name: string;
  /** The case that must catch it; other cases may catch it, too. */
  readonly caughtBy: string;
  readonly options: RecordServiceOptions;
}

const EXACT = { toleranceMs: 0, exact: true };
const STEPPING = { toleranceMs: 500, exact: false };
const LEASE_MS = 15_000;

export const mutants: readonly Mutant[] = [
  // Mutants of writes.
  mutant("a write drops its condition", "contention", { ignoresVersion: () => true }),
  mutant("a renewal drops its condition", "late-renewal", {
    ignoresVersion: (record, present, ifVersion) =>
      record.termId !== null && ifVersion !== undefined && record.term <= present.term,
  }),
  mutant("an acquisition drops its condition", "late-acquire", {
    ignoresVersion: (record, present) => record.termId !== null && record.termId !== present.termId,
  }),
  mutant("a release drops its condition", "release-late", { ignoresVersion: (record) => record.termId === null }),
  mutant("a late release is carried out", "late-release", { ignoresVersion: (record) => record.termId === null }),
  mutant("the first write ignores what is there", "contention", {
    ignoresVersion: (_record, _present, ifVersion) => ifVersion === undefined,
  }),
  writes("the term is not raised", "acquire-after-release", (record, present) =>
    present && record.termId !== null && record.termId !== present.termId ? { ...record, term: present.term } : record,
  ),
  writes("the term is reset by a release", "release-then-renew", (record) =>
    record.termId === null ? { ...record, term: 0 } : record,
  ),
  wrong("a release deletes the record", "read-vacant", {
    get: (get) => async (election) => {
      const stored = await get(election);
      return (stored?.data as LeaseRecord | undefined)?.termId === null ? undefined : stored;
    },
    put: (put, get) => (election, record, options) =>
      (options.ifVersion === undefined ? unconditionally(put, get) : put)(election, record, options),
  }),
  wrong("the nonce is kept by a renewal", "expiry-restarts", {
    put: (put, get) => async (election, record, options) => {
      const present = (await get(election))?.data as LeaseRecord | undefined;
      const kept = present && record.termId !== null && present.termId === record.termId ? present.nonce : record.nonce;
      return await put(election, { ...record, nonce: kept }, options);
    },
  }),
  writes("a break moves the nonce", "break-waits", (record) =>
    record.broken ? { ...record, nonce: crypto.randomUUID() } : record,
  ),
  writes("a transfer moves the nonce", "transfer-from-the-dead", (record) =>
    barOf(record, "transfer") && record.termId !== null ? { ...record, nonce: crypto.randomUUID() } : record,
  ),
  writes("a break raises the term", "break-waits", (record) => (record.broken ? { ...record, term: record.term + 1 } : record)),
  writes("a renewal drops the value", "renew-keeps-term", (record, present) => {
    const { value: _, ...others } = record;
    return record.termId !== null && record.termId === present?.termId ? others : record;
  }),
  writes("the value is cut short", "values-round-trip", (record) =>
    record.value === undefined ? record : { ...record, value: record.value.slice(0, 500) },
  ),
  writes("the value is trimmed", "values-round-trip", (record) =>
    record.value === undefined ? record : { ...record, value: record.value.trim() },
  ),
  writes("an empty value is dropped", "publish", (record) => {
    const { value, ...others } = record;
    return value === "" ? others : record;
  }),

  // Mutants of reads.
  reads("the rival's own duration counts", "expiry-by-the-record", (record) => ({ ...record, leaseDurationMs: LEASE_MS })),
  reads("leases last half as long for rivals", "expiry-watched", (record) => ({
    ...record,
    leaseDurationMs: record.leaseDurationMs / 2,
  })),
  reads("a break does not close renewal", "break-closes-renewal", ({ broken: _, ...record }) => record),
  reads("a transfer of a vacant lease is not heeded", "transfer-accepted", (record) =>
    record.termId === null ? without("transfer")(record) : record,
  ),
  reads("a transfer never ends", "transfer-expired", changing("transfer", { untilMs: 1e9 })),
  reads("a transfer is to another candidate", "transfer-accepted", changing("transfer", { except: { candidateId: "other" } })),
  wrong("an exact age is overstated", "expiry-store-clock", { get: aged(8_000) }, { storeClock: EXACT }),
  wrong("an age that may step is overstated", "expiry-store-clock", { get: aged(8_000) }, { storeClock: STEPPING }),
  wrong("an exact age is understated", "expiry-store-clock", { get: aged(-4_000) }, { storeClock: EXACT }),
  wrong("foreign data is taken for nothing, and overwritten", "foreign-record", {
    get: (get) => async (election) => {
      const stored = await get(election);
      return (stored?.data as Partial<LeaseRecord> | undefined)?.schema === RECORD_SCHEMA ? stored : undefined;
    },
    put: (put, get) => (election, record, options) =>
      (options.ifVersion === undefined ? unconditionally(put, get) : put)(election, record, options),
  }),
  wrong("a later version's record is taken for ours", "foreign-record", {
    get: (get) => async (election) => {
      const stored = await get(election);
      if ((stored?.data as { schema?: unknown } | undefined)?.schema !== 2) return stored;
      const base = { schema: RECORD_SCHEMA, term: 7, termId: null, candidateId: null, nonce: "n" };
      return stored && { ...stored, data: { ...base, leaseDurationMs: LEASE_MS, renewIntervalMs: LEASE_MS / 3 } };
    },
  }),

  // Mutants of names.
  named("names are folded to lower case", (name) => name.toLowerCase()),
  named("names are folded to upper case", (name) => name.toUpperCase()),
  named("names are composed", (name) => name.normalize("NFC")),
  named("names are composed by compatibility", (name) => name.normalize("NFKC")),
  named("names lose their spaces at the end", (name) => name.trimEnd()),
  named("names lose their spaces", (name) => name.trim()),
  named("names lose their slashes", (name) => name.replaceAll("/", "")),
  named("names are paths", (name) => name.replaceAll(/\/+/g, "/").replace(/^\//, "").replace(/\/$/, "")),
  named("names are compared as a file system does", (name) => name.replace(/\.+$/, "")),
  named("names are decoded", (name) => name.replaceAll("%2F", "/").replaceAll("a/b//c/", "a/b").replaceAll("a/b", "a%2Fb")),
  named("names are cut after 254 characters", (name) => name.slice(0, 254)),
  named("names lose what cannot be seen", (name) => name.replaceAll(/\p{Cf}/gu, "")),
  named("names lose what is not in the basic plane", (name) => name.replaceAll(/[\u{10000}-\u{10ffff}]/gu, "\ufffd")),
  named("names are numbers where they can be", (name) => (/^\d+$/.test(name) ? String(Number(name)) : name)),
  named("all elections are one", () => "one", "two-elections"),

  // Mutants of watches.
  wrong("a watch never wakes", "watch-release", { watch: (watch) => firstOnly(watch) }, { pushes: true }),
  mutant("a watch wakes at every write", "watch-release", { pushes: "every-write" }),
  behaves(
    "a watch leaves its listener behind",
    "watch-ends",
    (store) => ({
      watch: (election, options) => {
        options.signal.addEventListener("abort", () => undefined);
        return store.watch?.(election, options) as never;
      },
    }),
    { pushes: true },
  ),
  behaves(
    "a watch goes on after its signal has aborted",
    "watch-ends",
    (store) => ({
      watch: (election) => store.watch?.(election, { signal: new AbortController().signal }) as never,
    }),
    { pushes: true },
  ),

  // Mutants of calls.
  behaves("a break lets anybody in at once", "break-waits", (store) => ({
    break: (election, options) => store.break(election, { ...options, immediate: true }),
  })),
  behaves("an immediate break waits", "break-immediate", (store) => ({
    break: (election, options) => store.break(election, { ...options, immediate: false }),
  })),
  behaves("a break does not heed ifTerm", "break-if-term", (store) => ({
    break: (election, options) => store.break(election, { ...options, ifTerm: undefined }),
  })),
  behaves("a break forgets its reason", "break-closes-renewal", (store) => ({
    break: (election, options) => store.break(election, { ...options, reason: "-" }),
  })),
  behaves("a transfer does not heed ifTerm", "transfer-if-term", (store) => ({
    transfer: (election, to, options) => store.transfer(election, to, { ...options, ifTerm: undefined }),
  })),
  behaves("a transfer is not told to the leader", "transfer-accepted", (store) => ({
    renew: async (lease, limits) => {
      const outcome = await store.renew(lease, limits);
      return outcome.held ? { held: true, extendedAt: outcome.extendedAt } : outcome;
    },
  })),
  behaves("a transfer says accepted, whoever leads", "transfer-lost", (store) => ({
    transfer: async (election, to, options) => {
      const outcome = await store.transfer(election, to, options);
      return outcome === "lost" && options?.ifTerm === undefined ? "accepted" : outcome;
    },
  })),
  writes("a break leaves the transfer of a leader that has gone", "break-lifts-transfer", (record, present) =>
    record.broken ? keeping("transfer", record, present) : record,
  ),
  writes("a break leaves the transfer of a free lease", "break-lifts-transfer-of-a-free-lease", (record, present) =>
    record.broken ? keeping("transfer", record, present) : record,
  ),
  writes("a break leaves a hold", "break-lifts-hold", (record, present) =>
    record.broken ? keeping("hold", record, present) : record,
  ),
  writes("a second transfer leaves the first", "transfer-again", (record, present) =>
    changing("transfer", { except: present ? (barOf(present, "transfer")?.except ?? null) : null })(record),
  ),
  writes("a transfer drops a hold", "transfer-keeps-hold", (record, present) =>
    barOf(record, "transfer") && present?.termId === null ? without("hold")(record) : record,
  ),
  behaves("a refused break does not say what it has found", "break-refused-shows-transfer", (store) => ({
    break: async (election, options) => {
      const outcome = await store.break(election, options);
      return outcome.broken ? outcome : { broken: false };
    },
  })),
  behaves("a transfer may be too long, and is cut", "transfer-at-most", (store) => ({
    transfer: (election, to, options) =>
      store.transfer(election, to, { ...options, transferTimeoutMs: Math.min(options.transferTimeoutMs ?? 30_000, 600_000) }),
  })),
  writes("a repair does not hold the lease back", "repair", (record) =>
    record.term > 999_999 ? without("hold")(record) : record,
  ),
  behaves("a repair does not raise the term", "repair", (store) => ({
    repair: async (election, options) => {
      const outcome = await store.repair(election, { ...options, minTerm: 2 });
      return outcome.repaired ? { ...outcome, minTerm: options?.minTerm ?? 0 } : outcome;
    },
  })),
  behaves("a break whose reply is lost is given up", "lost-break", (store) => ({
    break: (election, options) => givenUpAt("put", () => store.break(election, options)),
  })),
  behaves("a transfer gives up at the first look that fails", "lost-looks-of-a-transfer", (store) => ({
    transfer: (election, to, options) => givenUpAt("get", () => store.transfer(election, to, options)),
  })),
  behaves("candidateId is taken for ownership", "shared-candidate-id", (store) => ({
    acquire: async (request) => {
      const outcome = await store.acquire(request);
      if (outcome.acquired || outcome.current?.holder !== request.candidateId) return outcome;
      const { election, candidateId, leaseDurationMs } = request;
      const grantedAt = { monotonicMs: 0, wallMs: 0 };
      return {
        acquired: true,
        lease: { election, candidateId, leaseDurationMs, grantedAt, term: outcome.current.term, termId: "t" },
      };
    },
  })),
  behaves("a held lease is an error", "acquire-while-held", (store) => ({
    acquire: async (request) => {
      const outcome = await store.acquire(request);
      if (!outcome.acquired) throw new Error("held by another");
      return outcome;
    },
  })),
  behaves("minTerm is not heeded", "min-term", (store) => ({
    acquire: (request) => store.acquire({ ...request, minTerm: undefined }),
  })),
  behaves("aboveTerm is not heeded", "above-term", (store) => ({
    acquire: (request) => store.acquire({ ...request, aboveTerm: undefined }),
  })),
  behaves("a regressed term is noticed after the win", "above-term", (store) => ({
    acquire: async (request) => {
      const { aboveTerm, ...others } = request;
      const outcome = await store.acquire(others);
      return outcome.acquired && outcome.lease.term <= (aboveTerm ?? 0) ? await store.acquire(request) : outcome;
    },
  })),
  behaves("an acquisition whose outcome is unknown is forgotten", "lost-acquire-replies", forgetful),
  behaves("a renewal takes two requests", "request-counts", (store, records) => ({
    renew: async (lease, limits) => {
      await new RecordLeaseStore(records).read(lease.election);
      return await store.renew(lease, limits);
    },
  })),
  behaves("an acquisition looks first", "request-counts", (store) => ({
    acquire: async (request) => {
      await store.read(request.election);
      return await store.acquire(request);
    },
  })),
  behaves("a look takes two requests", "request-counts", (store) => ({
    read: async (election, options) => {
      await store.read(election, options);
      return await store.read(election, options);
    },
  })),
  behaves("a release is not sent", "acquire-after-release", () => ({ release: () => Promise.resolve("released" as const) })),
  behaves("a release always says released", "release-twice", (store) => ({
    release: async (lease, limits) => {
      await store.release(lease, limits);
      return "released";
    },
  })),
  behaves("a loss is not noticed", "expiry-watched", (store) => ({
    renew: async (lease, limits) => {
      const outcome = await store.renew(lease, limits);
      return outcome.held ? outcome : { held: true };
    },
  })),
  behaves("a broken term does not say that rivals wait", "break-closes-renewal", (store) => ({
    renew: async (lease, limits) => {
      const outcome = await store.renew(lease, limits);
      return outcome.held ? outcome : { ...outcome, barredUntilExpiry: false };
    },
  })),
  behaves("a missing record is said to be taken", "record-missing", (store) => ({
    renew: async (lease, limits) => {
      const outcome = await store.renew(lease, limits);
      return outcome.held ? outcome : { ...outcome, reason: "taken" as const };
    },
  })),
  behaves("a lease counts from the reply", "counts-from-send", (store, _, clock) => ({
    acquire: async (request) => {
      const outcome = await store.acquire(request);
      if (outcome.acquired) Object.assign(outcome.lease, { grantedAt: instantOf(clock) });
      return outcome;
    },
  })),
  behaves("a renewal counts from the reply", "counts-from-send", (store, _, clock) => ({
    renew: async (lease, limits) => {
      const outcome = await store.renew(lease, limits);
      return outcome.held ? { ...outcome, extendedAt: instantOf(clock) } : outcome;
    },
  })),
  behaves("a renewal does not say from when it counts", "renew-keeps-term", (store) => ({
    renew: async (lease, limits) => {
      const outcome = await store.renew(lease, limits);
      return outcome.held ? { held: true } : outcome;
    },
  })),
  behaves("a cold reader calls a lease expired", "expiry-cold-reader", (store) => ({
    read: async (election, options) => {
      const seen = await store.read(election, options);
      return seen?.state === "unknown" ? { ...seen, state: "expired" as const } : seen;
    },
  })),
  behaves("a vacant lease still names its holder", "read-vacant", (store) => ({
    read: async (election, options) => {
      const seen = await store.read(election, options);
      return seen?.state === "vacant" ? { ...seen, holder: "a" } : seen;
    },
  })),
  behaves("reading makes a record", "acquire-on-nothing", (store) => ({
    read: async (election, options) => (await store.read(election, options)) ?? { election, state: "vacant" as const, term: 0 },
  })),
  behaves("the next look is too late", "next-look", (store) => ({
    nextLookMs: (election, retryPeriodMs) => 2 * store.nextLookMs(election, retryPeriodMs),
  })),
  behaves("another store's lease is taken for one's own", "another-stores-lease", (store) => ({
    renew: async (lease, limits) =>
      await store.renew(lease, limits).catch((error: unknown) => {
        if (isLeaseholdError(error, "CONFIGURATION")) return { held: true } as const;
        throw error;
      }),
  })),
  behaves("values may be longer than they say", "values-refused", (store) => ({
    capabilities: { ...store.capabilities, maxValueBytes: store.capabilities.maxValueBytes - 1 },
  })),
  behaves("values must be shorter than they say", "values-round-trip", (store) => ({
    capabilities: { ...store.capabilities, maxValueBytes: store.capabilities.maxValueBytes + 1 },
  })),
  behaves("the shortest lease is shorter than it says", "lease-limits", (store) => ({
    capabilities: { ...store.capabilities, minLeaseMs: 1_000 },
  })),
  behaves("a bad name is looked up all the same", "names-refused", (store) => ({
    read: async (election, options) =>
      await store.read(election, options).catch((error: unknown) => {
        if (isLeaseholdError(error, "CONFIGURATION")) return undefined;
        throw error;
      }),
  })),

  // Mutants of errors, time limits and signals.
  behaves("an error of the service is passed on as it is", "unreachable", (store) => ({
    read: async (election, options) =>
      await store.read(election, options).catch((error: unknown) => {
        throw isStoreError(error) ? new Error("ECONNRESET") : error;
      }),
  })),
  behaves("a failed write says that it was not applied", "lost-renewal", (store) => ({
    renew: async (lease, limits) =>
      await store.renew(lease, limits).catch((error: unknown) => {
        if (!isStoreError(error)) throw error;
        const { store: name, operation } = error;
        throw new StoreError("STORE_TIMEOUT", error.message, { store: name, operation, mayHaveBeenApplied: false });
      }),
  })),
  behaves("a failed renewal is said to be a loss", "lost-renewal", (store) => ({
    renew: async (lease, limits) =>
      await store.renew(lease, limits).catch(() => ({
        held: false,
        reason: "taken" as const,
        barredUntilExpiry: false,
        explanation: "",
      })),
  })),
  behaves("the time limit is not heeded", "unreachable", (store) => ({
    renew: (lease, { timeoutMs }) => store.renew(lease, { timeoutMs: 3 * timeoutMs }),
  })),
  behaves("a call is tried again by itself", "unreachable", (store) => ({
    read: async (election, options) => await store.read(election, options).catch(() => store.read(election, options)),
  })),
  behaves("a read cannot be called off", "abort-read-unanswered", (store) => ({
    read: (election, options) => store.read(election, { ...options, signal: undefined }),
  })),
  behaves("a read that is called off fails in its own way", "abort-read", (store) => ({
    read: async (election, options) =>
      await store.read(election, options).catch((error: unknown) => {
        throw options?.signal?.aborted ? new DOMException("Aborted", "AbortError") : error;
      }),
  })),
  behaves("a read leaves its listener behind", "abort-read", (store) => ({
    read: (election, options) => {
      options?.signal?.addEventListener("abort", () => undefined);
      return store.read(election, options);
    },
  })),
  behaves("a transfer cannot be called off", "abort-transfer", (store) => ({
    transfer: (election, to, options) => store.transfer(election, to, { ...options, signal: undefined }),
  })),
  mutant("a clock runs twice as fast", "expiry-watched", {
    store: (_, records, clock) => new RecordLeaseStore(records, { clock: faster(clock) }),
  }),

  // Mutants that electors reveal.
  behaves("a candidate's own ghost bars it", "leading-lost-reply", forgetful),
  behaves("a win that nobody wants is kept", "leading-lost-reply", (store) => {
    const led = new Set<Lease>();
    return {
      renew: async (lease, limits) => {
        led.add(lease);
        return await store.renew(lease, limits);
      },
      release: async (lease, limits) =>
        lease.candidateId === "a" && !led.has(lease) ? "released" : await store.release(lease, limits),
    };
  }),
  behaves("a renewal that hangs is taken for a good one", "leading-hanging-renewals", hopeful),
  behaves("a renewal that fails is taken for a good one", "leading-outage", hopeful),
  mutant("a renewal that hung is carried out after all", "leading-hanging-renewals", {
    ignoresVersion: (record, present, ifVersion) =>
      record.termId !== null && ifVersion !== undefined && record.term <= present.term,
  }),
  behaves("a store that has failed often gives up", "leading-outage", (store) => {
    let failures = 0;
    return {
      read: async (election, options) => {
        if (failures > 5) throw unavailable();
        return await store.read(election, options).catch((error: unknown) => {
          failures += 1;
          throw error;
        });
      },
    };
  }),
  behaves("an outage is said to be a mistake of the caller's", "leading-outage", (store) => ({
    read: async (election, options) =>
      await store.read(election, options).catch((error: unknown) => {
        throw isStoreError(error) ? new ConfigurationError("The service cannot be reached.") : error;
      }),
  })),
  mutant("rivals count by the wall clock", "leading-wall-clock-jumps", {
    store: (_, records, clock) => new RecordLeaseStore(records, { clock: countingByTheWall(clock) }),
  }),
  behaves("a grant is stamped by the monotonic clock alone", "leading-suspended", (store) => ({
    acquire: async (request) => {
      const outcome = await store.acquire(request);
      if (outcome.acquired) Object.assign(outcome.lease, { grantedAt: { ...outcome.lease.grantedAt, wallMs: Infinity } });
      return outcome;
    },
    renew: async (lease, limits) => {
      const outcome = await store.renew(lease, limits);
      if (!outcome.held || !outcome.extendedAt) return outcome;
      return { ...outcome, extendedAt: { ...outcome.extendedAt, wallMs: Infinity } };
    },
  })),
  behaves("a renewal that a read shows extends the lease, though a failover may undo it", "lost-renewal-reply", (store) => ({
    capabilities: { ...store.capabilities, showsUndurable: true },
  })),
  mutant("a paused leader's release frees its successor's lease", "leading-release-after-takeover", {
    ignoresVersion: (record) => record.termId === null,
  }),
  mutant("a release that is said to be too late frees the successor's lease", "leading-release-after-takeover", {
    ignoresVersion: (record) => record.termId === null,
    store: (store) => ({
      ...whole(store),
      release: async (lease, limits) => {
        await store.release(lease, limits);
        return "not-held";
      },
    }),
  }),
  behaves("a takeover does not raise the term", "leading-stubborn-task", (store) => ({
    acquire: async (request) => {
      const seen = await store.read(request.election);
      const outcome = await store.acquire(request);
      if (outcome.acquired && seen?.state === "expired") Object.assign(outcome.lease, { term: seen.term });
      return outcome;
    },
  })),
  mutant("the fence lets everybody pass", "leading-stubborn-task", { fence: () => true }),
  mutant("the fence checks the election alone", "leading-stale-write", { fence: (_, record) => record !== undefined }),
  mutant("the fence is open once the lease is vacant", "leading-stale-write", {
    fence: ({ termId }, record) => record?.termId === null || record?.termId === termId,
  }),
  mutant("the fence lets no leader pass", "leading-stale-write", { fence: () => false }),
  wrong("a dead leader's lease is never old enough", "leading-cold-takeover", { get: aged(-1e9) }, { storeClock: EXACT }),
  wrong("a dead leader's lease is old too soon", "leading-cold-takeover", { get: aged(3_000) }, { storeClock: EXACT }),
  writes("a release forgets the term", "leading-thousand-terms", (record) =>
    record.termId === null ? { ...record, term: 0 } : record,
  ),
  writes("a break forgets the term", "leading-thousand-terms", (record) =>
    record.termId === null && record.broken ? { ...record, term: 0 } : record,
  ),
  wrong("a renewal makes a deleted record again", "leading-deleted-record", {
    put: (put, get) => async (election, record, options) => {
      const isGone = (await get(election)) === undefined;
      return await put(election, record, isGone ? { ...options, ifVersion: undefined } : options);
    },
  }),
  behaves("a deleted record is not missed", "leading-deleted-record", (store) => {
    let last: LeaseSnapshot | undefined;
    return { read: async (election, options) => (last = (await store.read(election, options)) ?? last) };
  }),

  // Mutants of pauses.
  writes("a release drops a pause", "pause", (record) => (record.termId === null ? without("pause")(record) : record)),
  writes("a renewal drops a pause", "pause", (record, present) =>
    record.termId !== null && record.nonce !== present?.nonce ? without("pause")(record) : record,
  ),
  writes("a break lifts a pause", "pause", (record) => (record.broken ? without("pause")(record) : record)),
  reads("a pause is not heeded", "pause-of-nothing", without("pause")),
  behaves("a pause says that it is new, always", "pause", (store) => ({
    pause: async (election, options) => ({ ...(await store.pause(election, options)), isNew: true }),
  })),

  // Mutants of holds and reservations.
  writes("a hold is forgotten", "hold", without("hold")),
  behaves("a hold never ends", "hold", (store) => ({
    release: async (lease, options) =>
      await store.release(lease, options.holdMs === undefined ? options : { ...options, holdMs: 100 * options.holdMs }),
  })),
  behaves("a hold leaves the term to run out", "hold", (store) => ({
    release: async (lease, options) => (options.holdMs === undefined ? await store.release(lease, options) : "released"),
  })),
  mutant("a late hold is carried out", "hold-late", {
    ignoresVersion: (record) => record.termId === null && barOf(record, "hold") !== undefined,
  }),
  turns("a release ends the reservation", "reservation", (record) =>
    record.termId === null ? without("reservation")(record) : record,
  ),
  turns("a reservation is anybody's", "reservation", changing("reservation", { except: { group: "east" } })),
  turns("a reservation lasts ten times as long", "reservation-ends", changing("reservation", { untilMs: 20 * LEASE_MS })),
  turns("a break leaves the reservation", "reservation-broken", (record, present) =>
    present?.termId === null && record.broken ? keeping("reservation", { ...record, broken: undefined }, present) : record,
  ),

  // Mutants of lists.
  lists(
    "a list sends nothing",
    "list-empty",
    (list) => (prefix, options) =>
      list(prefix, { ...options, request: (send) => send({ signal: new AbortController().signal }) }),
  ),
  lists(
    "a list begins with a request in vain",
    "list-empty",
    (list) =>
      async function* (prefix, options) {
        await options.request(() => Promise.resolve());
        yield* list(prefix, options);
      },
  ),
  lists(
    "a list takes a request for each entry",
    "list-states",
    (list) =>
      async function* (prefix, options) {
        for await (const entry of list(prefix, options)) {
          await options.request(() => Promise.resolve());
          yield entry;
        }
      },
  ),
  lists("a list leaves out elections without a leader", "list-states", (list) =>
    filtered(list, ({ stored }) => (stored.data as Partial<LeaseRecord>).termId !== null),
  ),
  lists(
    "a list ends with its first page",
    "list-pages",
    (list) =>
      async function* (prefix, options) {
        let left = options.pageSize;
        for await (const entry of list(prefix, options)) {
          yield entry;
          left -= 1;
          if (left === 0) return;
        }
      },
  ),
  lists(
    "a page begins with the last entry of the one before",
    "list-pages",
    (list) =>
      async function* (prefix, options) {
        let count = 0;
        for await (const entry of list(prefix, options)) {
          count += 1;
          if (count === options.pageSize) yield entry;
          yield entry;
        }
      },
  ),
  lists("a prefix is a pattern", "list-prefix", (list) =>
    filteredByPrefix(list, (prefix) => {
      const escaped = prefix.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
      const pattern = new RegExp(`^${escaped.replaceAll("%", ".*").replaceAll("_", ".")}`, "us");
      return (name) => pattern.test(name);
    }),
  ),
  lists("a prefix is compared without case", "list-prefix", (list) =>
    filteredByPrefix(list, (prefix) => (name) => name.toLowerCase().startsWith(prefix.toLowerCase())),
  ),
  lists("a prefix is composed", "list-prefix", (list) =>
    filteredByPrefix(list, (prefix) => (name) => name.normalize("NFC").startsWith(prefix.normalize("NFC"))),
  ),
  lists("a list ends at the prefix and U+FFFF", "list-prefix", (list) =>
    filteredByPrefix(
      list,
      (prefix) => (name) => name.startsWith(prefix) && Buffer.compare(Buffer.from(name), Buffer.from(`${prefix}\uffff`)) < 0,
    ),
  ),
  lists("a prefix is heeded in no way", "list-prefix", (list) => filteredByPrefix(list, () => () => true)),
  lists("a list finds no names that a document's id cannot have", "list-prefix", (list) =>
    filtered(list, ({ election }) => !/^(\.{1,2}|__.*__)$/.test(election)),
  ),
  lists("a list leaves out what is foreign", "list-foreign", (list) =>
    filtered(list, ({ stored }) => (stored.data as Partial<LeaseRecord>).schema === RECORD_SCHEMA),
  ),
  behaves("a list fails at what is foreign", "list-foreign", (store) => ({
    async *list(prefix, options) {
      for await (const entry of store.list(prefix, options)) {
        if (entry.state === "foreign") await store.read(entry.election);
        yield entry;
      }
    },
  })),
  mutant("a list has occurrences", "list-occurrences", { listsOccurrences: true }),
  behaves("a list does not heed its signal", "list-abort", (store) => ({
    list: (prefix, options) => store.list(prefix, { timeoutMs: options?.timeoutMs }),
  })),
  behaves("a list heeds its signal at its requests alone", "list-abort", (store) => ({
    async *list(prefix, options) {
      options?.signal?.throwIfAborted();
      yield* store.list(prefix, { timeoutMs: options?.timeoutMs });
    },
  })),
  behaves("a list leaves its listener behind", "list-abort", (store) => ({
    list: (prefix, options) => {
      options?.signal?.addEventListener("abort", () => undefined);
      return store.list(prefix, options);
    },
  })),
  behaves("a list that fails looks empty", "list-unanswered", (store) => ({
    async *list(prefix, options) {
      try {
        yield* store.list(prefix, options);
      } catch (error) {
        if (!isStoreError(error)) throw error;
      }
    },
  })),
  behaves("a list by a bad prefix is empty", "list-refused", (store) => ({
    list: (prefix, options) => {
      try {
        return store.list(prefix, options);
      } catch {
        return (async function* (): AsyncGenerator<never> {})();
      }
    },
  })),

  // Mutants of occurrences.
  writes("that an occurrence is done is forgotten", "occurrence-done", ({ done: _, ...record }) => record),
  writes("the completion of an occurrence is forgotten", "occurrence-completion", ({ value, ...record }) =>
    record.done || value === undefined ? record : { ...record, value },
  ),
  writes("the value of a claim stays beside its completion", "occurrence-completion", (record, present) => {
    const claimed = (present as { readonly value?: string } | undefined)?.value;
    return record.done && claimed !== undefined ? { ...record, value: claimed } : record;
  }),
  writes("an attempt has the number of the one before", "occurrence-failed", (record, present) =>
    present && record.termId !== null ? { ...record, term: present.term } : record,
  ),
  mutant("a claim that was taken over is completed", "occurrence-taken-over", {
    storeClock: EXACT,
    ignoresVersion: (record) => record.done === true,
  }),
  mutant("a claim does not look whether there is one", "occurrence-contention", {
    ignoresVersion: (record) => record.term === 1,
  }),
  mutant("an election can be completed", "occurrences-apart", {
    store: (_, records, clock) => new RecordOccurrenceStore(records, { clock }),
  }),
];

type Get = (election: string) => Promise<StoredRecord | undefined>;
type Put = RecordStore["put"];
type Watch = NonNullable<RecordStore["watch"]>;
type List = NonNullable<RecordStore["list"]>;

interface Changes {
  readonly get?: (get: Get) => Get;
  readonly put?: (put: Put, get: Get) => Put;
  readonly watch?: (watch: Watch) => Watch;
  readonly list?: (list: List) => List;
}

function mutant(name: string, caughtBy: string, options: RecordServiceOptions): Mutant {
  return { name, caughtBy, options };
}

/** Returns a mutant that sends wrong requests, or misreads replies. */
function wrong(name: string, caughtBy: string, changes: Changes, service: RecordServiceOptions = {}): Mutant {
  return mutant(name, caughtBy, { ...service, records: (records) => changed(records, changes) });
}

function writes(
  name: string,
  caughtBy: string,
  change: (record: LeaseRecord, present: LeaseRecord | undefined) => LeaseRecord,
): Mutant {
  return wrong(name, caughtBy, {
    put: (put, get) => async (election, record, options) => {
      const present = (await get(election))?.data as LeaseRecord | undefined;
      return await put(election, change(record, present), options);
    },
  });
}

/** Returns a mutant of a service with an exact clock, for holds and reservations. */
function turns(
  name: string,
  caughtBy: string,
  change: (record: LeaseRecord, present: LeaseRecord | undefined) => LeaseRecord,
): Mutant {
  const { options } = writes(name, caughtBy, change);
  return mutant(name, caughtBy, { ...options, storeClock: EXACT });
}

type BarKind = ReturnType<typeof kindOf>;

/** Returns a function that drops a record's block of this kind. */
function without(kind: BarKind): (record: LeaseRecord) => LeaseRecord {
  return (record) =>
    withBars(
      record,
      (record.bars ?? []).filter((bar) => kindOf(bar) !== kind),
    );
}

/** Returns a function that changes a record's block of this kind, if it has one. */
function changing(kind: BarKind, changes: Partial<Bar>): (record: LeaseRecord) => LeaseRecord {
  return (record) =>
    withBars(
      record,
      (record.bars ?? []).map((bar) => (kindOf(bar) === kind ? { ...bar, ...changes } : bar)),
    );
}

/** Returns a record with the block of this kind of the record before. */
function keeping(kind: BarKind, record: LeaseRecord, before: LeaseRecord | undefined): LeaseRecord {
  return withBars(record, [...(record.bars ?? []), before && barOf(before, kind)]);
}

function reads(name: string, caughtBy: string, change: (record: LeaseRecord) => LeaseRecord): Mutant {
  return wrong(name, caughtBy, {
    get: (get) => async (election) => {
      const stored = await get(election);
      return (
        stored && {
          ...stored,
          data: (stored.data as Partial<LeaseRecord>).schema === RECORD_SCHEMA ? change(stored.data as LeaseRecord) : stored.data,
        }
      );
    },
  });
}

function named(name: string, fold: (election: string) => string, caughtBy = "names-round-trip"): Mutant {
  return wrong(name, caughtBy, {
    get: (get) => (election) => get(fold(election)),
    put: (put) => (election, record, options) => put(fold(election), record, options),
  });
}

/** Returns a mutant with a wrong list. */
function lists(name: string, caughtBy: string, list: (list: List) => List): Mutant {
  return wrong(name, caughtBy, { list });
}

/** Returns a list of the records that pass the test. */
function filtered(list: List, passes: (record: ListedRecord) => boolean): List {
  return async function* (prefix, options) {
    for await (const entry of list(prefix, options)) if (passes(entry)) yield entry;
  };
}

/** Returns a list of the records whose names pass the test of the prefix. */
function filteredByPrefix(list: List, testOf: (prefix: string) => (name: string) => boolean): List {
  return (prefix, options) => filtered(list, ({ election }) => testOf(prefix)(election))("", options);
}

/** Returns a mutant with wrong calls. */
function behaves(
  name: string,
  caughtBy: string,
  change: (store: LeaseStore, records: RecordStore, clock: Clock) => Partial<LeaseStore>,
  service: RecordServiceOptions = {},
): Mutant {
  return mutant(name, caughtBy, {
    ...service,
    store: (store, records, clock) => ({ ...whole(store), ...change(store, records, clock) }),
  });
}

/** Runs a call, and fails as soon as a request of the operation `failing` fails. */
async function givenUpAt<T>(failing: string, call: () => Promise<T>): Promise<T> {
  const failure = Promise.withResolvers<never>();
  const note = (message: unknown): void => {
    const { store, election, operation, outcome } = message as StoreRequest;
    const details = { store, election, operation, mayHaveBeenApplied: true };
    if (operation === failing && outcome !== "ok") failure.reject(new StoreError("STORE_TIMEOUT", "given up", details));
  };
  subscribe(REQUEST_CHANNEL, note);
  const outcome = call();
  outcome.catch(() => undefined);
  failure.promise.catch(() => undefined);
  return await Promise.race([outcome, failure.promise]).finally(() => unsubscribe(REQUEST_CHANNEL, note));
}

/** Returns the store as a separate object, so that some of its calls can be replaced. */
function whole(store: LeaseStore): LeaseStore {
  return {
    name: store.name,
    capabilities: store.capabilities,
    acquire: (request: AcquireRequest) => store.acquire(request),
    renew: (lease: Lease, limits) => store.renew(lease, limits),
    publish: (lease, value, limits) => store.publish(lease, value, limits),
    release: (lease, limits) => store.release(lease, limits),
    read: (election, options) => store.read(election, options),
    check: (options) => store.check(options),
    list: (prefix, options) => store.list(prefix, options),
    nextLookMs: (election, retryPeriodMs) => store.nextLookMs(election, retryPeriodMs),
    break: (election, options) => store.break(election, options),
    transfer: (election, to, options) => store.transfer(election, to, options),
    repair: (election, options) => store.repair(election, options),
    pause: (election, options) => store.pause(election, options),
    resume: (election, options) => store.resume(election, options),
    ...(store.watch ? { watch: (election, options) => store.watch?.(election, options) as never } : {}),
  };
}

function changed(records: RecordStore, { get, put, watch, list }: Changes): RecordStore {
  const signal = new AbortController().signal;
  const plainGet: Get = (election) => records.get(election, { signal, consistent: true });
  const plainPut: Put = (election, record, options) => records.put(election, record, options);
  const plainWatch: Watch | undefined = records.watch && ((election, options) => records.watch?.(election, options) as never);
  const plainList: List | undefined = records.list && ((prefix, options) => records.list?.(prefix, options) as never);
  const changedGet = get?.(plainGet) ?? plainGet;
  return {
    name: records.name,
    capabilities: records.capabilities,
    get: (election) => changedGet(election),
    put: put?.(plainPut, plainGet) ?? plainPut,
    ...(plainList ? { list: list?.(plainList) ?? plainList } : {}),
    ...(plainWatch ? { watch: watch?.(plainWatch) ?? plainWatch } : {}),
  };
}

function unconditionally(put: Put, get: Get): Put {
  return async (election, record, options: PutOptions) => {
    for (;;) {
      const outcome = await put(election, record, { ...options, ifVersion: (await get(election))?.version });
      if (outcome.stored) return outcome;
    }
  };
}

function aged(byMs: number): (get: Get) => Get {
  return (get) => async (election) => {
    const stored = await get(election);
    if (!stored?.nonceAgeMs) return stored;
    const [min, max] = stored.nonceAgeMs;
    return { ...stored, nonceAgeMs: [Math.max(min + byMs, 0), Math.max(max + byMs, 0)] };
  };
}

function firstOnly(watch: Watch): Watch {
  return async function* (election, options) {
    for await (const _ of watch(election, options)) {
      yield;
      break;
    }
    await new Promise<void>((resolve) => {
      if (options.signal.aborted) resolve();
      else options.signal.addEventListener("abort", () => resolve(), { once: true });
    });
  };
}

/** Returns the calls of a store that takes a missing answer for a success. */
function hopeful(store: LeaseStore, _: RecordStore, clock: Clock): Partial<LeaseStore> {
  return {
    renew: async (lease, limits) =>
      await store.renew(lease, limits).catch(() => ({ held: true, extendedAt: instantOf(clock) }) as const),
  };
}

/** Returns the calls of a store that forgets that an acquisition of its own may have been carried out. */
function forgetful(store: LeaseStore, records: RecordStore, clock: Clock): Partial<LeaseStore> {
  let inner = store;
  return {
    acquire: async (request) => {
      try {
        return await inner.acquire(request);
      } catch (error) {
        inner = new RecordLeaseStore(records, { clock });
        throw error;
      }
    },
    read: (election, options) => inner.read(election, options),
  };
}

function countingByTheWall(clock: Clock): Clock {
  const aheadMs = clock.wallMs() - clock.monotonicMs();
  return {
    monotonicMs: () => clock.wallMs() - aheadMs,
    wallMs: () => clock.wallMs(),
    setTimer: (callback, delayMs) => clock.setTimer(callback, delayMs),
    random: () => clock.random(),
    randomUuid: () => clock.randomUuid(),
  };
}

function unavailable(): StoreError {
  return new StoreError("STORE_UNAVAILABLE", "The store has given up.", {
    store: "records",
    operation: "get",
    mayHaveBeenApplied: false,
  });
}

function faster(clock: Clock): Clock {
  return {
    monotonicMs: () => 2 * clock.monotonicMs(),
    wallMs: () => clock.wallMs(),
    setTimer: (callback, delayMs) => clock.setTimer(callback, delayMs),
    random: () => clock.random(),
    randomUuid: () => clock.randomUuid(),
  };
}

function isStoreError(error: unknown): error is StoreError {
  return isLeaseholdError(error) && error.code.startsWith("STORE_");
}
