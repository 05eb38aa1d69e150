import { type AcquireOutcome, type AcquireRequest, type Clock, type Lease, sleep } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import {
  Server,
  VotingLeaseStore,
  type VoterReply,
  type Disk,
  type Envelope,
  type Request,
  type ServerOptions,
  type Transport,
} from "../src/simulation.ts";

/** Servers in virtual time. At first, messages take a millisecond each way, and the disks work. */
export class Cluster {
  readonly clock: VirtualClock = new VirtualClock(7);
  readonly names: readonly string[];
  readonly servers = new Map<string, Server>();
  readonly disks = new Map<string, string | undefined>();
  /** Disks that fail, and disks that hang. Then servers that cannot be reached, and servers that get no answers. */
  readonly broken = new Set<string>();
  readonly hanging = new Set<string>();
  readonly away = new Set<string>();
  readonly deaf = new Set<string>();
  /** Further options for a server that starts. */
  others: (name: string) => Partial<ServerOptions> = () => ({});
  /** The time that a message takes, each way. */
  latencyMs = 1;
  /** All requests from one server to another, without pings. */
  readonly sent: Envelope<Request>[] = [];
  readonly #stores = new WeakMap<Server, VotingLeaseStore>();
  readonly #receivers = new Map<string, (message: Envelope<Request>) => Promise<Envelope<VoterReply> | undefined>>();

  constructor(count = 3) {
    this.names = Array.from({ length: count }, (_, index) => String.fromCharCode(97 + index));
  }

  /** Starts all servers, and waits until they take part. */
  async start(): Promise<void> {
    for (const name of this.names) this.startOne(name);
    await this.clock.advance(1_000);
  }

  startOne(name: string, clock: Clock = this.clock): Server {
    const { names } = this;
    const disk: Disk = {
      read: () => Promise.resolve(this.disks.get(name)),
      write: (text) => {
        if (this.broken.has(name)) return Promise.reject(new Error("no space left"));
        if (this.hanging.has(name)) return new Promise(() => {});
        this.disks.set(name, text);
        return Promise.resolve();
      },
    };
    const transport: Transport = {
      send: (message, timeoutMs) => this.#send(message, clock, timeoutMs),
      listen: (receive) => {
        this.#receivers.set(name, receive);
        return Promise.resolve();
      },
      close: () => Promise.resolve(void this.#receivers.delete(name)),
    };
    const server = new Server({ name, names, clock, disk, transport, ...this.others(name) });
    this.servers.set(name, server);
    void server.start();
    return server;
  }

  server(name: string): Server {
    const server = this.servers.get(name);
    if (!server) throw new Error(`There is no server ${name}.`);
    return server;
  }

  /** The store of a server's present start. */
  store(name: string): VotingLeaseStore {
    const server = this.server(name);
    const store = this.#stores.get(server) ?? new VotingLeaseStore(server);
    this.#stores.set(server, store);
    return store;
  }

  async acquire(name: string, request: AcquireRequest): Promise<AcquireOutcome> {
    return await this.clock.runUntil(this.store(name).acquire(request));
  }

  /** Claims, and must win. */
  async wins(name: string, request: AcquireRequest): Promise<Lease> {
    const outcome = await this.acquire(name, request);
    if (!outcome.acquired) throw new Error(`${name} was not elected.`);
    return outcome.lease;
  }

  /** Delivers a message, perhaps once more. */
  async deliver(message: Envelope<Request>): Promise<Envelope<VoterReply> | undefined> {
    return await this.#receivers.get(message.to)?.(message);
  }

  /** Carries a message to its receiver, and returns the answer; undefined if one of them is lost. */
  protected async carry(message: Envelope<Request>, _timeoutMs?: number): Promise<Envelope<VoterReply> | undefined> {
    const { to, from } = message;
    if (this.away.has(to) || this.away.has(from)) return undefined;
    await sleep(this.clock, this.latencyMs);
    const answer = await this.deliver(message);
    await sleep(this.clock, this.latencyMs);
    return this.deaf.has(from) ? undefined : answer;
  }

  async #send(message: Envelope<Request>, clock: Clock, timeoutMs: number): Promise<Envelope<VoterReply>> {
    if (message.content.kind !== "PING") this.sent.push(message);
    return await new Promise((resolve, reject) => {
      const timer = clock.setTimer(() => reject(new Error(`${message.to} does not answer.`)), timeoutMs);
      void this.carry(message, timeoutMs).then((answer) => {
        if (!answer) return;
        timer.cancel();
        resolve(answer);
      });
    });
  }
}

/** The same clock, with its wall clock off by `byMs`. */
export function shifted(clock: Clock, byMs: () => number): Clock {
  return {
    monotonicMs: () => clock.monotonicMs(),
    wallMs: () => clock.wallMs() + byMs(),
    setTimer: (callback, delayMs) => clock.setTimer(callback, delayMs),
    random: () => clock.random(),
    randomUuid: () => clock.randomUuid(),
  };
}
