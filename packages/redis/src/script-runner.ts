import type { Clock, RecordRequestOptions } from "@leasehold/core/provider";
import type { RedisConnections } from "./connections.ts";
import { textOf, type RedisConnection } from "./drivers/driver.ts";
import type { RecordKeys } from "./keys.ts";
import { isLate, isReplica, lacksScript, type RequestLabel } from "./redis-errors.ts";
import { READ, WRITE, type Script } from "./scripts.ts";
import { ServerTime } from "./server-time.ts";

const DEFAULT_TIMEOUT_MS = 5_000;
/**
 * The time for which a write counts after its caller has given it up. A release with a short limit would otherwise never arrive.
 * It also covers clocks that run at different rates.
 */
const GRACE_MS = 1_000;
/** A write that a server refuses as late is sent once more, with a new deadline by the time in the refusal. */
const TRIES = 2;

/** An answer of a script, without the server's time. */
export interface ScriptReply {
  /** The server's clock, in microseconds since the Unix epoch. */
  readonly nowUs: number;
  /** The name of that clock; empty if the server does not return it. */
  readonly server: string;
  readonly kind: string;
  readonly fields: ReadonlyArray<string | undefined>;
}

/** Runs the scripts on the connections of a store. */
export class ScriptRunner {
  readonly #connections: RedisConnections;
  readonly #clock: Clock;
  readonly #time: ServerTime;

  constructor(connections: RedisConnections, clock: Clock) {
    this.#connections = connections;
    this.#clock = clock;
    this.#time = new ServerTime(clock);
  }

  async read(keys: RecordKeys, label: RequestLabel, { signal }: RecordRequestOptions): Promise<ScriptReply> {
    return await this.#connections.use(label, { signal }, (connection) => this.#run(connection, READ, keys, [], label, signal));
  }

  /**
   * Runs the script of a write. Its server refuses it a second after the time of the request. So a write that was held back for
   * longer does nothing.
   *
   * @param argumentsOf returns the arguments of the script, which begin with the server's name and the time.
   */
  async write(
    keys: RecordKeys,
    { before, after }: { readonly before: readonly string[]; readonly after: readonly string[] },
    label: RequestLabel,
    { signal, timeoutMs = DEFAULT_TIMEOUT_MS }: RecordRequestOptions,
  ): Promise<ScriptReply> {
    const untilMs = this.#clock.monotonicMs() + timeoutMs + GRACE_MS;
    return await this.#connections.use(label, { signal }, async (connection) => {
      for (let tries = 0; tries < TRIES; tries += 1) {
        const { server, deadlineUs } = this.#time.deadline(keys.record, untilMs - this.#clock.monotonicMs());
        const reply = await this.#run(connection, WRITE, keys, [...before, server, deadlineUs, ...after], label, signal);
        if (reply.kind !== "late") return reply;
        signal.throwIfAborted();
      }
      throw isLate(label);
    });
  }

  async #run(
    connection: RedisConnection,
    script: Script,
    keys: RecordKeys,
    values: readonly string[],
    label: RequestLabel,
    signal: AbortSignal,
  ): Promise<ScriptReply> {
    const parameters = ["2", keys.record, keys.fence, ...values];
    const sentMs = this.#clock.monotonicMs();
    let reply: unknown;
    try {
      reply = await connection.send(keys.record, ["EVALSHA", script.sha, ...parameters], signal);
    } catch (error) {
      if (!lacksScript(error)) throw error;
      signal.throwIfAborted();
      reply = await connection.send(keys.record, ["EVAL", script.text, ...parameters], signal);
    }
    const decoded = decode(reply);
    if (decoded.kind === "replica") throw isReplica(label);
    this.#time.learn(keys.record, decoded.server, decoded.nowUs, sentMs);
    return decoded;
  }
}

/** @throws {Error} for an answer that no script of ours gives, for instance that of a proxy. */
function decode(reply: unknown): ScriptReply {
  const [now, server, kind, ...fields] = Array.isArray(reply) ? reply.map(textOf) : [];
  if (now === undefined || server === undefined || kind === undefined || !/^\d+$/.test(now)) {
    throw new Error("the answer is not the script's");
  }
  return { nowUs: Number(now), server, kind, fields };
}
