import { Elector, isLeaseholdError, type OccurrenceLeadership } from "@leasehold/core";
import { sleep } from "@leasehold/core/provider";
import { onlyAsLeader, type FunctionLeadership, type Occurrence } from "@leasehold/functions";
import { Line } from "./line.ts";
import type { Delivery } from "./mishaps/tick.ts";
import { ELECTION } from "./stores/simulated-store.ts";
import type { World } from "./world.ts";

/** The most requests of a process to record that an occurrence is done, at once and for each second. */
const COMPLETES_WITH = 20;
const COMPLETES_WITH_PER_SECOND = 2;
const DAY_MS = 86_400_000;
/** The number of steps of a handler's work. */
const WORK_STEPS = 4;

/** The end of an invocation. */
export type Ending = "done" | "not-elected" | "taken-over" | "failed";

/** One delivery of an occurrence on its way through the gate, in a process that its platform ends. */
export class Invocation {
  readonly id: string;
  readonly line: Line;
  /** Its leadership, if it was elected. */
  leadership: OccurrenceLeadership | undefined;
  /** True once its work is done, so that it may be recorded. */
  worked = false;
  readonly #world: World;
  readonly #delivery: Delivery;
  /** The time at which its work was done, and the number of requests by then. */
  #workedAt: { readonly ms: number; readonly requests: number } | undefined;

  constructor(world: World, id: string, delivery: Delivery) {
    this.id = id;
    this.line = new Line(world, id, delivery);
    this.#world = world;
    this.#delivery = delivery;
  }

  async run(occurrence: Occurrence): Promise<Ending> {
    const { line, id } = this;
    const { clock, access } = line;
    const { limitMs, renewal, leaseDurationMs } = this.#delivery;
    const endMs = clock.monotonicMs() + limitMs;
    const nightly = onlyAsLeader(
      {
        store: access.store,
        election: ELECTION,
        gate: "oncePerTick",
        occurrence: () => occurrence,
        remainingMs: () => Math.max(endMs - clock.monotonicMs(), 1),
        candidateId: () => id,
        leaseDurationMs,
        renewal,
        clock,
      },
      async (leadership) => {
        await this.#work(leadership);
        return "done" as const;
      },
    );
    try {
      const outcome = await nightly();
      return outcome === "done" ? outcome : "not-elected";
    } catch (error) {
      this.#world.note(id, `fails: ${String(error)}`);
      return this.worked && isLeaseholdError(error, "LEASE_LOST") ? "taken-over" : "failed";
    }
  }

  /** True if it asks again and again, without a wait, to have its work recorded as done. */
  get hurries(): boolean {
    if (!this.#workedAt) return false;
    const passedMs = this.#world.nowMs - this.#workedAt.ms;
    const sent = this.line.requests - this.#workedAt.requests;
    // A quorum's request is a read, a prepare and an accept of each member.
    const { members } = this.#world.store;
    const each = members ? 3 * members.count : 1;
    return sent > each * (COMPLETES_WITH + (COMPLETES_WITH_PER_SECOND * passedMs) / 1_000);
  }

  async #work(leadership: FunctionLeadership): Promise<void> {
    const { clock } = this.line;
    const { workMs, handler } = this.#delivery;
    // The leadership is the claim itself. The gate only hides the parts that a handler should not use.
    const claim = leadership as unknown as OccurrenceLeadership;
    this.leadership = claim;
    this.#world.schedule.begins(this, claim);
    for (let step = 0; step < WORK_STEPS; step += 1) {
      if (handler !== "deaf") await leadership.checkpoint();
      await sleep(clock, workMs / WORK_STEPS, handler === "deaf" ? undefined : leadership.signal);
    }
    if (handler === "throwing") throw new Error("The work has failed.");
    this.worked = true;
    this.#world.schedule.worked(claim);
    const untilMs = this.#world.nowMs + this.#delivery.refusedForMs;
    this.line.link.interrupt({ kind: "outage", how: "refuses", untilMs });
    this.#workedAt = { ms: this.#world.nowMs, requests: this.line.requests };
    if (handler === "eager") await Promise.allSettled([claim.complete(), claim.complete()]);
  }
}

/** Waits for an occurrence in a process that stays, and has it recorded as done. */
export async function doAsStandby(world: World, election: string): Promise<void> {
  const { clock, access } = new Line(world, "standby", {});
  const store = access.store.occurrences?.(ELECTION, { retentionMs: DAY_MS });
  if (!store) throw new Error("This store keeps no occurrences.");
  const elector = new Elector({ ...world.plan.timing, logger: false, cooldownMs: undefined, store, election, clock });
  const done = new AbortController();
  const task = async (leadership: OccurrenceLeadership): Promise<void> => {
    world.schedule.worked(leadership);
    await leadership.complete();
    done.abort();
  };
  await elector.run(task, { signal: done.signal }).catch(async (error: unknown) => {
    if (!world.hasReplacedStore(clock, error)) throw error;
    await doAsStandby(world, election);
  });
}
