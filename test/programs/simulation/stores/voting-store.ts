import { StoreError, type LeaseStore } from "@leasehold/core";
import { holderElapsedMs, SAFETY_MARGIN, type AcquireOutcome, type AcquireRequest, type Lease } from "@leasehold/core/provider";
import { ProcessClock, type Network, type Passage, type SeededRandom, type VirtualClock } from "@leasehold/core/testing";
import { VotingLeaseStore } from "@leasehold/voting";
import { TransferPromise } from "../../../../packages/voting/test/transfer-promise.ts";
import {
  administrationOf,
  OBSERVER,
  Server,
  type VoterReply,
  type Disk,
  type Envelope,
  type Request,
  type Transport,
} from "../../../../packages/voting/src/simulation.ts";
import {
  ELECTION,
  FASTEST_RATE,
  newServiceView,
  type RequestFailure,
  type ServiceView,
  type SimulatedStore,
  type StoreAccess,
} from "./simulated-store.ts";

/** A process with a server: a candidate's process, or one without a candidate. */
interface Host {
  readonly clock: ProcessClock;
  readonly network: Network;
  /** True if it has no candidate. */
  readonly isAlone: boolean;
  server?: Server;
  receive?: (message: Envelope<Request>) => Promise<Envelope<VoterReply> | undefined>;
}

const UNGUARDED: Omit<StoreAccess, "store"> = {
  seal: () => Promise.resolve(),
  write: () => Promise.reject(new Error("No votes guard a write.")),
};

/** Reports every lease that is won in time to the world. */
class WatchedStore extends VotingLeaseStore {
  readonly #onWin: (lease: Lease, elapsedMs: number) => void;

  constructor(server: Server, onWin: (lease: Lease, elapsedMs: number) => void) {
    super(server);
    this.#onWin = onWin;
  }

  override async acquire(request: AcquireRequest): Promise<AcquireOutcome> {
    const outcome = await super.acquire(request);
    if (!outcome.acquired) return outcome;
    const { lease } = outcome;
    // The caller that waited releases a lease that comes after its time.
    const elapsedMs = holderElapsedMs(this.clock, lease.grantedAt);
    if (elapsedMs < lease.leaseDurationMs * (1 - SAFETY_MARGIN)) this.#onWin(lease, elapsedMs);
    return outcome;
  }
}

/** The content of a server's disk, and earlier contents. */
interface Contents {
  present: string | undefined;
  readonly past: Array<string | undefined>;
}

/** The way in which a server loses the content of its disk. */
export type Loss = "none" | "wiped" | "older";

/** The longest sync of a disk, and the longest time of a machine without a process, in milliseconds. */
const SYNC_MS = 8;
const LOOK_MS = 500;
/** The time for which a server with an older file can ask the others, which remember more: at least a lease. */
const ASKS_FOR_MS = 120_000;
const FAIR_WEATHER_MS = 15;
const KEPT_CONTENTS = 6;

/**
 * Servers that elect one of themselves: the real voters and candidates, each with a disk of its own. A candidate's process has a
 * server with the disk of one that is down. If no candidate's process has it, a process without a candidate soon does.
 */
export class SimulatedVoting implements SimulatedStore {
  readonly view: ServiceView = newServiceView();
  readonly keepsOccurrences: boolean = false;
  readonly #world: VirtualClock;
  readonly #random: SeededRandom;
  readonly #names: readonly string[];
  readonly #hosts = new Map<string, Host>();
  readonly #disks = new Map<string, Contents>();
  /** The terms that a candidate was told to lead, by their termIds, and the last of these. */
  readonly #terms = new Map<string, number>();
  #lastTermId = "";
  readonly #transfer: TransferPromise;
  /** The time until which this server can ask the others in any network. */
  readonly #asksUntilMs = new Map<string, number>();
  readonly #groups = new Map<string, number>();
  #splitUntilMs = -Infinity;

