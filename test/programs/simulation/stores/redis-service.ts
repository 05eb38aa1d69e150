import { EventEmitter } from "node:events";
import type { LeaseRecord, RecordStore } from "@leasehold/core/provider";
import { carry, type AcceptedWrite, type Network, type ProcessClock, type VirtualClock } from "@leasehold/core/testing";
import { RedisLeaseStore } from "@leasehold/redis";
import { RedisModel } from "@leasehold/test-kit/simulated/redis-model";
import { electionOf, leaseKeys } from "../../../../packages/redis/src/keys.ts";
import { READ, WRITE } from "../../../../packages/redis/src/scripts.ts";
import type { RecordService } from "./record-store.ts";
import type { ConnectionFault, ConnectionFaults } from "./simulated-store.ts";

const PREFIX = "leasehold:";
/** The service's clock when the world's is zero, in milliseconds since the Unix epoch. */
const EPOCH_MS = 1_700_000_000_000;

/**
 * Redis in virtual time, as the real provider reaches it through a client that behaves like ioredis. The scripts are a model in
 * TypeScript, which a test compares with a server.
 */
export class RedisService implements RecordService {
  readonly connections: ConnectionFaults = {
    befall: (fault, process) => {
      for (const one of this.#connected) if (process === undefined || one.process === process) one.fault = fault;
    },
  };
  onAccepted: ((write: AcceptedWrite) => void) | undefined;
  readonly #world: VirtualClock;
  readonly #rate: number;
  readonly #connected = new Set<Connection>();
  #offsetMs = 0;
  #server = 1;
  #model = new RedisModel();
  /** The state of the replica while it is cut off. */
  #durable: RedisModel | undefined;

  constructor(world: VirtualClock, clockRate: number) {
    this.#world = world;
    this.#rate = clockRate;
  }

  connect(process: ProcessClock, network: Network): RecordStore {
    return new RedisLeaseStore({ client: new Client(this, this.#world, process, network), clock: process, prefix: PREFIX })
      .records;
  }

  join(connection: Connection): void {
    this.#connected.add(connection);
  }

  leave(connection: Connection): void {
    this.#connected.delete(connection);
  }

  /** Runs a script at its arrival. @param sentMs when a process sent it, in true time. */
  run(
    script: string,
    keys: readonly [string, string],
    values: readonly string[],
    sentMs: number,
  ): readonly unknown[] | Promise<never> {
    const nowUs = Math.round(this.#nowMs() * 1_000);
    const server = `server-${this.#server}`;
    if (script === READ.sha) return this.#model.read(keys, nowUs, server);
    const before = this.#recordOf(keys[0]);
    const reply = this.#model.write(keys, values, nowUs, server);
    if (reply[2] !== "written") return reply;
    const election = electionOf(PREFIX, keys[0]) ?? "";
    const record = this.#recordOf(keys[0]) as LeaseRecord;
    this.onAccepted?.({ election, before, record, atMs: this.#world.monotonicMs(), sentMs });
    if (values.at(-1) !== "") for (const { push } of this.#connected) push(keys[0]);
    // While the replica is cut off, a write is shown and not acknowledged.
    return this.#durable ? new Promise(() => undefined) : reply;
  }

  admits(election: string, { term, termId }: { readonly term: number; readonly termId: string }): boolean {
    return this.#model.fence(leaseKeys(PREFIX, election).fence) === `${term} ${termId}`;
  }

  overwrite(election: string, data: unknown): void {
    const nowUs = Math.round(this.#nowMs() * 1_000);
    this.#model.overwrite(leaseKeys(PREFIX, election).record, JSON.stringify(data), this.#world.randomUuid(), nowUs);
  }

  stepClock(ms: number): void {
    this.#offsetMs += ms;
  }

  /** Another server takes over. Every connection to the former one breaks. */
  failOver(aheadMs: number): void {
    this.#server += 1;
    this.#model = this.#durable ?? this.#model;
    this.#durable = undefined;
    this.stepClock(aheadMs);
    for (const connection of [...this.#connected]) connection.break();
  }

  cutOff(): void {
    this.#durable ??= this.#model.copy();
  }

  rejoin(): void {
    this.#durable = undefined;
  }

  #nowMs(): number {
    return EPOCH_MS + this.#world.monotonicMs() * this.#rate + this.#offsetMs;
  }

  #recordOf(key: string): LeaseRecord | undefined {
    const record = this.#model.record(key);
    return record === undefined ? undefined : (JSON.parse(record) as LeaseRecord);
  }
}

/** The user's client, which is never connected. */
class Client {
  readonly #connect: () => Connection;

  constructor(service: RedisService, world: VirtualClock, process: ProcessClock, network: Network) {
    this.#connect = () => new Connection(service, world, process, network);
  }

  duplicate(): Connection {
    return this.#connect();
  }

  call(): never {
    throw new Error("The store used the user's own connection.");
  }

  connect(): never {
    return this.call();
  }
}

/** A connection of the store's own. */
class Connection extends EventEmitter {
  readonly process: ProcessClock;
  fault: ConnectionFault | undefined;
  readonly #service: RedisService;
  readonly #world: VirtualClock;
  readonly #network: Network;
  readonly #channels = new Set<string>();
  readonly #broken = Promise.withResolvers<never>();

  constructor(service: RedisService, world: VirtualClock, process: ProcessClock, network: Network) {
    super();
    this.process = process;
    this.#service = service;
    this.#world = world;
    this.#network = network;
    this.#broken.promise.catch(() => undefined);
  }

  connect(): Promise<void> {
    this.#service.join(this);
    return Promise.resolve();
  }

  disconnect(): void {
    this.#service.leave(this);
    this.#broken.reject(new Error("Connection is closed."));
  }

  /** Ends the connection, and tells its process. */
  break(): void {
    this.disconnect();
    this.process.deliver(() => void this.emit("end"));
  }

  async call(command: string, ...args: string[]): Promise<unknown> {
    const [script = "", , record = "", fence = "", ...values] = args;
    if (command !== "EVALSHA" || (script !== READ.sha && script !== WRITE.sha))
      throw new Error(`ERR unknown command '${command}'`);
    const passage = this.#network({ operation: script === READ.sha ? "get" : "put" });
    const sentMs = this.#world.monotonicMs();
    if (this.fault === "dead") return await this.#broken.promise;
    const { fault } = this;
    const serve = (): readonly unknown[] | Promise<never> =>
      fault === "read-only" ? ["0", "", "replica"] : this.#service.run(script, [record, fence], values, sentMs);
    return await Promise.race([carry(this.#world, this.process, passage, serve), this.#broken.promise]);
  }

  async subscribe(channel: string): Promise<void> {
    const begun = Promise.withResolvers<void>();
    this.#channels.add(channel);
    this.#push(true, () => begun.resolve());
    await Promise.race([begun.promise, this.#broken.promise]);
  }

  unsubscribe(channel: string): Promise<void> {
    this.#channels.delete(channel);
    return Promise.resolve();
  }

  readonly push = (channel: string): void => {
    if (this.#channels.has(channel) && this.fault !== "dead") this.#push(false, () => void this.emit("message", channel, ""));
  };

  #push(begins: boolean, arrive: () => void): void {
    for (const { replyAfterMs } of this.#network({ operation: "watch", begins }).arrivals) {
      if (replyAfterMs !== undefined) this.#world.setTimer(() => this.process.deliver(arrive), replyAfterMs);
    }
  }
}
