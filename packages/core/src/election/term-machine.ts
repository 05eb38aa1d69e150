import { isLeaseholdError, LeadershipEndedError, LeaseLostError, type LossReason, type StoreError } from "../reporting/errors.ts";
import { SAFETY_MARGIN } from "../store/lease-limits.ts";
import type { RenewOutcome } from "../store/lease-store.ts";
import { elapsedMs, type Instant } from "../time/clock.ts";
import { nextGridMs, retryInMs, sinceGrantMs, toDeadlineMs, toLastTryMs } from "./renewal-timing.ts";
import type { Renewal, TermEffect, TermEvent, TermPlan, TermState, TermStep } from "./term-state.ts";

/** The longest time between two checks of the clocks. Timers stand still on a suspended machine, and the wall clock may jump. */
const CLOCK_CHECK_MS = 1_000;
/** The shortest wait. A shorter one may be a rounding error, and would repeat for ever in virtual time. */
const ROUNDING_MS = 1e-7;

const CLOSED: Renewal = { is: "closed" };

export function beginTerm(plan: TermPlan, now: Instant): TermState {
  const { grantedAt } = plan.lease;
  return {
    plan,
    phase: "leading",
    grantedAt,
    renewal: dueAt(plan, nextGridMs({ plan, grantedAt })),
    failures: 0,
    checkpointMs: now.monotonicMs,
    drain: undefined,
    over: undefined,
    isStopping: false,
    completion: "not-sent",
  };
}

/**
 * Returns the term after one event, and the effects to carry out. It reads no clock, sends no request and changes no argument.
 * @param lateMs how long the term's timer is overdue, because the process was blocked or suspended.
 */
export function step(before: TermState, event: TermEvent, now: Instant, lateMs = 0): TermStep {
  const term = { ...before };
  const effects: TermEffect[] = [];
  apply({ term, now, lateMs, effects }, event);
  return { term, effects };
}

/** Returns the instant of the next tick, by the monotonic clock. Until then, time alone changes nothing in the term. */
export function nextTickMs(term: TermState, now: Instant): number {
  if (term.phase === "settled") return Infinity;
  const { drain, renewal } = term;
  const checkInMs = Math.min(Math.max(toDeadlineMs(term, now), ROUNDING_MS), CLOCK_CHECK_MS);
  const checkMs = term.over ? Infinity : now.monotonicMs + checkInMs;
  const renewMs = renewal.is === "due" ? renewal.atMs : Infinity;
  if (!drain) return Math.min(checkMs, renewMs, stallMs(term));
  return Math.min(checkMs, renewMs, drain.isOverrun ? Infinity : drain.untilMs);
}

export function isOverdue(term: TermState, now: Instant): boolean {
  return !term.over && toDeadlineMs(term, now) <= 0;
}

interface Draft {
  readonly term: { -readonly [Key in keyof TermState]: TermState[Key] };
  readonly now: Instant;
  readonly lateMs: number;
  readonly effects: TermEffect[];
}

function apply(draft: Draft, event: TermEvent): void {
  const { term, now } = draft;
  switch (event.type) {
    case "check":
      return checkClocks(draft);
    case "tick":
      return tick(draft, event.dueMs);
    case "checkpoint":
      term.checkpointMs = now.monotonicMs;
      return;
    case "renew-requested":
      if (term.renewal.is === "due" && sinceGrantMs(term, now) >= term.plan.timing.renewIntervalMs) renew(draft);
      return;
    case "woken":
      return wake(draft);
    case "renewed":
      return renewed(draft, event.outcome, event.isExtra === true);
    case "renewal-failed":
      return renewalFailed(draft, event.error);
    case "renewal-skipped":
      term.renewal = renewAt(term, now.monotonicMs + Math.max(toLastTryMs(term, now), ROUNDING_MS));
      return;
    case "published":
      return answered(draft, event.outcome);
    case "end":
      if (event.stops) stop(draft);
      return end(draft, event.reason);
    case "completing":
      return complete(draft);
    case "completed":
      term.completion = "confirmed";
      return;
    case "work-settled":
      return settle(draft, event.isFailed);
  }
}

function tick(draft: Draft, dueMs = draft.now.monotonicMs): void {
  const { term, now } = draft;
  checkClocks(draft);
  checkStall(draft);
  checkDrain(draft, dueMs);
  if (term.renewal.is === "due" && now.monotonicMs >= term.renewal.atMs) renew(draft);
}

