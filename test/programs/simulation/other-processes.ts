import { Elector, Observer, type Leader, type Leadership } from "@leasehold/core";
import { sleep } from "@leasehold/core/provider";
import { SeededRandom } from "@leasehold/core/testing";
import type { CandidatePlan } from "./candidate-plan.ts";
import type { SimulatedProcess } from "./process.ts";
import { ELECTION } from "./stores/simulated-store.ts";
import type { World } from "./world.ts";

/**
 * The electors in a process besides its candidates, on the same store object. One elector is alone in another election, where it
 * leads for a while, again and again. An observer watches the candidates' election.
 */
export class Bystanders {
  /** The elector of another election, if there is one. */
  readonly lodger: Elector | undefined;
  /** The observer's last state, if there is an observer. */
  seen: { readonly leader: Leader | undefined } | undefined;
  /** True once all of them have stopped. */
  stopped = true;
  readonly #world: World;
  readonly #process: SimulatedProcess;
  readonly #stopping = new AbortController();
  readonly #random: SeededRandom;

  constructor(world: World, process: SimulatedProcess, planned: CandidatePlan) {
    this.#world = world;
    this.#process = process;
    this.#random = new SeededRandom(world.plan.seed ^ Math.imul(world.processes.size + 1, 0xc2b2ae35));
    const { store } = process.access;
    const { clock } = process;
    const { retryPeriodMs, drainTimeoutMs } = world.plan.timing;
    const { leaseDurationMs } = planned;
    const running: Array<Promise<void>> = [];
    if (planned.lodges !== undefined) {
      const election = planned.lodges;
      this.lodger = new Elector({
        store,
        election,
        candidateId: process.id,
        logger: false,
        clock,
        leaseDurationMs,
        retryPeriodMs,
        drainTimeoutMs,
      });
      running.push(this.#lodge(this.lodger));
    }
    if (planned.observes) {
      const attemptTimeoutMs = leaseDurationMs / 6;
      running.push(
        this.#observe(new Observer({ store, election: ELECTION, logger: false, clock, retryPeriodMs, attemptTimeoutMs })),
      );
    }
    if (running.length === 0) return;
    this.stopped = false;
    void Promise.all(running).then(() => (this.stopped = true));
  }

  stop(): void {
    this.#stopping.abort(new Error("told to stop"));
  }

  async #lodge(lodger: Elector): Promise<void> {
    const { signal } = this.#stopping;
    await lodger
      .run((leadership) => this.#lead(leadership), { signal })
      .catch((error: unknown) => {
        if (this.#world.restartsWithPresentStore(this.#process, error)) return;
        this.#world.referee.violate("run-goes-on", `the elector of '${lodger.election}' gave up: ${String(error)}`);
      });
  }

  /** Leads for a while. In the calm it leads until it has to stop. */
  async #lead({ signal }: Leadership): Promise<void> {
    const { clock } = this.#process;
    const forMs = this.#random.between(0, 2) * this.#world.leaseMs;
    await sleep(clock, forMs, signal).catch(() => undefined);
    while (this.#world.calm && !signal.aborted) await sleep(clock, this.#world.leaseMs, signal).catch(() => undefined);
  }

  async #observe(observer: Observer): Promise<void> {
    const { signal } = this.#stopping;
    for await (const leader of observer.observe({ signal })) this.seen = { leader };
  }
}
