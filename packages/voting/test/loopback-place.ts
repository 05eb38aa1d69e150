import { rm } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import type { Faults, HeldRequests, TestEnvironment, UnreliableConnection } from "@leasehold/conformance";
import type { Clock } from "@leasehold/core/provider";
import type { LeaseStore } from "@leasehold/core";
import { freePort } from "@leasehold/test-kit/backends/free-port";
import { memoryFolder } from "@leasehold/test-kit/backends/memory-folder";
import { MovedTime } from "@leasehold/test-kit/conformance/moved-time";
import { TcpNetwork } from "@leasehold/test-kit/conformance/tcp-network";
import { VotingLeaseStore } from "@leasehold/voting";
import { openServer, type OpenServer } from "../src/open-server.ts";

const NAMES = ["a", "b", "c"] as const;
type Name = (typeof NAMES)[number];
/** The server whose network may fail. */
const UNRELIABLE = "c";
const LOOK_MS = 2;

/** The time from when the network works until it fails again. */
class FairTime {
  /** The requests that began in it and have not ended. */
  requests = 0;
  readonly #failure = Promise.withResolvers<void>();

  get end(): Promise<void> {
    return this.#failure.promise;
  }

  fail(): void {
    this.#failure.resolve();
  }
}

/**
 * Three servers on ports of loopback, with directories of their own, in moved time. All messages between one of them and the
 * others pass a network that can fail.
 */
export class LoopbackPlace implements TestEnvironment {
  readonly #folder: string;
  readonly #ports: Readonly<Record<Name, number>>;
  /** The networks to a and b, and to the unreliable server. */
  readonly #networks: Readonly<Record<Name, TcpNetwork>>;
  readonly #open = new Map<Name, OpenServer>();
  readonly #unused: Name[] = [...NAMES];
  readonly #connected: LeaseStore[] = [];
  #again = 0;
  /** `undefined` while the network fails. */
  #fairTime: FairTime | undefined = new FairTime();
  /** The time of the servers and of their processes. */
  readonly #time = new MovedTime({ advance: () => Promise.resolve() });

  private constructor(folder: string, ports: Readonly<Record<Name, number>>, networks: Readonly<Record<Name, TcpNetwork>>) {
    this.#folder = folder;
    this.#ports = ports;
    this.#networks = networks;
  }

