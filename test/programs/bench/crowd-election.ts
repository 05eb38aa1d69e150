import { Elector } from "@leasehold/core";
import { type Clock, RecordLeaseStore } from "@leasehold/core/provider";
import {
  ProcessClock,
  SimulatedRecordService,
  VirtualClock,
  type Network,
  type SimulatedRecordServiceOptions,
} from "@leasehold/core/testing";
import { untilAborted } from "@leasehold/test-kit/leader-tasks";

const ELECTION = "bench";
/** The round trip to a database in the same region. */
export const ROUND_TRIP_MS = 10;
const LEASE_MS = 15_000;
const STARTS_WITHIN_MS = 20_000;

/** The result of one leader's end for its standbys. */
export interface Succession {
  /** The time from the send of the release, or from the end of the lease, to the next leader's start. */
  readonly tookMs: number;
  /** The requests of all standbys, from a round trip before the leader's end to ten after the next leader's start. */
  readonly writes: number;
  readonly reads: number;
}

export interface CrowdElectionOptions extends SimulatedRecordServiceOptions {
  /** @defaultValue 10 */
  readonly roundTripMs?: number | undefined;
}

/** One leader and many standbys on one simulated service, each in a process of its own. */
export class CrowdElection {
  readonly #clock: VirtualClock;
  readonly #service: SimulatedRecordService;
  #writes = 0;
  #reads = 0;
  #lastWriteMs = 0;
  readonly #roundTripMs: number;

  constructor(seed: number, { roundTripMs = ROUND_TRIP_MS, ...options }: CrowdElectionOptions) {
    this.#clock = new VirtualClock(seed);
    this.#roundTripMs = roundTripMs;
    this.#service = new SimulatedRecordService(this.#clock, options);
  }

  async succession(standbys: number, end: "releases" | "crashes"): Promise<Succession> {
    const clock = this.#clock;
    const leader = this.#campaign("leader", () => undefined);
    await clock.runUntil(leader.leads);
    this.#service.onAccepted = () => {
      this.#lastWriteMs = clock.monotonicMs() - this.#roundTripMs / 2;
    };
    const others: Campaigner[] = [];
    // Processes do not start at one instant, nor in step with the leader's renewals.
    for (let at = 0; at < standbys; at += 1) {
      await clock.advance((clock.random() * STARTS_WITHIN_MS) / standbys);
      others.push(this.#campaign(`standby-${at}`, (one) => this.#count(one)));
    }
    await clock.advance(60_000 + clock.random() * LEASE_MS);
    this.#reset();
    let goneMs = clock.monotonicMs();
    if (end === "releases") leader.stop();
    else {
      leader.process.kill();
      // A renewal that is under way still arrives, and extends the lease.
      await clock.advance(this.#roundTripMs);
      goneMs = this.#lastWriteMs + LEASE_MS;
      await clock.advance(goneMs - clock.monotonicMs() - this.#roundTripMs);
      this.#reset();
    }
    const nextMs = await clock.runUntil(Promise.race(others.map(({ leads }) => leads)));
    await clock.advance(10 * this.#roundTripMs + 10);
    const { writes, reads } = { writes: this.#writes, reads: this.#reads };
    for (const { stop } of others) stop();
    await clock.runUntil(Promise.all(others.map(({ settled }) => settled)));
    return { tookMs: nextMs - goneMs, writes, reads };
  }

  /** Returns the time of one direction, up to a fifth more or less than usual. */
  #latencyMs(): number {
    return (this.#roundTripMs / 2) * (0.8 + 0.4 * this.#clock.random());
  }

  #reset(): void {
    this.#writes = 0;
    this.#reads = 0;
  }

  #count(operation: string): void {
    if (operation === "put") this.#writes += 1;
    if (operation === "get") this.#reads += 1;
  }

  #campaign(candidateId: string, sends: (operation: string) => void): Campaigner {
    const process = new ProcessClock(this.#clock);
    const network: Network = ({ operation }) => {
      sends(operation);
      return { arrivals: [{ afterMs: operation === "watch" ? 0 : this.#latencyMs(), replyAfterMs: this.#latencyMs() }] };
    };
    const clock: Clock = process;
    const store = new RecordLeaseStore(this.#service.connect(process, network), { clock });
    const elector = new Elector({ store, election: ELECTION, candidateId, clock, leaseDurationMs: LEASE_MS });
    const leads = Promise.withResolvers<number>();
    elector.on("startedLeading", () => leads.resolve(this.#clock.monotonicMs()));
    const stopping = new AbortController();
    const settled = elector.run(untilAborted, { signal: stopping.signal });
    return { process, leads: leads.promise, settled, stop: () => stopping.abort() };
  }
}

interface Campaigner {
  readonly process: ProcessClock;
  /** Resolves when it starts to lead, with the true time. */
  readonly leads: Promise<number>;
  readonly settled: Promise<void>;
  readonly stop: () => void;
}