/** Lets the clocks decide first whether the term is over, then whether it is ending. */
function checkClocks(draft: Draft): void {
  const { term, now, lateMs, effects } = draft;
  if (term.over) return;
  const elapsed = sinceGrantMs(term, now);
  const { timing, renewal } = term.plan;
  if (elapsed >= timing.validForMs) {
    const sent = `its last good renewal was sent ${Math.round(elapsed)} ms ago`;
    lose(draft, "expired", `${sent}, and it was valid for ${timing.validForMs} ms.`);
  } else if (elapsed >= timing.renewDeadlineMs && !term.drain) {
    const hint = renewal === "manual" ? "; its task is to renew it more often" : "";
    const none = `no renewal was confirmed for ${Math.round(elapsed)} ms`;
    end(draft, lost(term, "renew-deadline", `${none} (renewDeadlineMs ${timing.renewDeadlineMs})${hint}.`));
  } else {
    return;
  }
  if (lateMs >= timing.renewIntervalMs / 2) effects.push({ type: "announce-blocked", forMs: lateMs });
}

/** Ends a term whose task was silent for too long. A `check` skips this, because its caller may call `checkpoint()` next. */
function checkStall(draft: Draft): void {
  const { term, now } = draft;
  if (term.drain || now.monotonicMs < stallMs(term)) return;
  const { lease, timing } = term.plan;
  const silentMs = Math.round(now.monotonicMs - term.checkpointMs);
  const silence = `its task was silent for ${silentMs} ms (stallTimeoutMs ${timing.stallTimeoutMs})`;
  const advice = `${silence}; call leadership.checkpoint() more often.`;
  end(draft, new LeadershipEndedError(lease.election, lease.term, "stalled", advice));
}

/** Reports an overrun at a tick that was due at the drain's end. After a freeze, the task's earlier timers run before it. */
function checkDrain({ term, now, effects }: Draft, dueMs: number): void {
  const { drain } = term;
  if (!drain || drain.isOverrun || term.phase === "settled" || Math.min(dueMs, now.monotonicMs) < drain.untilMs) return;
  const sinceSignalMs = elapsedMs(now, drain.since);
  term.renewal = CLOSED;
  term.drain = { ...drain, isOverrun: true };
  effects.push({ type: "announce-overrun", sinceSignalMs });
  if (term.isStopping) effects.push({ type: "give-up-waiting", waitedMs: sinceSignalMs });
}

/** Aborts the signal, for good, and begins the drain. Renewals then only cover the drain. */
function end({ term, now, effects }: Draft, reason: Error): void {
  if (term.drain) return;
  if (term.phase === "leading") term.phase = "ending";
  term.drain = { reason, since: now, untilMs: now.monotonicMs + drainLeftMs(term, now), isOverrun: false };
  effects.push({ type: "abort", reason, isSilent: term.phase === "settled" });
}

/** The leadership is over at once. From then on no lease covers the task, so its drain gets shorter. */
function lose(draft: Draft, reason: LossReason, explanation: string): void {
  const { term, now } = draft;
  const error = lost(term, reason, explanation);
  term.phase = "over";
  term.over = error;
  term.renewal = CLOSED;
  if (term.drain) term.drain = { ...term.drain, untilMs: now.monotonicMs + drainLeftMs(term, now) };
  else end(draft, error);
}

/** The elector is to stop. If the task has overrun already, the stop does not wait for it. */
function stop({ term, now, effects }: Draft): void {
  if (term.isStopping) return;
  term.isStopping = true;
  if (term.drain?.isOverrun) effects.push({ type: "give-up-waiting", waitedMs: elapsedMs(now, term.drain.since) });
}

function renew({ term, now, effects }: Draft): void {
  term.renewal = { is: "under-way", atMs: now.monotonicMs, isBeforeLastTry: toLastTryMs(term, now) > 0, isWoken: false };
  effects.push({ type: "renew" });
}

/** Makes a renewal due at the next tick. The renewal finds out whether the lease is gone; a wake-up proves nothing. */
function wake({ term, now }: Draft): void {
  const { renewal } = term;
  if (renewal.is === "due") term.renewal = renewAt(term, now.monotonicMs);
  else if (renewal.is === "under-way") term.renewal = { ...renewal, isWoken: true };
}

function renewed(draft: Draft, outcome: RenewOutcome, isExtra: boolean): void {
  const { term, now } = draft;
  answered(draft, outcome);
  term.failures = 0;
  const { renewal } = term;
  if (isExtra && renewal.is === "under-way") return;
  const isWoken = renewal.is === "under-way" && renewal.isWoken;
  term.renewal = renewAt(term, isWoken ? now.monotonicMs : nextGridMs(term));
}