  static async open(): Promise<LoopbackPlace> {
    const folder = await memoryFolder("leasehold-loopback-");
    const ports = { a: await freePort(), b: await freePort(), c: await freePort() };
    const networks = { a: await TcpNetwork.open(ports.a), b: await TcpNetwork.open(ports.b), c: await TcpNetwork.open(ports.c) };
    const place = new LoopbackPlace(folder, ports, networks);
    await Promise.all(NAMES.map((name) => place.#start(name, place.clock)));
    await Promise.all(NAMES.map((name) => place.#takesPart(name)));
    return place;
  }

  get clock(): Clock {
    return this.#time.clock;
  }

  connect(): Promise<LeaseStore> {
    const name = this.#unused.shift();
    const store = name === undefined ? this.#connected[this.#again++ % this.#connected.length]! : this.#store(name);
    if (name !== undefined) this.#connected.push(store);
    return Promise.resolve(store);
  }

  /** Starts one server again, with a clock of its own. */
  async connectWith(clock: Clock): Promise<LeaseStore> {
    const name = this.#unused.pop();
    if (name === undefined) throw new Error("Every server has a process already.");
    await this.#open.get(name)?.close();
    await this.#start(name, clock);
    await this.#takesPart(name);
    return this.#store(name);
  }

  connectUnreliably(): Promise<UnreliableConnection> {
    if (this.#unused.at(-1) === UNRELIABLE) this.#unused.pop();
    return Promise.resolve({ store: this.#store(UNRELIABLE), faults: this.#faults() });
  }

  async pass(ms: number): Promise<void> {
    await this.#time.pass(ms);
    await this.#quiet();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#open.values()].map(({ close }) => close()));
    await Promise.all(Object.values(this.#networks).map((network) => network[Symbol.asyncDispose]()));
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }

  /**
   * A call ends once the requests have ended for which it does not wait; until then time is not moved. If the network fails, a
   * request of the unreliable server may take long. The two others are a majority.
   */
  #store(name: Name): LeaseStore {
    const quietly = async <T>(call: Promise<T>): Promise<T> => {
      const settled = this.#time.awaiting(name === UNRELIABLE ? this.#networkFails() : undefined);
      try {
        const result = await call;
        await this.#quiet();
        return result;
      } finally {
        settled();
      }
    };
    return new (class extends VotingLeaseStore {
      override acquire(...args: Parameters<LeaseStore["acquire"]>): ReturnType<LeaseStore["acquire"]> {
        return quietly(super.acquire(...args));
      }
      override renew(...args: Parameters<LeaseStore["renew"]>): ReturnType<LeaseStore["renew"]> {
        return quietly(super.renew(...args));
      }
      override release(...args: Parameters<LeaseStore["release"]>): ReturnType<LeaseStore["release"]> {
        return quietly(super.release(...args));
      }
      override read(...args: Parameters<LeaseStore["read"]>): ReturnType<LeaseStore["read"]> {
        return quietly(super.read(...args));
      }
    })(this.#open.get(name)!.server);
  }

  async #start(server: Name, clock: Clock): Promise<void> {
    const servers = Object.fromEntries(NAMES.map((name) => [name, `http://127.0.0.1:${this.#portFor(server, name)}`]));
    const secret = "a secret of servers";
    const stateDirectory = `${this.#folder}/${server}`;
    const open = await openServer({ server, servers, secret, stateDirectory, clock });
    const ask = open.server.ask.bind(open.server);
    open.server.ask = async (...args) => {
      const fairTime = this.#fairTime;
      const settled = this.#time.awaiting(this.#networkFails());
      if (fairTime) fairTime.requests += 1;
      return await ask(...args).finally(() => {
        if (fairTime) fairTime.requests -= 1;
        settled();
      });
    };
    this.#open.set(server, open);
  }

  /** The port at which one server reaches another. */
  #portFor(from: Name, to: Name): number {
    const isDirect = from === to || (from !== UNRELIABLE && to !== UNRELIABLE);
    return isDirect ? this.#ports[to] : this.#networks[to].port;
  }

  async #takesPart(name: Name): Promise<void> {
    while (!this.#open.get(name)!.server.takesPart) await delay(LOOK_MS);
  }

  /** Resolves once the network fails, after which a request may take long. */
  #networkFails(): Promise<void> {
    return this.#fairTime?.end ?? Promise.resolve();
  }

  /** Resolves once every request has ended, except those that the network held or lost. */
  async #quiet(): Promise<void> {
    while (this.#fairTime && this.#fairTime.requests > 0) await delay(LOOK_MS);
  }

  /** Faults of all networks at once. */
  #faults(): Faults {
    const { a, b, c } = this.#networks;
    const all = async (act: (network: TcpNetwork) => Promise<void>): Promise<void> => {
      await Promise.all([a, b, c].map(act));
    };
    const fail = (): void => {
      this.#fairTime?.fail();
      this.#fairTime = undefined;
    };
    return {
      loseRequests: async () => {
        fail();
        await all((network) => network.loseRequests());
      },
      loseReplies: async () => {
        fail();
        await all((network) => network.loseReplies());
      },
      heal: async () => {
        this.#fairTime ??= new FairTime();
        await all((network) => network.heal());
      },
      hold: async (): Promise<HeldRequests> => {
        fail();
        const outward = await Promise.all([a.hold(), b.hold()]);
        const inward = await c.hold();
        // The unreliable server sends each request to both others.
        const arrived = Promise.all(outward.map((held) => held.arrived)).then(() => undefined);
        return { arrived, letGo: async () => void (await Promise.all([...outward, inward].map((held) => held.letGo()))) };
      },
    };
  }
}
