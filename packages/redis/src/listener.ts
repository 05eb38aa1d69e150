import { sleep, type Clock, type JoinedWatch, type WatchCallbacks } from "@leasehold/core/provider";
import type { Opened, RedisConnections } from "./connections.ts";
import { isAnswer } from "./redis-errors.ts";

/** The longest wait until the server has confirmed a subscription. */
const SUBSCRIBE_TIMEOUT_MS = 10_000;

/** The callbacks of a watch of one channel: `changed` at each message, `failed` when the listening ends. */
export interface Watcher extends WatchCallbacks {
  readonly channel: string;
}

/** A channel that is watched. */
interface Channel {
  readonly watchers: Set<Watcher>;
  /** Resolves once every later message is certain to be heard. */
  readonly begun: Promise<void>;
}

/** Listens on one connection for all watches. The connection is open while at least one watch exists. */
export class RedisListener {
  readonly #connections: RedisConnections;
  readonly #clock: Clock;
  readonly #channels = new Map<string, Channel>();
  #listening: Promise<Opened> | undefined;

  constructor(connections: RedisConnections, clock: Clock) {
    this.#connections = connections;
    this.#clock = clock;
  }

  /**
   * Adds a watch. `listening` resolves once the watch is certain to hear of every later change. It rejects with the error of the
   * client library.
   */
  join(watcher: Watcher): JoinedWatch {
    this.#listening ??= this.#open();
    const known = this.#channels.get(watcher.channel);
    // The channel is subscribed to once, whatever the number of its watches.
    const channel = known ?? { watchers: new Set(), begun: this.#subscribe(this.#listening, watcher.channel) };
    this.#channels.set(watcher.channel, channel);
    channel.watchers.add(watcher);
    return { listening: channel.begun, leave: () => this.#leave(watcher) };
  }

  /** Ends all watches. */
  close(): void {
    this.#fail(this.#listening, new Error("The store was closed."));
  }

  #leave(watcher: Watcher): void {
    const { channel } = watcher;
    const watchers = this.#channels.get(channel)?.watchers;
    if (!watchers?.delete(watcher) || watchers.size > 0) return;
    this.#channels.delete(channel);
    const listening = this.#listening;
    if (this.#channels.size === 0) return this.#end(listening);
    // A channel that nobody watches costs its messages. If it cannot be left, the connection has a fault that shows elsewhere.
    listening?.then(({ connection }) => connection.unsubscribe(channel)).catch(() => undefined);
  }

  #open(): Promise<Opened> {
    const message = (channel: string): void => {
      for (const { changed } of this.#channels.get(channel)?.watchers ?? []) changed();
    };
    const opening: Promise<Opened> = this.#connections.open({ ended: (error) => this.#fail(opening, error), message });
    opening.catch((error: unknown) => this.#fail(opening, error as Error));
    return opening;
  }

  async #subscribe(listening: Promise<Opened>, channel: string): Promise<void> {
    const over = new AbortController();
    try {
      const begin = async (): Promise<void> => {
        const { connection, ready } = await listening;
        await ready;
        await connection.subscribe(channel);
      };
      await Promise.race([begin(), this.#timeLimit(over.signal)]);
    } catch (error) {
      if (isAnswer(error)) this.#failChannel(listening, channel, error as Error);
      else this.#fail(listening, error as Error);
      throw error;
    } finally {
      over.abort();
    }
  }

  /** Ends the watches of a channel to which the server refuses a subscription. The connection is well. */
  #failChannel(listening: Promise<Opened>, channel: string, error: Error): void {
    if (this.#listening !== listening) return;
    const watchers = [...(this.#channels.get(channel)?.watchers ?? [])];
    this.#channels.delete(channel);
    if (this.#channels.size === 0) this.#end(listening);
    for (const { failed } of watchers) failed(error);
  }

  /** Ends a connection, and every watch that listens on it. */
  #fail(listening: Promise<Opened> | undefined, error: Error): void {
    if (this.#listening !== listening) return;
    const watchers = [...this.#channels.values()].flatMap((channel) => [...channel.watchers]);
    this.#channels.clear();
    this.#end(listening);
    for (const { failed } of watchers) failed(error);
  }

  #end(listening: Promise<Opened> | undefined): void {
    if (this.#listening === listening) this.#listening = undefined;
    listening?.then(({ connection }) => this.#connections.close(connection)).catch(() => undefined);
  }

  /** Rejects once a subscription has taken too long, or once `over` aborts. */
  async #timeLimit(over: AbortSignal): Promise<never> {
    await sleep(this.#clock, SUBSCRIBE_TIMEOUT_MS, over);
    throw new Error(`SUBSCRIBE got no answer within ${SUBSCRIBE_TIMEOUT_MS} ms.`);
  }
}
