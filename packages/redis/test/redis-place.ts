import type { GuardedText, TestEnvironment, UnreliableConnection } from "@leasehold/conformance";
import type { Clock } from "@leasehold/core/provider";
import { RedisLeaseStore } from "@leasehold/redis";
import { guardedText } from "@leasehold/test-kit/conformance/guarded-text";
import { MovedTime, type StoreOptions } from "@leasehold/test-kit/conformance/moved-time";
import { TcpNetwork } from "@leasehold/test-kit/conformance/tcp-network";
import { warmUp } from "@leasehold/test-kit/conformance/warm-up";
import { redis as testStore } from "@leasehold/test-kit/stores/redis";
import type { OpenStore } from "@leasehold/test-kit/stores/test-store";
import type { Redis } from "ioredis";

/** Makes the user's client of one process. A client that the store uses itself is closed at the end. */
export type MakeClient = (port: number) => object | Promise<{ close(): void }>;

/** Makes every time that a place's hashes have earlier, by a number of microseconds. */
const EARLIER = `
for _, key in ipairs(redis.call('KEYS', ARGV[1])) do
  if redis.call('TYPE', key).ok == 'hash' then
    local at = redis.call('HGET', key, 'nonceAt')
    if at then redis.call('HSET', key, 'nonceAt', string.format('%.0f', at - ARGV[2])) end
    local ttl = redis.call('PTTL', key)
    if ttl >= 0 then redis.call('PEXPIRE', key, math.max(ttl - math.floor(ARGV[2] / 1000), 0)) end
  end
end`;

/** A prefix of its own in a server. To move the server's clock, this makes every stored time earlier, which is the same for a store. */
export class RedisPlace implements TestEnvironment {
  readonly #admin: Redis;
  readonly #port: number;
  readonly #service: number;
  readonly #prefix: string;
  readonly #client: MakeClient;
  readonly #time: MovedTime;
  readonly #opened = new AsyncDisposableStack();
  #network: TcpNetwork | undefined;
  #guarding: OpenStore | undefined;

  /** @param service the port that the client is for. Upstash's is not that of the server. */
  constructor(admin: Redis, port: number, prefix: string, client: MakeClient, service = port) {
    this.#admin = admin;
    this.#port = port;
    this.#service = service;
    this.#prefix = prefix;
    this.#client = client;
    this.#time = new MovedTime({
      advance: async (ms) => void (await admin.eval(EARLIER, 0, `${prefix}*`, Math.round(ms * 1_000))),
    });
  }

  get clock(): Clock {
    return this.#time.clock;
  }

  async connect(): Promise<RedisLeaseStore> {
    return await this.connectWith(this.clock);
  }

  async connectWith(clock: Clock): Promise<RedisLeaseStore> {
    return await this.#store(this.#service, { clock });
  }

  async pass(ms: number): Promise<void> {
    await this.#time.pass(ms);
  }

  async connectUnreliably(): Promise<UnreliableConnection> {
    const network = this.#network ?? (await TcpNetwork.open(this.#service));
    this.#network = network;
    const store = await this.#store(network.port, { farthest: () => network.farthest });
    await warmUp(store);
    return { store, faults: network };
  }

  async guard(): Promise<GuardedText> {
    this.#guarding = await testStore.open({ store: "redis", url: `redis://127.0.0.1:${this.#port}`, prefix: this.#prefix });
    return guardedText(this.#guarding);
  }

  async writeRaw(election: string, what: "foreign" | "newer-schema"): Promise<void> {
    if (what === "foreign") await this.#admin.set(this.#key(election), "do not touch");
    else await this.#admin.hset(this.#key(election), { version: "theirs", record: JSON.stringify({ schema: 2 }) });
  }

  async readRaw(election: string): Promise<unknown> {
    return (await this.#admin.dump(this.#key(election))) ?? undefined;
  }

  async remove(election: string): Promise<void> {
    await this.#admin.del(this.#key(election));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#time.stop();
    await this.#opened.disposeAsync();
    await this.#guarding?.close();
    await this.#network?.[Symbol.asyncDispose]();
  }

  #key(election: string): string {
    return `${this.#prefix}{${election}}`;
  }

  async #store(port: number, options: StoreOptions): Promise<RedisLeaseStore> {
    const client = await this.#client(port);
    const make = (clock: Clock): RedisLeaseStore => new RedisLeaseStore({ client, prefix: this.#prefix, clock });
    if (!("duplicate" in client) && "close" in client) this.#opened.defer(() => client.close());
    return this.#opened.use(this.#time.store(make, options));
  }
}
