import type { Arrival, Network, Passage, PassengerRequest, SeededRandom, VirtualClock } from "@leasehold/core/testing";
import { CONTROL_REQUESTS, SLOW_ANSWER_MS } from "./control-plane.ts";
import type { Outage } from "./mishaps/outage.ts";
import type { Partition } from "./mishaps/partition.ts";
import type { Plan } from "./plan.ts";
import type { RequestFailure, SimulatedStore } from "./stores/simulated-store.ts";

/** The time after the beginning of the calm in which everything on its way arrives. */
export const LAST_ARRIVALS_MS = 500;
/** The longest wait that a service asks of its clients, in leases. */
export const RETRY_AFTER_LEASES = 0.25;

const FAIR_WEATHER_MS = 15;
/** The names of a lease's writes, by each store. */
const WRITES = new Set(["put", "UpdateItem", "renew"]);
/** An attempt waits for a ninth of a lease, by default. */
const SLOW_LEASES = 0.11;

/** A cut between a process and the service, for a while. */
type Window = { readonly untilMs: number } & (
  | { readonly kind: "partition"; readonly side: Partition["side"] }
  | { readonly kind: "slow"; readonly ms: number }
  | { readonly kind: "outage"; readonly how: Outage["how"] }
);

/** The number of faults of requests so far, by kind. */
export type FaultCounts = Map<string, number>;

/** The connection of one process to the service, with the faults of the plan's network and those of the two. */
export class Link {
  readonly #world: VirtualClock;
  readonly #plan: Plan;
  readonly #store: SimulatedStore;
  readonly #random: SeededRandom;
  readonly #note: (fault: string, request: PassengerRequest) => void;
  #windows: Window[] = [];
  #cutAfterWriteMs: number | undefined;
  #operation = "";
  #refusesUntilMs = -Infinity;
  #isSilent = false;

  constructor(options: {
    readonly world: VirtualClock;
    readonly plan: Plan;
    readonly store: SimulatedStore;
    readonly random: SeededRandom;
    readonly note: (fault: string, request: PassengerRequest) => void;
  }) {
    this.#world = options.world;
    this.#plan = options.plan;
    this.#store = options.store;
    this.#random = options.random;
    this.#note = options.note;
  }

  readonly network: Network = (request) => this.#pass(request);

  /** For a while, requests or replies of this process are lost, or the service is away. */
  interrupt(window: Window): void {
    this.#windows.push(window);
  }

  /** The next write succeeds. After it nothing does, for a while. */
  cutAfterNextWrite(forMs: number): void {
    this.#cutAfterWriteMs = forMs;
  }

  /** For a while, also in the calm, requests of this process are refused. Pushes still arrive. */
  refuse(forMs: number): void {
    this.#refusesUntilMs = this.#world.monotonicMs() + forMs;
  }

  /** The watches of this process deliver nothing any more, and do not end, until a new one is begun. */
  silence(): void {
    this.#isSilent = true;
  }

  get isSilent(): boolean {
    return this.#isSilent;
  }

