import type { Leadership } from "@leasehold/core";
import type { Occurrence } from "@leasehold/functions";
import { doAsStandby, Invocation, type Ending } from "./invocation.ts";
import type { Delivery } from "./mishaps/tick.ts";
import { LAST_ARRIVALS_MS } from "./network.ts";
import { ELECTION, SLOWEST_RATE, type Claim } from "./stores/simulated-store.ts";
import { Violation } from "./violation.ts";
import type { World } from "./world.ts";

/** The delay with which a platform ends an invocation. */
const LATE_END_MS = 200;
const MINUTE_MS = 60_000;
/** A time that has passed by every clock, however wrong, but is not so old that done occurrences may be forgotten. */
const BEGINNING_MS = Date.UTC(2025, 11, 30);

/** The occurrences of the election's schedule. Delivers them, and checks that each is done once. */
export class Schedule {
  readonly #world: World;
  readonly #due: Occurrence[] = [];
  readonly #claims = new Map<string, Claim>();
  /** The invocations that were delivered and have not ended. */
  readonly #running = new Set<Invocation>();
  /** The terms whose work was done. */
  readonly #worked = new Set<string>();
  /** The occurrences that an invocation was told are recorded as done. */
  readonly #recorded = new Set<string>();
  #invocations = 0;
  /** The time at which every invocation has ended, and everything that it sent has arrived. */
  #endMs = 0;
  #longestLeaseMs = 0;

  constructor(world: World) {
    this.#world = world;
    world.store.view.claimed = (id, before, after) => this.#claimed(id, before, after);
  }

