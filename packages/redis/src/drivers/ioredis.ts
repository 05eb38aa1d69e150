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

/** The parts of a `Redis` of ioredis or iovalkey that are used here. */
interface IoRedis extends Emitter {
  connect(): Promise<unknown>;
  disconnect(): void;
  call(command: string, ...args: string[]): Promise<unknown>;
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
}

/** The parts of its `Cluster`. */
interface IoCluster extends IoRedis {
  nodes(role: "master"): readonly IoRedis[];
  ssubscribe(channel: string): Promise<unknown>;
  sunsubscribe(channel: string): Promise<unknown>;
}

type IoSingle = IoRedis & { duplicate(override: object): IoRedis };
type IoNodes = IoCluster & {
  readonly options?: { readonly redisOptions?: object | undefined } | undefined;
  duplicate(nodes: readonly unknown[], override: object): IoCluster;
};

/**
 * Nothing waits for a connection, and nothing is sent again. By default ioredis does both. Then it may send a command
 * long after its caller has given it up.
 */
const AT_ONCE = {
  keyPrefix: "",
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  autoResubscribe: false,
  enableAutoPipelining: false,
  maxRetriesPerRequest: 0,
  reconnectOnError: null,
};
const SINGLE = {
  ...AT_ONCE,
  lazyConnect: true,
  retryStrategy: null,
  sentinelRetryStrategy: null,
  readOnly: false,
  // A refused SELECT must come before the connection is ready.
  enableReadyCheck: true,
};
/**
 * Without the check of readiness a server's CLUSTERDOWN becomes the answer to a request. With the check, and without a strategy to
 * reconnect, `connect()` of a cluster that lacks slots never settles.
 */
const CLUSTER = {
  keyPrefix: "",
  enableReadyCheck: false,
  retryDelayOnClusterDown: 0,
  lazyConnect: true,
  enableOfflineQueue: false,
  enableAutoPipelining: false,
  clusterRetryStrategy: null,
  scaleReads: "master",
  shardedSubscribers: true,
};

/** Returns whether the object is a client of ioredis, or of a library with the same functions, such as iovalkey. */
export function isIoRedis(client: object): client is IoSingle | IoNodes {
  const { duplicate, call, connect } = client as Partial<IoSingle>;
  return [duplicate, call, connect].every((one) => typeof one === "function");
}

export function ioRedisDriver(client: IoSingle | IoNodes): RedisDriver {
  if (isCluster(client)) {
    // ioredis 5 and iovalkey replace redisOptions, which have the user's password, instead of merging them.
    const override = { ...CLUSTER, redisOptions: { ...client.options?.redisOptions, ...AT_ONCE } };
    return { publish: "SPUBLISH", open: (events) => openedCluster(client.duplicate([], override), events) };
  }
  return { publish: "PUBLISH", open: (events) => opened(client.duplicate(SINGLE), events) };
}

function isCluster(client: object): client is IoNodes {
  return (client as { readonly isCluster?: unknown }).isCluster === true;
}

function opened(redis: IoRedis, { ended, message }: ConnectionEvents): RedisConnection {
  const ready = begin(redis, ended);
  redis.on("message", message);
  return {
    ready,
    send: (_, command) => sendTo(redis, command),
    primaries: () => Promise.resolve([(command) => sendTo(redis, command)]),
    subscribe: async (channel) => void (await redis.subscribe(channel)),
    unsubscribe: async (channel) => void (await redis.unsubscribe(channel)),
    close: () => redis.disconnect(),
  };
}

function openedCluster(cluster: IoCluster, { ended, message }: ConnectionEvents): RedisConnection {
  const ready = begin(cluster, ended);
  cluster.on("smessage", message);
  return {
    ready,
    // ioredis finds the key in the command itself.
    send: async (_, command) => {
      try {
        return await sendTo(cluster, command);
      } catch (error) {
        throw (error as Error).message.startsWith("Cluster isn't ready") ? slotNotServed(error) : error;
      }
    },
    primaries: () =>
      Promise.resolve(
        cluster.nodes("master").map(
          (node): Send =>
            (command) =>
              sendTo(node, command),
        ),
      ),
    subscribe: async (channel) => void (await cluster.ssubscribe(channel)),
    unsubscribe: async (channel) => void (await cluster.sunsubscribe(channel)),
    close: () => cluster.disconnect(),
  };
}

/** Connects. A lost connection is not made again, since the client has no strategy for that. */
function begin(redis: IoRedis, ended: (error: Error) => void): Promise<void> {
  let cause: Error | undefined;
  // The error of a cluster has that of a node.
  redis.on("error", (error: { readonly lastNodeError?: unknown }) => (cause = errorOf(error.lastNodeError ?? error)));
  redis.on("end", () => ended(cause ?? new Error("The connection was closed.")));
  const connect = async (): Promise<void> => {
    try {
      await redis.connect();
    } catch (error) {
      // The rejection says only that the connection was closed. The event has the cause.
      throw cause ?? error;
    }
    // ioredis goes on with database 0 after a refused SELECT.
    if (cause && !isCluster(redis)) throw cause;
  };
  return handled(connect());
}

function sendTo(redis: IoRedis, [name = "", ...args]: readonly string[]): Promise<unknown> {
  return redis.call(name, ...args);
}
