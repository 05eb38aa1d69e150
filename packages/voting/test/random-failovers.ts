import { ProcessClock, SeededRandom } from "@leasehold/core/testing";
import { TrueTime } from "@leasehold/test-kit/clocks/true-time";
import { violationIn, type RandomRun } from "@leasehold/test-kit/simulated/random-run";
import { Server, type VoterReply, type Envelope, type Request } from "../src/simulation.ts";
import { drawFailover, drawYearly, Failover, JITTER, type FailoverPlan, type FailoverWorld, type Started } from "./failover.ts";

const LEASES_MS = [3_000, 6_000, 15_000];
const LIMITS = { settling: 2, factor: 1, grace: 0 };

/**
 * Plays one failover in virtual time. No message is lost, and only drawn things vary. These are round trips and syncs of any
 * length for which `timing()` makes its promises, and servers in lockstep. Others are a server that is down, several elections per
 * server, and lists in another order on each server. The seed decides everything.
 */
export async function playFailover(seed: number, options: { readonly history?: boolean } = {}): Promise<RandomRun> {
  const random = new SeededRandom(Math.imul(seed, 0x9e3779b1) ^ (seed >>> 15));
  const time = new TrueTime(random.seed());
  const plan = drawFailover(random, LEASES_MS, { yearly: drawYearly(seed) });
  const world = new VirtualWorld(plan, random, time);
  const failover = new Failover(plan, random, world, LIMITS);
  const violation = await violationIn(() => failover.play());
  failover.end();
  const history = options.history === true ? failover.history : [];
  const faults = new Map([[plan.event, 1]]);
  const counted = { steps: 1, requests: world.requests, virtualMs: time.monotonicMs(), terms: failover.terms, faults };
  return { plan: { seed, store: "failovers" }, violation, ...counted, history };
}

interface Process extends Started {
  receive?: (message: Envelope<Request>) => Promise<Envelope<VoterReply> | undefined>;
}

class VirtualWorld implements FailoverWorld {
  requests = 0;
  readonly #plan: FailoverPlan;
  readonly #random: SeededRandom;
  readonly #time: TrueTime;
  readonly #disks = new Map<string, string>();
  /** The results of a write to disks that fail. */
  readonly #failing = new Map<string, () => Promise<never>>();
  readonly #processes = new Map<string, Process>();
  #dead: string | undefined;

  constructor(plan: FailoverPlan, random: SeededRandom, time: TrueTime) {
    this.#plan = plan;
    this.#random = random;
    this.#time = time;
  }

  monotonicMs(): number {
    return this.#time.monotonicMs();
  }

  async pass(ms: number): Promise<void> {
    await this.#time.advance(ms);
  }

  kill(name: string, isSilent: boolean): void {
    if (isSilent) this.#dead = name;
  }

  failDisk(name: string, hangs: boolean): void {
    this.#failing.set(name, () => (hangs ? new Promise(() => undefined) : Promise.reject(new Error("no space left"))));
  }

  start(name: string, names: readonly string[]): Started {
    const clock = new ProcessClock(this.#time);
    const server = new Server({
      ...{ name, names, clock },
      disk: { read: () => Promise.resolve(this.#disks.get(name)), write: (text) => this.#sync(name, clock, text) },
      transport: {
        send: (message, timeoutMs) => this.#carry(name, clock, message, timeoutMs),
        listen: (receive) => Promise.resolve(void (process.receive = receive)),
        close: () => Promise.resolve(),
      },
    });
    const process: Process = { clock, server };
    this.#processes.set(name, process);
    void server.start();
    return process;
  }

  async #sync(name: string, clock: ProcessClock, text: string): Promise<void> {
    await this.#takes(this.#plan.syncMs.get(name));
    if (!clock.alive) return await new Promise(() => {});
    await this.#failing.get(name)?.();
    this.#disks.set(name, text);
  }

  #carry(name: string, clock: ProcessClock, message: Envelope<Request>, timeoutMs: number): Promise<Envelope<VoterReply>> {
    this.requests += 1;
    const { to } = message;
    const { wayMs } = this.#plan;
    return new Promise((resolve, reject) => {
      const timer = clock.setTimer(() => reject(new Error(`${to} does not answer in time.`)), timeoutMs);
      const refuse = (): void => {
        timer.cancel();
        reject(new Error(`${to} refuses the connection.`));
      };
      const carry = async (): Promise<void> => {
        await this.#takes(wayMs.get(name + to));
        const receiver = this.#processes.get(to);
        if (receiver?.clock.alive !== true) return this.#dead === to ? undefined : clock.deliver(refuse);
        const answer = await receiver.receive?.(message);
        if (!answer || !receiver.clock.alive) return;
        await this.#takes(wayMs.get(to + name));
        timer.cancel();
        clock.deliver(() => resolve(answer));
      };
      void carry();
    });
  }

  async #takes(ms = 0): Promise<void> {
    const jitter = this.#plan.isLockstep ? 0 : JITTER * this.#random.next();
    await new Promise<void>((resolve) => this.#time.setTimer(resolve, ms * (1 + jitter)));
  }
}