  /** One more occurrence is due. */
  deliver(deliveries: readonly Delivery[]): void {
    const { plan, store } = this.#world;
    // Without a clock for the expiry of a claim, a process without a memory could never take one over.
    if (!store.keepsOccurrences) return;
    const occurrence = { name: ELECTION, scheduledMs: BEGINNING_MS + MINUTE_MS * (this.#due.length + 1) };
    this.#due.push(occurrence);
    for (const delivery of deliveries) {
      const { limitMs, leaseDurationMs = (limitMs + 1_000) / 0.9, afterMs } = delivery;
      this.#world.beforeCalm(afterMs, () => this.#start(occurrence, delivery));
      const endsMs = Math.min(this.#world.nowMs + afterMs, plan.calmAtMs) + limitMs + LATE_END_MS;
      this.#endMs = Math.max(this.#endMs, endsMs, plan.calmAtMs + LAST_ARRIVALS_MS);
      this.#longestLeaseMs = Math.max(this.#longestLeaseMs, leaseDurationMs);
    }
  }

  /** The handler of an invocation got a leadership. */
  begins({ id }: Invocation, leadership: Leadership): void {
    const { election, term } = leadership;
    this.#world.note(id, `begins attempt ${term} at ${election}`);
    const { referee, plan } = this.#world;
    if (this.#claims.get(election)?.done)
      referee.violate("done-once", `${id} begins attempt ${term} at ${election}, which is done`);
    if (plan.asks && !leadership.isValid()) referee.violate("starts-valid", `${id} in attempt ${term} at ${election}`);
  }

  /** Its work is done, and is about to be recorded. */
  worked({ termId }: Leadership): void {
    this.#worked.add(termId);
  }

  /** Checks every running invocation. */
  check(): void {
    if (this.#running.size === 0) return;
    const { plan, referee } = this.#world;
    const valid = new Map<string, string>();
    for (const { id, line, leadership, hurries } of this.#running) {
      if (!line.clock.running) continue;
      if (hurries) referee.violate("waits-between", `${id} sends request after request to have its work recorded`);
      if (!leadership || !plan.asks || !leadership.isValid()) continue;
      const other = valid.get(leadership.election);
      if (other !== undefined) referee.violate("one-leader", `${other} and ${id} at ${leadership.election}`);
      valid.set(leadership.election, id);
    }
  }

  /** Checks that a process that waits for an open occurrence gets to do it, with no other fault. @throws {Violation} */
  async seeEverythingDone(): Promise<void> {
    const open = (): string[] => this.#due.map(idOf).filter((id) => !this.#claims.get(id)?.done);
    // No process writes an occurrence anew after a member was emptied. Once a majority was emptied, an occurrence needs all
    // members.
    if (open().length === 0 || this.#world.store.members?.keepsAll === false) return;
    await this.#world.until(() => false, this.#endMs);
    for (const id of open()) void doAsStandby(this.#world, id);
    const withinMs = this.#longestLeaseMs + 3 * this.#world.plan.timing.retryPeriodMs;
    await this.#world.until(() => open().length === 0, this.#world.nowMs + withinMs / SLOWEST_RATE);
    const [left] = open();
    if (left !== undefined) throw new Violation("occurrence-open", left);
  }

  /** A failover has undone unacknowledged writes. @param claims the present claims. */
  rolledBack(claims: ReadonlyMap<string, Claim | undefined>): void {
    for (const [id, claim] of claims) {
      if (claim) this.#claims.set(id, claim);
      else this.#claims.delete(id);
      if (this.#recorded.has(id) && !claim?.done) {
        this.#world.referee.violate("done-is-told", `${id} was recorded as done, and a failover has undone that`);
      }
    }
  }

  #start(occurrence: Occurrence, delivery: Delivery): void {
    const { limitMs, diesAfterMs = Infinity, pause } = delivery;
    this.#invocations += 1;
    const invocation = new Invocation(this.#world, `f${this.#invocations}`, delivery);
    const { clock } = invocation.line;
    const end = (): void => {
      clock.kill();
      this.#running.delete(invocation);
    };
    this.#running.add(invocation);
    this.#world.note(invocation.id, `is delivered occurrence ${(occurrence.scheduledMs - BEGINNING_MS) / MINUTE_MS}`);
    this.#world.time.setTimer(end, Math.min(limitMs + LATE_END_MS, diesAfterMs));
    if (pause) {
      this.#world.beforeCalm(pause.afterMs, () => clock.pause());
      this.#world.beforeCalm(pause.afterMs + pause.forMs, () => clock.resume());
    }
    void invocation.run(occurrence).then((ending) => {
      end();
      this.#ended(invocation, ending);
    });
  }

  /** Checks that everything an invocation was told is true. */
  #ended({ id, leadership }: Invocation, ending: Ending): void {
    this.#world.note(id, `ends: ${ending}`);
    if (!leadership) return;
    const { election, term } = leadership;
    const claim = this.#claims.get(election);
    const isDoneByIt = claim?.done === true && claim.term === term;
    if (ending === "done" && !isDoneByIt) {
      this.#world.referee.violate("done-is-told", `${id} was told that its attempt ${term} at ${election} is recorded as done`);
    }
    if (ending === "done") this.#recorded.add(election);
    if (ending === "taken-over" && isDoneByIt) {
      this.#world.referee.violate("done-is-told", `${id} was told that its attempt ${term} at ${election} was taken over`);
    }
  }

  #claimed(id: string, before: Claim | undefined, after: Claim): void {
    this.#claims.set(id, after);
    const { referee } = this.#world;
    const { term, termId, done } = after;
    const isGranted = termId !== null && termId !== before?.termId;
    if (isGranted) this.#world.note("service", `grants attempt ${term} at ${id}`);
    if (done) this.#world.note("service", `records ${id} as done by attempt ${term}`);
    // An occurrence that is done may be written as done once more.
    if (before?.done && !(done && term === before.term)) referee.violate("done-once", `${id} is written to after it was done`);
    const lastTerm = before?.term ?? 0;
    if (term < lastTerm || (isGranted && term === lastTerm)) {
      referee.violate("terms-rise", `attempt ${term} after attempt ${lastTerm} at ${id}`);
    }
    const isItsOwn = term === lastTerm && (before?.done === true || this.#worked.has(before?.termId ?? ""));
    if (done && !isItsOwn) referee.violate("done-once", `${id} is recorded as done by somebody who has not done it`);
  }
}

/** Returns the gate's name of an occurrence. */
function idOf({ name, scheduledMs }: Occurrence): string {
  return `${name}@${new Date(scheduledMs).toISOString()}`;
}
