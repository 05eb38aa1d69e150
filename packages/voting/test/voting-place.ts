import { setImmediate as turn } from "node:timers/promises";
import type { Faults, HeldRequests, TestEnvironment, UnreliableConnection } from "@leasehold/conformance";
import type { Clock } from "@leasehold/core/provider";
import type { LeaseStore } from "@leasehold/core";
import type { VirtualClock } from "@leasehold/core/testing";
import { VotingLeaseStore, type VoterReply, type Envelope, type Request } from "../src/simulation.ts";
import { Cluster } from "./cluster.ts";

const STEP_MS = 5;
/** Longer than voters hold their answers to a trial. */
const HOLD_MS = 60;

type Answered = Envelope<VoterReply> | undefined;

/** Servers whose messages take no time, one of them with a network that may fail. */
class FallibleCluster extends Cluster {
  override latencyMs = 0;
  unreliable: string | undefined;
  /** The fate of each message from or to the unreliable server. */
  fate: (deliver: () => Promise<Answered>) => Promise<Answered> = (deliver) => deliver();

  protected override async carry(message: Envelope<Request>): Promise<Answered> {
    const deliver = (): Promise<Answered> => this.deliver(message);
    const isSafe = message.from !== this.unreliable && message.to !== this.unreliable;
    return await (isSafe ? deliver() : this.fate(deliver));
  }
}

/**
 * Servers in one process and in virtual time. Time advances while claims are under way, because voters hold their answers to
 * trials. Each connection has a server to itself while there are unused ones. After that, it shares a process with others.
 */
export class VotingPlace implements TestEnvironment {
  readonly clock: VirtualClock;
  readonly #cluster: FallibleCluster;
  readonly #unused: string[];
  readonly #connected: LeaseStore[] = [];
  #again = 0;
  #callsUnderWay = 0;
  #moveToMs = 0;
  #isMoving = false;
  /** Serializes the moves of time. */
  #moved: Promise<void> = Promise.resolve();

  /** Absent if every server is needed. */
  readonly connectWith?: (clock: Clock) => Promise<LeaseStore>;
  readonly connectUnreliably?: () => Promise<UnreliableConnection>;

  private constructor(cluster: FallibleCluster) {
    this.#cluster = cluster;
    this.clock = cluster.clock;
    this.#unused = [...cluster.names];
    if (cluster.names.length < 3) return;
    this.connectWith = (clock) => this.#startAgain(clock);
    this.connectUnreliably = () => {
      cluster.unreliable ??= this.#unused.pop()!;
      return Promise.resolve({ store: this.#store(cluster.unreliable), faults: this.#faults() });
    };
  }

  static async open(servers: number): Promise<VotingPlace> {
    const cluster = new FallibleCluster(servers);
    await cluster.start();
    return new VotingPlace(cluster);
  }

  connect(): Promise<LeaseStore> {
    const name = this.#unused.shift();
    const store = name === undefined ? this.#connected[this.#again++ % this.#connected.length]! : this.#store(name);
    if (name !== undefined) this.#connected.push(store);
    return Promise.resolve(store);
  }

  /** Starts one server again, with a clock of its own. */
  async #startAgain(clock: Clock): Promise<LeaseStore> {
    const name = this.#unused.pop();
    if (name === undefined) throw new Error("Every server has a process already.");
    await this.#cluster.server(name).close();
    const server = this.#cluster.startOne(name, clock);
    while (!server.takesPart) await this.pass(STEP_MS);
    return this.#store(name);
  }

  async pass(ms: number): Promise<void> {
    this.#moved = this.#moved.then(() => this.clock.advance(ms));
    await this.#moved;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.#cluster.servers.values()) await server.close();
  }

  #store(name: string): LeaseStore {
    const drive = <T>(call: Promise<T>): Promise<T> => this.#drive(call);
    return new (class extends VotingLeaseStore {
      override acquire(...args: Parameters<LeaseStore["acquire"]>): ReturnType<LeaseStore["acquire"]> {
        return drive(super.acquire(...args));
      }
      override check(...args: Parameters<LeaseStore["check"]>): ReturnType<LeaseStore["check"]> {
        return drive(super.check(...args));
      }
    })(this.#cluster.server(name));
  }

  /** Advances time until the call has ended. Stops before the call could run out of time. */
  async #drive<T>(call: Promise<T>): Promise<T> {
    this.#callsUnderWay += 1;
    this.#moveToMs = this.clock.monotonicMs() + HOLD_MS;
    void this.#move();
    try {
      return await call;
    } finally {
      // First handle everything that happens at the same instant.
      await this.pass(0);
      this.#callsUnderWay -= 1;
    }
  }

  async #move(): Promise<void> {
    if (this.#isMoving) return;
    this.#isMoving = true;
    while (this.#callsUnderWay > 0 && this.clock.monotonicMs() < this.#moveToMs) {
      await turn();
      if (this.#callsUnderWay > 0) await this.pass(STEP_MS);
    }
    this.#isMoving = false;
  }

  #faults(): Faults {
    const cluster = this.#cluster;
    const set = (fate: FallibleCluster["fate"]): Promise<void> => Promise.resolve(void (cluster.fate = fate));
    const never: Answered = undefined;
    const drive = <T>(answers: Promise<T>): Promise<T> => this.#drive(answers);
    return {
      loseRequests: () => set(() => Promise.resolve(never)),
      loseReplies: () => set((deliver) => deliver().then(() => never)),
      duplicate: () => set((deliver) => deliver().then(deliver)),
      heal: () => set((deliver) => deliver()),
      async hold(): Promise<HeldRequests> {
        const arrived = Promise.withResolvers<void>();
        const letGo = Promise.withResolvers<void>();
        const carriedOut: Array<Promise<unknown>> = [];
        await set((deliver) => {
          arrived.resolve();
          const answer = letGo.promise.then(deliver);
          carriedOut.push(answer);
          return answer;
        });
        return {
          arrived: arrived.promise,
          async letGo() {
            letGo.resolve();
            await drive(Promise.all(carriedOut));
          },
        };
      },
    };
  }
}