function answered(draft: Draft, outcome: RenewOutcome): void {
  const { term, effects } = draft;
  // Check the clocks before the new grant counts. A success that comes too late does not make up for the time before it.
  checkClocks(draft);
  if (term.over) return;
  if (!outcome.held) return refused(draft, outcome);
  const { extendedAt, transferTo } = outcome;
  if (extendedAt && extendedAt.monotonicMs > term.grantedAt.monotonicMs) {
    term.grantedAt = extendedAt;
    // Check again, because the grant may be that of an earlier request whose reply was lost.
    checkClocks(draft);
    effects.push({ type: "announce-renewed" });
  }
  if (transferTo !== undefined) {
    const { election, term: number } = term.plan.lease;
    const explanation = `an administrator asked for a transfer to '${transferTo}'.`;
    end(draft, new LeadershipEndedError(election, number, "transferred", explanation));
  }
}

function refused(draft: Draft, { reason, explanation, barredUntilExpiry }: Extract<RenewOutcome, { held: false }>): void {
  const { term } = draft;
  if (!barredUntilExpiry) return lose(draft, reason, `${explanation}.`);
  // No candidate may acquire before the lease has run out. The rest of the lease covers the drain.
  term.renewal = CLOSED;
  end(draft, lost(term, reason, `${explanation}.`));
}

function renewalFailed(draft: Draft, error: unknown): void {
  const { term, now, effects } = draft;
  checkClocks(draft);
  effects.push({ type: "announce-renew-failed", error });
  const { renewal } = term;
  if (renewal.is !== "under-way") return;
  const retryAfterMs = (isLeaseholdError(error) ? (error as StoreError).retryAfterMs : undefined) ?? 0;
  const inMs = renewal.isWoken ? 0 : retryInMs(term, { ...renewal, retryAfterMs }, now);
  term.failures += 1;
  term.renewal = renewAt(term, now.monotonicMs + inMs);
}

/** The signal stays intact, because the task may go on. The term is over before the request is sent: a rival may lead from then on. */
function complete({ term }: Draft): void {
  const { election, term: number } = term.plan.lease;
  if (term.phase !== "settled") term.phase = "over";
  term.over ??= new LeadershipEndedError(election, number, "completed", "it is done.");
  term.renewal = CLOSED;
  term.completion = "unknown";
}

/** Releases the lease of a term that is still valid, or whose completion has an unknown outcome. Else sends nothing. */
function settle(draft: Draft, isFailed: boolean): void {
  const { term, now, effects } = draft;
  checkClocks(draft);
  const { lease, minimumHoldMs, releaseOnStop } = term.plan;
  const mayRelease = (!term.over || term.completion === "unknown") && (!term.isStopping || releaseOnStop);
  const endReason = term.drain?.reason;
  const released = new LeadershipEndedError(lease.election, lease.term, "released", "its task has settled.");
  term.phase = "settled";
  // Set before the release is sent, because a rival may lead from then on.
  term.over ??= endReason ?? released;
  term.renewal = CLOSED;
  end(draft, released);
  const isReleased = term.completion === "confirmed";
  // Work that has failed is not done, so it keeps no candidate out.
  const holdMs = isFailed ? 0 : minimumHoldMs - (now.monotonicMs - lease.grantedAt.monotonicMs);
  if (mayRelease && !isReleased) effects.push({ type: "release", endReason, holdMs });
  else effects.push({ type: "finish", endReason, isReleased });
}

function lost({ plan, drain }: TermState, reason: LossReason, explanation: string): LeaseLostError {
  return new LeaseLostError(plan.lease.election, plan.lease.term, reason, explanation, drain?.reason);
}

/** Returns the rest of the drain. Without a lease it is at most half of the safety margin, and ends before a rival leads. */
function drainLeftMs(term: TermState, now: Instant): number {
  const { drainTimeoutMs, leaseDurationMs } = term.plan.timing;
  const leftMs = drainTimeoutMs - (term.drain ? elapsedMs(now, term.drain.since) : 0);
  const isUncovered = term.over instanceof LeaseLostError;
  return isUncovered ? Math.min(leftMs, (leaseDurationMs * SAFETY_MARGIN) / 2) : leftMs;
}

function stallMs({ plan, checkpointMs }: TermState): number {
  return checkpointMs + (plan.timing.stallTimeoutMs ?? Infinity);
}

/** Returns the next renewal of a term. Once renewals are closed, they stay closed. */
function renewAt({ plan, renewal }: TermState, atMs: number): Renewal {
  return renewal.is === "closed" ? CLOSED : dueAt(plan, atMs);
}

/** With `renewal: 'manual'` only the task asks for renewals. */
function dueAt({ renewal }: TermPlan, atMs: number): Renewal {
  return { is: "due", atMs: renewal === "manual" ? Infinity : atMs };
}