  constructor(world: VirtualClock, random: SeededRandom, servers: number) {
    this.#world = world;
    this.#random = random;
    this.#transfer = new TransferPromise(world, FASTEST_RATE);
    this.#names = Array.from({ length: servers }, (_, index) => String.fromCharCode(97 + index));
    for (const name of this.#names) this.#disks.set(name, { present: undefined, past: [] });
    // Some process has each of them, before long.
    const see = (): void => {
      for (const name of this.#names) if (!this.#isUp(name)) this.#startAlone(name);
      world.setTimer(see, LOOK_MS);
    };
    world.setTimer(see, LOOK_MS);
  }

  get names(): readonly string[] {
    return this.#names;
  }

  get held(): boolean {
    const last = this.#lastTermId;
    const isReleased = [...this.#hosts.values()].some(({ server }) => {
      const sign = server?.ballots.sign(ELECTION, 0);
      return sign?.term === this.#terms.get(last) && sign?.released === true;
    });
    return !isReleased && this.barredUntilMs(last) > this.#world.monotonicMs();
  }

  connect(process: ProcessClock, network: Network): StoreAccess {
    const name =
      this.#names.find((each) => !this.#isUp(each)) ?? this.#names.find((each) => this.#hosts.get(each)?.isAlone === true);
    if (name === undefined) throw new Error("There are more processes than servers.");
    this.#hosts.get(name)?.clock.kill();
    const store = this.#start(name, { clock: process, network, isAlone: false });
    return { store, ...UNGUARDED };
  }

  /** Connects from outside, because a process that gives orders has no vote. */
  administer(clock: ProcessClock, network: Network): StoreAccess {
    const names = this.#names;
    const header = { cluster: "", from: OBSERVER, start: clock.randomUuid(), toStart: undefined, writes: 0, seen: 0 };
    const host = { clock, network, isAlone: true };
    const orders: Pick<LeaseStore, "break" | "transfer"> = administrationOf({
      name: OBSERVER,
      everyone: names,
      majority: this.#majority,
      clock,
      ask: async (to, content, timeoutMs) => (await this.#carry(host, { ...header, to, content }, timeoutMs)).content,
      remember: () => Promise.resolve(),
    });
    // An administrator makes no other calls.
    return { store: orders as LeaseStore, ...UNGUARDED };
  }

  /**
   * Another candidate needs a majority of servers that may vote for it. Each may once the LEADs that it has accepted no longer
   * block it. A server that is down, or does not take part yet, votes for nobody at present.
   */
  barredUntilMs(termId: string): number {
    const term = this.#terms.get(termId);
    if (term === undefined) return -Infinity;
    const nowMs = this.#world.monotonicMs();
    const untilMs = this.#names.map((name) => {
      const host = this.#hosts.get(name);
      if (!host?.clock.alive || host.server?.takesPartIn(ELECTION) !== true) return nowMs + 1;
      const { ballots } = host.server;
      if (ballots.termOf(ELECTION) > term) return -Infinity;
      return nowMs + ballots.waitMs(ELECTION, host.clock.monotonicMs()) / FASTEST_RATE;
    });
    const freeMs = untilMs.toSorted((one, other) => one - other)[this.#majority - 1] ?? -Infinity;
    return freeMs <= nowMs ? -Infinity : freeMs;
  }

  failure(how: RequestFailure, operation: string): Error {
    return new StoreError("STORE_UNAVAILABLE", `${operation}: ${how}`, { store: "voting", operation, mayHaveBeenApplied: true });
  }

  corrupt(): undefined {
    return undefined;
  }

  /** The process in which a server runs. */
  clockOf(name: string): ProcessClock | undefined {
    return this.#hosts.get(name)?.clock;
  }

  /**
   * Ends the server's process. When it is started again, `loss` has happened to its disk. Only one loss at a time, with all
   * others present.
   */
  stop(name: string, loss: Loss): boolean {
    const host = this.#hosts.get(name);
    const areAllThere = this.#names.every(
      (each) => this.#hosts.get(each)?.clock.running && this.#hosts.get(each)?.server?.takesPart,
    );
    if (loss !== "none" && !areAllThere) return false;
    host?.clock.kill();
    const disk = this.#disks.get(name);
    if (!disk) return false;
    if (loss !== "none") this.#transfer.forgets();
    if (loss === "wiped") disk.present = undefined;
    if (loss === "older") {
      disk.present = this.#random.pick(disk.past.length > 0 ? disk.past : [disk.present]);
      this.#asksUntilMs.set(name, this.#world.monotonicMs() + ASKS_FOR_MS);
    }
    return true;
  }

  /** For a while, only servers of one group reach one another. */
  split(groups: ReadonlyMap<string, number>, forMs: number): void {
    for (const [name, group] of groups) this.#groups.set(name, group);
    this.#splitUntilMs = this.#world.monotonicMs() + forMs;
  }

  heal(): void {
    this.#splitUntilMs = -Infinity;
  }