  #pass(request: PassengerRequest): Passage {
    if (request.operation === "watch") {
      if (request.begins) this.#isSilent = false;
      if (this.#isSilent) {
        this.#note("silent watch", request);
        return { arrivals: [] };
      }
    }
    const nowMs = this.#world.monotonicMs();
    const random = this.#random;
    const renews = WRITES.has(request.operation) || confirms(this.#operation, request);
    this.#operation = request.operation;
    const there = this.#latencyMs();
    const back = this.#latencyMs();
    if (CONTROL_REQUESTS.has(request.operation)) return this.#toControlPlane(request, { there, back });
    if (nowMs < this.#refusesUntilMs && request.operation !== "watch") {
      this.#note("backoff", request);
      return this.#broken("refused", request, []);
    }
    if (nowMs >= this.#plan.calmAtMs) return { arrivals: [{ afterMs: there, replyAfterMs: back }] };
    if (this.#windows.length > 0) this.#windows = this.#windows.filter(({ untilMs }) => untilMs > nowMs);
    // The confirmation of such a write succeeds too.
    if (this.#cutAfterWriteMs !== undefined && request.operation === "keepalive") {
      return { arrivals: [{ afterMs: there, replyAfterMs: back }] };
    }
    if (this.#cutAfterWriteMs !== undefined && renews) {
      this.interrupt({ kind: "partition", side: "both", untilMs: nowMs + this.#cutAfterWriteMs });
      this.#cutAfterWriteMs = undefined;
      // Both requests of such a renewal have to fit into an attempt.
      const [least, most] = request.operation === "look" ? [0.05, SLOW_LEASES - 0.015] : [0.1, SLOW_LEASES];
      const slowMs = this.#inTime(random.between(least, most) * this.#plan.timing.leaseDurationMs);
      return { arrivals: [{ afterMs: there, replyAfterMs: random.chance(0.5) ? slowMs : back }] };
    }
    const passage = this.#interrupted(request, { there, back });
    if (passage) return passage;

    const { networkFaults, timing } = this.#plan;
    const { leaseDurationMs } = timing;
    const befalls = (fault: Fault): boolean => {
      if (!random.chance(networkFaults[fault])) return false;
      this.#note(fault, request);
      return true;
    };
    const prompt: Arrival = { afterMs: there, replyAfterMs: back };
    const lags = befalls("lagging");
    if (befalls("refused")) return this.#broken("refused", request, []);
    if (befalls("throttled")) return this.#broken("throttled", request, []);
    if (befalls("losesRequest")) return { arrivals: [] };
    if (befalls("losesReply")) return { arrivals: [{ afterMs: there }] };
    if (befalls("reset")) return this.#broken("reset", request, random.chance(0.5) ? [{ afterMs: there }] : []);
    const later = (most: number): number => this.#inTime(there + random.between(0, most) * leaseDurationMs);
    if (befalls("late")) return { arrivals: [{ afterMs: later(2.5), replyAfterMs: back }], lags };
    if (befalls("twice")) {
      const again: Arrival = { afterMs: later(random.chance(0.5) ? 0.1 : 2.5) };
      const first: Arrival = random.chance(0.7) ? prompt : { afterMs: there };
      return { arrivals: [first, random.chance(0.5) ? { ...again, replyAfterMs: back } : again], lags };
    }
    const slowMs = (): number => this.#inTime(random.between(0, SLOW_LEASES) * leaseDurationMs);
    const afterMs = befalls("slowRequest") ? slowMs() : there;
    const replyAfterMs = befalls("slowReply") ? slowMs() : back;
    return { arrivals: [{ afterMs, replyAfterMs }], lags };
  }

  #interrupted(
    request: PassengerRequest,
    { there, back }: { readonly there: number; readonly back: number },
  ): Passage | undefined {
    for (const window of this.#windows) {
      if (window.kind === "slow") {
        if (this.#random.chance(0.5)) continue;
        this.#note("slowRequest", request);
        return { arrivals: [{ afterMs: this.#inTime(window.ms), replyAfterMs: back }] };
      }
      if (window.kind === "partition") {
        this.#note("partition", request);
        return { arrivals: window.side === "replies" ? [{ afterMs: there }] : [] };
      }
      this.#note("outage", request);
      if (window.how === "silent") return { arrivals: [] };
      return this.#broken(window.how === "refuses" ? "refused" : "throttled", request, []);
    }
    return undefined;
  }

  #toControlPlane(request: PassengerRequest, { there, back }: { readonly there: number; readonly back: number }): Passage {
    const { controlPlane } = this.#plan;
    if (controlPlane === "well") return { arrivals: [{ afterMs: there, replyAfterMs: back }] };
    this.#note(`control plane ${controlPlane}`, request);
    if (controlPlane === "silent") return { arrivals: [] };
    if (controlPlane === "slow") return { arrivals: [{ afterMs: there, replyAfterMs: SLOW_ANSWER_MS }] };
    const how = { refuses: "refused", throttles: "throttled", denies: "denied" } as const;
    return this.#broken(how[controlPlane], request, []);
  }

  #broken(how: RequestFailure, { operation }: PassengerRequest, arrivals: readonly Arrival[]): Passage {
    const retryAfterMs = Math.round(this.#random.between(0, RETRY_AFTER_LEASES) * this.#plan.timing.leaseDurationMs);
    return { arrivals, breaks: { afterMs: 2 * this.#latencyMs(), error: this.#store.failure(how, operation, retryAfterMs) } };
  }

  #latencyMs(): number {
    return 0.1 + this.#random.next() * FAIR_WEATHER_MS;
  }

  /** In the calm a delay ends before the last arrivals. */
  #inTime(delayMs: number): number {
    const calmInMs = this.#plan.calmAtMs - this.#world.monotonicMs();
    return Math.min(delayMs, calmInMs + this.#random.next() * LAST_ARRIVALS_MS);
  }
}

/** True for the second of the two requests that renew a lease on etcd. */
function confirms(before: string, { operation }: PassengerRequest): boolean {
  return before === "keepalive" && operation === "look";
}

type Fault =
  | "losesRequest"
  | "losesReply"
  | "late"
  | "slowRequest"
  | "slowReply"
  | "twice"
  | "reset"
  | "refused"
  | "throttled"
  | "lagging";
