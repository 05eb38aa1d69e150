import { isLeaseholdError, timing, type LeaseSnapshot, type LeaseStore, type TimingReport } from "@leasehold/core";
import { asSentence, membersText } from "@leasehold/core/provider";
import { formatDuration } from "./duration.ts";
import { barText, isLost, look } from "./snapshots.ts";
import { creationOf, localWarningsOf } from "./store-url/store-from-url.ts";
import { shownStoreUrl } from "./store-url/store-url.ts";
import type { ProcessEnvironment } from "./verb.ts";
import { messageText, printable } from "./text.ts";

/** The result of one check. */
export interface Finding {
  /** `store`, `system`, `disk`, `lease`, `access`, `settings`, `member` or `election`. */
  readonly check: string;
  readonly outcome: "ok" | "warning" | "failed";
  /** A sentence that states the fact and, after a warning or a failure, the remedy. */
  readonly message: string;
  /** Shell commands or SQL statements that may help, one per line. */
  readonly advice?: readonly string[] | undefined;
  /** The error of a failed check. */
  readonly error?: unknown;
}

/** The configuration that `doctor` checks. */
export interface DoctorTarget {
  readonly url: string;
  readonly election: string;
  readonly leaseDurationMs: number | undefined;
}

/** Yields one finding per check, and stops at the first failure. Checks without a request to the store come first. */
export async function* diagnose(
  patient: DoctorTarget,
  environment: ProcessEnvironment,
): AsyncGenerator<Finding, void, undefined> {
  const { url, election, leaseDurationMs } = patient;
  const opened = await tried("store", async () => await environment.openStore(url));
  if ("failure" in opened) return yield opened.failure;
  await using store = opened.result;
  yield { check: "store", outcome: "ok", message: `${shownStoreUrl(url)}: the package of ${store.name} is installed.` };
  if (environment.platform === "win32") yield NO_PROCESS_GROUPS;
  for (const message of await localWarningsOf(url)) yield { check: "disk", outcome: "warning", message };

  const timed = await tried("lease", async () => await Promise.resolve(timing({ leaseDurationMs }, store.capabilities)));
  if ("failure" in timed) return yield timed.failure;
  yield { check: "lease", outcome: "ok", message: leaseText(timed.result) };

  let fenceTerm: number | undefined;
  const checked = await tried("access", async () => await store.check({ election }));
  if ("failure" in checked) {
    // `VotingObserver` refuses the check: this process is none of the voting servers. It can still read and give orders.
    if (!isLeaseholdError(checked.failure.error, "UNSUPPORTED")) return yield await withAdvice(checked.failure, url, store);
    yield { check: "access", outcome: "ok", message: checked.failure.message };
  } else {
    ({ fenceTerm } = checked.result);
    yield accessOf(checked.result, timed.result);
    for (const message of checked.result.warnings ?? []) {
      yield { check: "settings", outcome: "warning", message: messageText(message) };
    }
  }
  const absent = store.members && membersText(store.members(), "members of the store");
  if (absent !== undefined) yield { check: "member", outcome: "warning", message: messageText(absent) };

  const seen = await tried("election", async () => {
    const snapshot = await look(store, election);
    if (snapshot === undefined) return standingOf(election, snapshot);
    if (await isLost(store, snapshot)) return lostFinding(snapshot);
    // The fence was read before the record. An acquisition between the two reads raises only the record's term.
    if (fenceTerm !== undefined && fenceTerm > snapshot.term) return behindFinding(snapshot, fenceTerm);
    return standingOf(election, snapshot);
  });
  yield "failure" in seen ? seen.failure : seen.result;
}

const NO_PROCESS_GROUPS: Finding = {
  check: "system",
  outcome: "warning",
  message: "`leasehold run` needs process groups, which Windows has not; the other verbs work here.",
};

type Tried<Result> = { readonly result: Result } | { readonly failure: Finding };

async function tried<Result>(check: string, act: () => Promise<Result>): Promise<Tried<Result>> {
  try {
    return { result: await act() };
  } catch (error) {
    const message = messageText(error instanceof Error ? error.message : String(error));
    return { failure: { check, outcome: "failed", message: asSentence(message), error } };
  }
}

async function withAdvice(failure: Finding, url: string, store: LeaseStore): Promise<Finding> {
  const { error, message } = failure;
  if (isLeaseholdError(error, "STORE_MISSING")) return { ...failure, advice: await creationOf(url, store) };
  const isSilent = isLeaseholdError(error, "STORE_UNAVAILABLE") || isLeaseholdError(error, "STORE_TIMEOUT");
  if (!isSilent) return failure;
  const advice = url.startsWith("sqlite:")
    ? "Check the disk: its free space, its quota, and whether it is mounted read-only."
    : "Check the host, its port, and the way there: DNS, firewall, proxy.";
  return { ...failure, message: `${message} ${advice}` };
}

function leaseText({ leaseDurationMs, crashFailoverMs, outageToleratedMs }: TimingReport): string {
  return `A lease of ${formatDuration(leaseDurationMs)} fits: after a crash another leads within ${formatDuration(crashFailoverMs)}, and an outage of ${formatDuration(outageToleratedMs)} deposes nobody.`;
}

function accessOf({ readMs, writeMs }: { readonly readMs: number; readonly writeMs: number }, report: TimingReport): Finding {
  const times = `It answers, and lets this process write: a read took ${formatDuration(readMs)}, a write ${formatDuration(writeMs)}`;
  const mostMs = report.attemptTimeoutMs / 2;
  if (Math.max(readMs, writeMs) <= mostMs) return { check: "access", outcome: "ok", message: `${times}.` };
  const advice = `the times above are kept where it answers within ${formatDuration(mostMs)}. Ask again, from where the candidates are; or take a longer lease.`;
  return { check: "access", outcome: "warning", message: `${times}, and ${advice}` };
}

function lostFinding({ election, term }: LeaseSnapshot): Finding {
  const message = `The record of '${printable(election)}' is gone; its fence shows term ${term}. If a backup is to be restored, pause the election first. leasehold repair writes a new record.`;
  return { check: "election", outcome: "warning", message };
}

function behindFinding({ election, term }: LeaseSnapshot, fenceTerm: number): Finding {
  const message = `The record of '${printable(election)}' shows term ${term}, and its fence term ${fenceTerm}: the record was restored from a backup, or is of another database. Stop the candidates, then leasehold repair writes a new record.`;
  return { check: "election", outcome: "warning", message };
}

function standingOf(election: string, snapshot: LeaseSnapshot | undefined): Finding {
  const name = `'${printable(election)}'`;
  if (snapshot === undefined) {
    return { check: "election", outcome: "ok", message: `Nobody has ever led ${name}.` };
  }
  const { state, term, holder = "" } = snapshot;
  const standing = {
    held: `${printable(holder)} leads ${name} in term ${term}.`,
    ending: `${printable(holder)} is about to end term ${term} of ${name}.`,
    unknown: `${printable(holder)} led ${name} last, in term ${term}; whether it still does, one look cannot tell.`,
    expired: `Nobody leads ${name}: ${printable(holder)} has not renewed term ${term}.`,
    vacant: `Nobody leads ${name}; its last term was ${term}.`,
  }[state];
  const bar = barText(snapshot);
  // Neither a lease nor the reason of a broken term is a warning. A term keeps this reason after its end.
  if (snapshot.bar === undefined || bar === "") return { check: "election", outcome: "ok", message: standing };
  const lifted = snapshot.bar.kind === "pause" ? "resume lifts" : "break lifts";
  return { check: "election", outcome: "warning", message: `${standing} It is kept from others (${bar}); ${lifted} that.` };
}