  get #majority(): number {
    return Math.floor(this.#names.length / 2) + 1;
  }

  #isUp(name: string): boolean {
    return this.#hosts.get(name)?.clock.alive === true;
  }

  #startAlone(name: string): void {
    const latencyMs = (): number => 0.1 + this.#random.next() * FAIR_WEATHER_MS;
    const network: Network = () => ({ arrivals: [{ afterMs: latencyMs(), replyAfterMs: latencyMs() }] });
    this.#start(name, { clock: new ProcessClock(this.#world), network, isAlone: true });
  }

  #start(name: string, host: Host): VotingLeaseStore {
    this.#hosts.set(name, host);
    const { clock } = host;
    const disk = this.#diskOf(name, clock);
    const transport: Transport = {
      send: (message, timeoutMs) => this.#carry(host, message, timeoutMs),
      listen: (receive) => {
        host.receive = receive;
        return Promise.resolve();
      },
      close: () => Promise.resolve(),
    };
    const server = new Server({ name, names: this.#names, clock, disk, transport });
    host.server = server;
    void server.start();
    return new WatchedStore(server, (lease, elapsedMs) => this.#won(lease, elapsedMs));
  }

  #diskOf(name: string, clock: ProcessClock): Disk {
    const disk = this.#disks.get(name) as Contents;
    return {
      read: () => Promise.resolve(disk.present),
      write: (text) =>
        new Promise((resolve) => {
          this.#world.setTimer(
            () => {
              // A write that a killed process has begun may have happened, or not.
              if (!clock.alive && this.#hosts.get(name)?.clock !== clock) return;
              if (!clock.alive && this.#random.chance(0.5)) return;
              disk.past.push(disk.present);
              if (disk.past.length > KEPT_CONTENTS) disk.past.shift();
              disk.present = text;
              clock.deliver(resolve);
            },
            this.#random.between(0.1, SYNC_MS),
          );
        }),
    };
  }

  /**
   * Carries a message to another server, and its answer back. The effect of the message stays, whatever happens to the sender.
   */
  #carry(host: Host, message: Envelope<Request>, timeoutMs: number): Promise<Envelope<VoterReply>> {
    const { to, from, content } = message;
    this.#transfer.sends(content);
    const asks = content.kind === "TELL" && (this.#asksUntilMs.get(from) ?? -Infinity) > this.#world.monotonicMs();
    const fair: Passage = { arrivals: [{ afterMs: 1, replyAfterMs: 1 }] };
    const passage = asks ? fair : host.network({ operation: content.kind });
    return new Promise((resolve, reject) => {
      const timer = host.clock.setTimer(() => reject(new Error(`${to} does not answer.`)), timeoutMs);
      const answered = (answer: Envelope<VoterReply>): void => {
        timer.cancel();
        resolve(answer);
      };
      for (const { afterMs, replyAfterMs } of passage.arrivals) {
        this.#world.setTimer(() => {
          const receiver = this.#hosts.get(to);
          if (!asks && this.#isSplit(from, to)) return;
          receiver?.clock.deliver(() => {
            void receiver.receive?.(message).then((answer) => {
              if (answer) this.#transfer.answers(message, answer.content, this.#majority, false);
              if (replyAfterMs === undefined || !answer || (!asks && this.#isSplit(to, from))) return;
              this.#world.setTimer(() => host.clock.deliver(() => answered(answer)), replyAfterMs);
            });
          });
        }, afterMs);
      }
      const { breaks } = passage;
      if (breaks) this.#world.setTimer(() => host.clock.deliver(() => reject(breaks.error)), breaks.afterMs);
    });
  }

  #isSplit(one: string, other: string): boolean {
    return this.#world.monotonicMs() < this.#splitUntilMs && this.#groups.get(one) !== this.#groups.get(other);
  }

  /** A candidate was told that it leads, and does so by its clock, which has advanced by `elapsedMs` since its first LEAD. */
  #won({ election, term, termId, candidateId }: Lease, elapsedMs: number): void {
    if (election !== ELECTION) return;
    this.#terms.set(termId, term);
    this.#lastTermId = termId;
    const by = this.#transfer.leads(term, candidateId, this.#world.monotonicMs() - elapsedMs / FASTEST_RATE);
    this.view.granted({ term, termId, candidateId, ...(by === undefined ? {} : { barredBy: { kind: "turn", by } }) });
  }
}
