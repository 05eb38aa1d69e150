import {
  errorOf,
  handled,
  slotNotServed,
  type ConnectionEvents,
  type Emitter,
  type RedisConnection,
  type RedisDriver,
  type Send,
} from "./driver.ts";

interface CommandOptions {
  readonly abortSignal: AbortSignal;
  readonly typeMapping: object;
}
type Listener = (message: unknown, channel: string) => void;

/** The parts of a client of `redis` that are used here. */
interface NodeRedis extends Emitter {
  readonly isOpen: boolean;
  readonly options?: { readonly socket?: object } | undefined;
  connect(): Promise<unknown>;
  destroy(): void;
  sendCommand(command: readonly string[], options: CommandOptions): Promise<unknown>;
  subscribe(channel: string, listener: Listener): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  duplicate(override: object): NodeRedis;
}

/** The parts of its cluster. */
interface NodeCluster extends Emitter {
  readonly isOpen: boolean;
  readonly masters: readonly object[];
  connect(): Promise<unknown>;
  destroy(): void;
  nodeClient(node: object): Promise<NodeRedis> | NodeRedis;
  sendCommand(key: string, isReadonly: boolean, command: readonly string[], options: CommandOptions): Promise<unknown>;
  sSubscribe(channel: string, listener: Listener): Promise<unknown>;
  sUnsubscribe(channel: string): Promise<unknown>;
  duplicate(override: object): NodeCluster;
}

/** The library has no way to have all node clients of a cluster fail at once while they connect: the servers refuse late writes. */
const CLUSTER = { useReplicas: false, minimizeConnections: true };

/** Returns whether the object is a client or a cluster of `redis`. */
export function isNodeRedis(client: object): client is NodeRedis | NodeCluster {
  const { duplicate, sendCommand, connect, destroy } = client as Partial<NodeRedis>;
  return [duplicate, sendCommand, connect, destroy].every((one) => typeof one === "function");
}

/** Returns whether the object is a sentinel of `redis`. It has the functions of a client, with other parameters. */
export function isNodeSentinel(client: object): boolean {
  return typeof (client as { readonly getSentinelNode?: unknown }).getSentinelNode === "function";
}

export function nodeRedisDriver(client: NodeRedis | NodeCluster): RedisDriver {
  if ("nodeClient" in client) {
    return { publish: "SPUBLISH", open: (events) => openedCluster(client.duplicate(CLUSTER), events) };
  }
  return { publish: "PUBLISH", open: (events) => opened(client.duplicate(atOnce(client)), events) };
}

/** Nothing waits for a connection, and a lost connection is not made again. */
function atOnce({ options }: NodeRedis): object {
  return { disableOfflineQueue: true, socket: { ...options?.socket, reconnectStrategy: false } };
}

function opened(client: NodeRedis, { ended, message }: ConnectionEvents): RedisConnection {
  // Without a strategy to reconnect, each error is the last one.
  client.on("error", (error: unknown) => ended(errorOf(error)));
  return {
    ready: connected(client),
    send: (_, command, signal) => client.sendCommand(command, plain(signal)),
    primaries: () => Promise.resolve([(command, signal) => client.sendCommand(command, plain(signal))]),
    subscribe: async (channel) => void (await client.subscribe(channel, (_, on) => message(on))),
    unsubscribe: async (channel) => void (await client.unsubscribe(channel)),
    close: () => close(client),
  };
}

function openedCluster(cluster: NodeCluster, { message }: ConnectionEvents): RedisConnection {
  let cause: unknown;
  // A node's error is no end of the cluster: the next request finds out.
  cluster.on("error", (error: unknown) => (cause = error));
  const connect = async (): Promise<void> => {
    // The rejection says only that no node is available. The event has the cause.
    await connected(cluster).catch((error: unknown) => {
      throw cause ?? error;
    });
  };
  return {
    ready: handled(connect()),
    send: async (key, command, signal) => {
      try {
        return await cluster.sendCommand(key, false, command, plain(signal));
      } catch (error) {
        // The library looks up the server of a slot that has none.
        throw error instanceof TypeError ? slotNotServed(error) : error;
      }
    },
    primaries: async () => {
      const clients = await Promise.all(cluster.masters.map(async (node) => await cluster.nodeClient(node)));
      return clients.map(
        (client): Send =>
          (command, signal) =>
            client.sendCommand(command, plain(signal)),
      );
    },
    subscribe: async (channel) => void (await cluster.sSubscribe(channel, (_, on) => message(on))),
    unsubscribe: async (channel) => void (await cluster.sUnsubscribe(channel)),
    close: () => close(cluster),
  };
}

function connected(client: NodeRedis | NodeCluster): Promise<void> {
  return handled(client.connect().then(() => undefined));
}

function close(client: NodeRedis | NodeCluster): void {
  if (client.isOpen) client.destroy();
}

/** Replies as texts, whatever the user's client makes of them. */
function plain(abortSignal: AbortSignal): CommandOptions {
  return { abortSignal, typeMapping: {} };
}
